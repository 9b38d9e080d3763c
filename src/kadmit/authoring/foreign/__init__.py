"""Suites of other tools, read as suites of ours as far as they are about Kubernetes' own policies."""
