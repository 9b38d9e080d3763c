"""One module a rule: its record, and how to find what it is about. `catalogue` lists them."""
