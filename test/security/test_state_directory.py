"""A state directory holds tokens and jobs: tony uses only one that no other user can change."""

import os

import pytest


def refusal(user, state, *words):
    answer = user.tony(*words, env={"TONY_STATE_DIR": str(state)})
    assert answer.returncode != 0, answer.stdout
    return answer.stderr


@pytest.mark.promise("S46")
@pytest.mark.parametrize("words", [["list"], ["check", "--", "true"], ["submit", "--executes", "true"], ["portal", "--link"], ["history"]], ids=" ".join)
def test_a_state_directory_of_another_user_is_refused(machine, words):
    state = machine.root / "shared"
    machine.run("install", "-d", "-m", "777", "-o", machine.stranger.uid, state)
    told = refusal(machine.owner, state, *words)
    assert f"{state}: the state directory belongs to uid {machine.stranger.uid}" in told and "TONY_STATE_DIR" in told
    assert not os.listdir(state)


@pytest.mark.promise("S46")
@pytest.mark.parametrize("mode", ["770", "1777"])
def test_a_state_directory_that_others_may_write_to_is_refused(machine, mode):
    state = machine.root / "shared"
    machine.run("install", "-d", "-m", mode, "-o", machine.owner.uid, state)
    assert f"chmod go-w {state}" in refusal(machine.owner, state, "list")


@pytest.mark.promise("S46")
def test_root_leaves_a_users_state_directory_alone(machine):
    state = machine.root / "state"
    machine.run("install", "-d", "-m", "700", "-o", machine.owner.uid, state)
    answer = machine.run("sh", "-c", '"$@" 2>&1 || true', "sh", "env", "-i", f"TONY_STATE_DIR={state}", machine.bin / "tony", "list")
    assert f"belongs to uid {machine.owner.uid}, and tony runs as uid 0" in answer.stdout
    assert not os.listdir(state)
