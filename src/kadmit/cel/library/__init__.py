"""The functions of CEL, one file a subject; each file lists its records in FUNCTIONS."""
