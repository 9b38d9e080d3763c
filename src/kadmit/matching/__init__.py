"""Whether a policy, a binding or a webhook is about a request at all."""
