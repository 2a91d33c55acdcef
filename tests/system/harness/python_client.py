"""The Python client of this source tree, and the store's events of an operation's end."""
import os
import sys

import pytest

from .cluster import Cluster
from .waiting import PATIENCE

FOLDER = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../../clients/python"))
sys.path.insert(0, FOLDER)
import quell  # noqa: E402

LEASE_MS = round(10000 * PATIENCE)

__all__ = ["FOLDER", "LEASE_MS", "client", "cluster", "quell", "terminal_events"]


def terminal_events(cluster, id):
    return [e["type"] for e in cluster.stored_events(id) if e["type"] in ("operation_completed", "operation_failed", "operation_cancelled") and e["operation"] == id]


@pytest.fixture(scope="module")
def cluster():
    with Cluster(workers=0) as c:
        yield c


@pytest.fixture
def client(cluster):
    with quell.Client(cluster.url, cluster.token, lease_ms=LEASE_MS) as made:
        yield made
