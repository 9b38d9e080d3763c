"""The author's bench: a cluster out of files, and what can be asked of it."""
