"""CEL as Kubernetes evaluates it: text in, value, error text and cost out.

This package is the language alone. It imports nothing else of Kadmit, does no I/O, and never turns text of a user
into Python source.
"""
