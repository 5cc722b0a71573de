"""Flower is asked for only by those who want it."""

import subprocess
import sys

import pytest


def test_the_package_does_not_import_flower():
    subprocess.run([sys.executable, "-c", "import sgq, sys; assert 'flwr' not in sys.modules"], check=True)


def test_without_flower_an_error_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "flwr" or name.startswith("sgq.flower")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "flwr", None)  # as if it were not installed
    with pytest.raises(ImportError, match="needs Flower 1.41: pip install"):
        import sgq.flower  # noqa: F401
