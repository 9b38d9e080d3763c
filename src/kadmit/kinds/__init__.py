"""What is known of every kind: names, schemas, defaults, rules. Built-in kinds come from a table, custom ones from their CRDs."""
