"""Which parts of policies were never decisive."""
