"""Shops: an operator that makes a Deployment of every Shop, and its admission."""
