"""Which cluster a command speaks to: the one of --kubeconfig, of the Pod that it runs in, or of the user's own configuration."""

import os
from pathlib import Path

from kadmit.api.config import ConfigError
from kadmit.webhook import kubeconfig
from kadmit.webhook.kubeconfig import Connection


class NoCluster(ValueError):
    """No cluster, or one that cannot be read of."""


def connection(path: str | None, context: str, *, wanted: bool) -> Connection | None:
    """None if there is none and none is wanted. Raises NoCluster."""
    if path is not None:
        return _read(Path(path), context)
    inside = kubeconfig.in_cluster(os.environ)
    if inside is not None:
        return inside
    if not wanted:
        return None
    own = Path((os.environ.get("KUBECONFIG") or "").split(os.pathsep)[0] or Path.home() / ".kube" / "config")
    if not own.exists():
        raise NoCluster("there is no cluster to follow: give --kubeconfig, or -f with files of policies")
    return _read(own, context)


def _read(path: Path, context: str) -> Connection:
    try:
        return kubeconfig.read(path.read_bytes(), str(path.parent), context)
    except OSError as error:
        raise NoCluster(f"--kubeconfig: cannot read {str(path)!r}: {(error.strerror or '').lower()}") from None
    except ConfigError as error:
        raise NoCluster(f"--kubeconfig: {str(path)!r}: {error}") from None
