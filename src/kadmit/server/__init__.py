"""The API server: everything that listens, waits, writes and counts. The deciding is done below."""
