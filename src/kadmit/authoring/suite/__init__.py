"""Suites of requests in YAML: what they say, how they are run, and what came of it."""
