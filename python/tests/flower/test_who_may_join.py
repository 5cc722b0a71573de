"""Who is refused by a SuperLink with TLS and node keys, and that the one with its key and the right authority is not."""

import os
import subprocess
import sys
from pathlib import Path
from shutil import copy

import pytest
from conftest import EXAMPLE

import sgq

APP = Path(__file__).parent / "app"


def refusal(federation, name, **replace):
    from deployment import FederationError

    federation.start_node(name, **replace)
    with pytest.raises(FederationError) as error:
        federation.wait_online(name)
    return str(error.value)


def test_a_key_that_nobody_registered_is_refused(federation):
    assert "Failed to activate SuperNode" in refusal(federation, "south")


def test_a_missing_key_is_refused(federation):
    assert "All SuperNodes must be registered" in refusal(federation, "west", key=None)


def test_a_node_does_not_talk_to_a_superlink_of_another_authority(federation, tmp_path):
    from certificates import make_keys

    make_keys(tmp_path / "keys", [])
    assert "CERTIFICATE_VERIFY_FAILED" in refusal(federation, "north", authority=tmp_path / "keys" / "ca.pem")


def test_the_registered_key_is_taken_and_runs_only_what_its_owner_allows(federation, tmp_path, monkeypatch):
    allowed, environment = tmp_path / "allowed", federation.environment
    allowed.mkdir()
    copy(EXAMPLE / "allowed" / "flwr-clientapp", allowed)
    guarded = {"PATH": f"{allowed}{os.pathsep}{environment(tmp_path)['PATH']}"}
    monkeypatch.setattr(federation, "environment", lambda home: environment(home) | guarded)
    federation.register("north")
    federation.start_node("north", {"user": "north", "number": 0})
    federation.wait_online("north")
    assert [node["status"] for node in federation.nodes()] == ["online"]

    ledger = tmp_path / "study.sgq"
    run = federation.run(APP, {"ledger": str(ledger), "users": "north", "budget": 1, "retries": 0})
    federation.wait(run, 120)
    with sgq.open(ledger, read_only=True) as session:
        assert session.queries == 0 and "its app failed" in str(session.failures())
    hashed = [sys.executable, allowed / "flwr-clientapp", "hash", APP]
    (allowed / "apps.txt").write_text(subprocess.run(hashed, capture_output=True, text=True, check=True).stdout)
    with sgq.open(ledger) as session:
        session.back("north")
    federation.wait(federation.run(APP, {"ledger": str(ledger), "users": "north", "budget": 1}), 120)
    with sgq.open(ledger, read_only=True) as session:
        assert session.queries == 1


def test_a_folder_without_keys_is_refused_with_what_to_type(tmp_path):
    from deployment import Federation, FederationError

    with pytest.raises(FederationError, match="federation.py keys"):
        Federation(tmp_path).start_superlink()
