"""PyTorch is asked for only by those who want it."""

import subprocess
import sys

import pytest


def test_the_package_does_not_import_torch():
    subprocess.run([sys.executable, "-c", "import sgq, sys; assert 'torch' not in sys.modules"], check=True)


def test_without_torch_an_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, "sgq.torch", raising=False)
    with pytest.raises(ImportError, match="pip install torch"):
        import sgq.torch  # noqa: F401
