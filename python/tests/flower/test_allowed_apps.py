"""The program that a node's owner puts before Flower's, so that only apps that were read are run."""

import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

import pytest
from conftest import EXAMPLE

PROGRAM = EXAMPLE / "allowed" / "flwr-clientapp"


@pytest.fixture
def guard(tmp_path, monkeypatch):
    from flwr.supernode.runtime import run_clientapp

    loader = SourceFileLoader("guard", str(PROGRAM))
    module = module_from_spec(spec_from_loader("guard", loader))
    loader.exec_module(module)
    module.APPS = tmp_path / "apps.txt"
    monkeypatch.setattr(run_clientapp, "install_from_fab", lambda app, *_, **__: app)
    module.watch()
    return module, run_clientapp


def test_only_an_app_that_was_allowed_is_unpacked(guard):
    from flwr.cli.build import build_fab_from_disk

    module, flower = guard
    folder = EXAMPLE.parents[1] / "python" / "tests" / "flower" / "app"
    app = build_fab_from_disk(folder)
    with pytest.raises(PermissionError, match="not the one with the SHA-256 [0-9a-f]{64}"):
        flower.install_from_fab(app, skip_prompt=True)
    said = subprocess.run([sys.executable, PROGRAM, "hash", folder], capture_output=True, text=True, check=True).stdout
    module.APPS.write_text(f"# read on Monday\n\n{said}")
    assert flower.install_from_fab(app, skip_prompt=True) == app
    with pytest.raises(PermissionError):
        flower.install_from_fab(app + b"\0", skip_prompt=True)
