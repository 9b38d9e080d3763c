"""What holds for all tests: generated examples are the same on every machine, so that a change breaks a test and not a seed."""

from hypothesis import settings

settings.register_profile("same everywhere", derandomize=True, deadline=None)
settings.load_profile("same everywhere")
