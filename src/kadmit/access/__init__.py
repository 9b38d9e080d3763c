"""Who may do what: who asks, what is asked, what roles and bindings say to it. Values in, values out."""
