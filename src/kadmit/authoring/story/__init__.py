"""One request through the whole chain, told: what was asked of whom, what they said, and why."""
