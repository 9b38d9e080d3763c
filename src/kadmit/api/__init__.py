"""Wire shapes: what Kubernetes' API says and how it says it. Plain data and texts; no rules about any kind."""
