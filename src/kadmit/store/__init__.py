"""Storage engines under the API server: bytes under keys, one revision that only grows, and a feed of what changed.

An engine knows nothing of Kubernetes' objects. `base` says what every engine does; `memory`, `sqlite` and `etcd` do it.
"""
