"""`quell audit`: a table, a copy that only grows, and a chain that reveals changes."""
import json

import pytest

from harness.cluster import Cluster


@pytest.fixture(scope="module")
def cluster():
    with Cluster(workers=0) as c:
        for i in range(5):
            c.cancel(scope=f"audit/{i}", wait="fenced", reason=f"böse \"{i}\" \u2028 <x>")
        yield c


def test_the_list_names_who_did_what_through_which_token(cluster):
    text = cluster.quell("audit", "list", check=0).stdout.decode()
    assert "scope audit/0" in text and "bootstrap" in text, text
    shown = json.loads(cluster.quell("audit", "list", "--json", "--after", "2", check=0).stdout)["audit"]
    assert [e["n"] for e in shown] == [3, 4, 5]


def test_a_copy_grows_and_is_verified(cluster, tmp_path):
    copy = tmp_path / "audit.ndjson"
    cluster.quell("audit", "export", "--to", copy, check=0)
    first = copy.read_bytes()
    had = len(first.splitlines())
    cluster.cancel(scope="audit/more", wait="fenced")
    cluster.quell("audit", "export", "--to", copy, check=0)
    assert copy.read_bytes().startswith(first) and len(copy.read_bytes().splitlines()) == had + 1
    cluster.quell("audit", "export", "--to", copy, check=0)
    assert len(copy.read_bytes().splitlines()) == had + 1, "nothing is new"
    assert cluster.quell("audit", "export", check=0).stdout == copy.read_bytes()
    assert b"the chain holds" in cluster.quell("audit", "verify", copy, check=0).stdout
    assert b"the chain holds" in cluster.quell("audit", "verify", check=0).stdout
    assert cluster.quell("audit", "verify", "-", stdin=copy.read_bytes(), check=0).stdout


def test_every_change_of_a_copy_is_seen(cluster, tmp_path):
    lines = cluster.quell("audit", "export", check=0).stdout.splitlines()
    forged = json.loads(lines[2])
    forged["data"]["by"]["name"] = "somebody else"
    later = json.loads(lines[2])
    later["at"] = later["at"][:-2] + ("0Z" if later["at"][-2] != "0" else "1Z")
    changed = {
        "an entry was changed": lines[:2] + [json.dumps(forged).encode()] + lines[3:],
        "its time was changed": lines[:2] + [json.dumps(later).encode()] + lines[3:],
        "one is missing": lines[:2] + lines[3:],
        "two are swapped": [lines[1], lines[0]] + lines[2:],
        "one is there twice": lines[:3] + lines[2:],
        "a line is torn": lines[:2] + [lines[2][:40]] + lines[3:],
    }
    for what, those in changed.items():
        copy = tmp_path / "copy"
        copy.write_bytes(b"\n".join(those) + b"\n")
        done = cluster.quell("audit", "verify", copy)
        assert done.returncode == 1 and done.stderr, what
        before = copy.read_bytes()
        assert cluster.quell("audit", "export", "--to", copy).returncode == 1 and copy.read_bytes() == before, what


def test_a_copy_of_another_story_is_not_continued(cluster, tmp_path):
    copy = tmp_path / "copy"
    with Cluster(workers=0) as other:
        for i in range(3):
            other.cancel(scope=f"other/{i}", wait="fenced")
        other.quell("audit", "export", "--to", copy, check=0)
    before = copy.read_bytes()
    done = cluster.quell("audit", "export", "--to", copy)
    assert done.returncode == 1 and b"same story" in done.stderr and copy.read_bytes() == before, done


def test_only_an_admin_without_scope_reads_it(cluster):
    made = cluster.api("POST", "/v1/tokens", {"name": "op", "role": "operator", "scope": None, "expires_at": None}).json
    assert cluster.quell("audit", "list", env=dict(cluster.environment(), QUELL_TOKEN=made["token"])).returncode == 6
