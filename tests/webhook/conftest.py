"""A cluster for a test: `kadmit serve` without policies of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.webhook.clusters import Served


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path) as served:
        yield served
