"""Who is refused by a SuperLink with TLS and node keys, and that the one with its key and the right authority is not."""

import pytest


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


def test_the_registered_key_is_taken_and_no_other_node_is_there(federation):
    federation.register("north")
    federation.start_node("north")
    federation.wait_online("north")
    assert [node["status"] for node in federation.nodes()] == ["online"]


def test_a_folder_without_keys_is_refused_with_what_to_type(tmp_path):
    from deployment import Federation, FederationError

    with pytest.raises(FederationError, match="federation.py keys"):
        Federation(tmp_path).start_superlink()
