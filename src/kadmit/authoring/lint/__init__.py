"""What is wrong or doubtful about policies, bindings and webhook configurations, beyond what keeps them from being registered."""
