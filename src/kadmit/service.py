"""The composition root of `kadmit serve`: flags become a store, a cache, handlers and a listening server. Nothing imports it but
the command line."""
