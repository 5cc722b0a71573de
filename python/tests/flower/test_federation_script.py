"""The script that makes keys and starts a federation: names, keys, and how a node's settings are quoted."""

import subprocess
import sys
from stat import S_IMODE

import pytest

from conftest import EXAMPLE


def script(*words):
    return subprocess.run([sys.executable, EXAMPLE / "federation.py", *words], capture_output=True, text=True)


def test_keys_are_private_and_never_overwritten(tmp_path):
    assert script("keys", tmp_path, "--names", "north,south").returncode == 0
    keys = tmp_path / "keys"
    before = {path: path.read_bytes() for path in keys.rglob("*") if path.is_file()}
    for path in (keys / "ca.key", keys / "server.key", keys / "nodes" / "north", keys / "nodes" / "south"):
        assert S_IMODE(path.stat().st_mode) == 0o600
    assert script("keys", tmp_path, "--names", "north,south,west").stdout.endswith(
        "2 files made, for 3 nodes; what was there already stays\n"
    )
    assert all(path.read_bytes() == content for path, content in before.items())


def test_names_come_from_the_users_of_a_study(tmp_path):
    (tmp_path / "users.csv").write_text("user,cost\nnorth,1\nsouth,2\n")
    script("keys", tmp_path, "--users", tmp_path / "users.csv")
    assert sorted(path.name for path in (tmp_path / "keys" / "nodes").glob("*.pub")) == ["north.pub", "south.pub"]


@pytest.mark.parametrize("names", ["../north", "north,north", "", "superlink", "a b"])
def test_a_name_that_cannot_be_a_file_is_refused(tmp_path, names):
    answer = script("keys", tmp_path, "--names", names)
    assert answer.returncode == 1 and answer.stderr.startswith("error: ")
    assert not (tmp_path / "keys").exists()


def test_up_without_keys_says_what_to_type(tmp_path):
    answer = script("up", tmp_path)
    assert answer.returncode == 1 and "federation.py keys" in answer.stderr


def test_up_wants_the_data_of_every_node(tmp_path):
    script("keys", tmp_path, "--names", "north")
    answer = script("up", tmp_path, "--data", tmp_path)
    assert answer.returncode == 1 and "north.csv is not there" in answer.stderr


@pytest.mark.parametrize(
    "text", ["plain", "two words", "a=b", "it's", 'say "x"', "both ' and \"", "C:\\new", "ends.toml", "é\n\t", ""]
)
def test_flower_reads_a_setting_as_it_was(text):
    from deployment import config_text
    from flwr.common.config import parse_config_args

    config = {"first": text, "n": 3, "share": 0.5, "yes": True, "last": text}
    assert parse_config_args([config_text(config)]) == config


def test_a_second_up_is_refused_and_down_ends_all_of_it(tmp_path):
    script("keys", tmp_path, "--names", "north")
    try:
        first = script("up", tmp_path, "--detach")
        assert first.returncode == 0, first.stderr
        connection = tmp_path / "flower" / "config.toml"
        before = connection.read_text()
        second = script("up", tmp_path)
        assert second.returncode == 1 and "north, superlink run already" in second.stderr
        assert connection.read_text() == before
    finally:
        ended = script("down", tmp_path)
    assert ended.stdout == "  ended: north, superlink\n"
    assert script("down", tmp_path).stdout == "  ended: nothing was running\n"
