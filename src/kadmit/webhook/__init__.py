"""Webhooks: AdmissionReviews served over TLS, policies as a webhook inside a cluster, webhooks written as Python functions."""
