"""YAML and JSON files as commands read them: with Kubernetes' reading of YAML, and errors that say where."""

import orjson

from kadmit.cel.values import Value


def one(data: bytes) -> Value:
    """The one document of a file; ValueError where there is none, or more than one, or it cannot be read."""
    if data.lstrip()[:1] in (b"{", b"["):
        return orjson.loads(data)
    from kadmit.api import yaml

    documents = [d for d in yaml.load_all(data) if d is not None]
    if len(documents) != 1:
        raise ValueError(f"must hold one object, holds {len(documents)}")
    return documents[0]
