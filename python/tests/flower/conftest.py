"""A federation of real processes for the tests of `sgq.flower`: what `examples/flower-hospitals/federation.py` starts for people."""

import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "flower-hospitals"

# The script that starts a federation; and the studies that other tests have too.
sys.path[:0] = [str(EXAMPLE), str(Path(__file__).parents[1])]


@pytest.fixture(scope="module")
def federation(tmp_path_factory):
    """A SuperLink that takes registered nodes only, and no node yet. Everything is ended after the tests of the module."""
    from certificates import make_keys
    from deployment import Federation

    with Federation(tmp_path_factory.mktemp("federation")) as federation:
        make_keys(federation.keys, ["north", "south", "west"])
        federation.start_superlink()
        yield federation
