"""What a request does to an object: decode, default, own, mutate, validate. Pure: stored objects come in, new ones go out.

Each verb is a generator that yields webhook calls, like the admission chain inside it. Reading and writing the store, and
trying again after a conflict, is the caller's part.
"""
