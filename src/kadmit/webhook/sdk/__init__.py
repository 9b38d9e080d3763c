"""Webhooks written in Python: functions, registered and served."""
