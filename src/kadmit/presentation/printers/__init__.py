"""How the built-in kinds are shown as rows: one record per column, kinds grouped by what they are about."""

from collections.abc import Mapping

from kadmit.presentation.columns import Columns
from kadmit.presentation.printers import access, cluster, network, storage, workloads

BY_KIND: Mapping[tuple[str, str], Columns] = {
    **workloads.KINDS,
    **network.KINDS,
    **storage.KINDS,
    **cluster.KINDS,
    **access.KINDS,
}
