"""Keys, certificates and TLS with them, for whoever serves or calls.

It knows nothing of flags, Secrets or Kubernetes' kinds: what certificates are for, where they are kept and when they are renewed
is decided by those above. `pem`, `files` and `contexts` need Python alone; `certificates`, `encoding`, `issuing` and `faults`
load cryptography, which takes its time.
"""
