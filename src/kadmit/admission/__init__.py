"""The admission chain: policies and webhooks, in their order, by their rules. Pure: calls are yielded, answers are sent in."""
