"""What `kadmit test` does beside deciding: files, processes, memory of the last run, and watching."""
