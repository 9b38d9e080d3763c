"""Kubernetes dynamic admission control as software of its own: policies, webhooks and CEL."""

__version__ = "0.1.0"
