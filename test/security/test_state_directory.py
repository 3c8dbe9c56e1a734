"""A state directory holds tokens and jobs: tony uses only one that no other user can change."""

import os

import pytest
from program import PYTHON


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


def in_directory(machine, mode, owner=0, group=0):
    """A state directory that tony is to make, two levels below one of this mode."""
    above = machine.root / "above"
    machine.run("install", "-d", "-m", mode, "-o", owner, "-g", group, above)
    machine.run("install", "-d", "-m", "755", "-o", machine.owner.uid, above / "own")
    return above, above / "own/state"


def starts(user, state):
    answer = user.tony("list", env={"TONY_STATE_DIR": str(state)})
    assert answer.returncode == 0, answer.stderr
    return True


@pytest.mark.promise("S57")
@pytest.mark.parametrize("words", [["list"], ["check", "--", "true"], ["submit", "--executes", "true"], ["history"]], ids=" ".join)
def test_a_state_directory_below_one_that_others_may_write_to_is_refused(machine, words):
    above, state = in_directory(machine, "777")
    told = refusal(machine.owner, state, *words)
    assert f"{above}: has mode 0777" in told and f"chmod o-w {above}" in told and "TONY_STATE_DIR" in told
    assert not state.exists()


@pytest.mark.promise("S57")
def test_a_state_directory_below_one_of_another_user_is_refused(machine):
    above, state = in_directory(machine, "755", machine.stranger.uid)
    told = refusal(machine.owner, state, "list")
    assert f"{above}: belongs to uid {machine.stranger.uid}, who can put another directory" in told and "TONY_STATE_DIR" in told
    machine.run("chown", machine.owner.uid, above)
    assert starts(machine.owner, state)


@pytest.mark.promise("S57")
def test_a_group_may_write_above_the_state_directory_where_it_is_the_owners_alone(machine):
    above, state = in_directory(machine, "775")
    assert starts(machine.owner, state)  # root's own group
    machine.run("chgrp", machine.stranger.uid, above)
    told = refusal(machine.owner, state, "list")
    assert f"{above}: has mode 0775" in told and f"chmod go-w {above}" in told
    machine.run("chmod", "g-w", above)
    assert starts(machine.owner, state)


ACL = """
import os, struct, sys
rows = (1, 7, -1), (2, 7, int(sys.argv[2])), (4, 5, -1), (16, 7, -1), (32, 5, -1)  # u::rwx u:UID:rwx g::r-x m::rwx o::r-x
os.setxattr(sys.argv[1], "system.posix_acl_access", struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *row) for row in rows))
"""


@pytest.mark.promise("S57")
def test_another_user_who_may_write_by_an_acl_is_no_private_group(machine):
    above, state = in_directory(machine, "755")
    assert starts(machine.owner, state)
    machine.run(PYTHON, "-c", ACL, above, machine.stranger.uid)
    assert oct(above.stat().st_mode)[-3:] == "775", "the mask shows as the group's bits"
    told = refusal(machine.owner, state, "list")
    assert f"{above}: has mode 0775" in told and f"chmod go-w {above}" in told
    machine.run("chmod", "g-w", above)
    assert starts(machine.owner, state)


@pytest.mark.promise("S57")
def test_links_to_the_state_directory_count_as_directories_do(machine):
    above, state = in_directory(machine, "1777")
    assert starts(machine.owner, state)
    for user in (machine.owner, machine.stranger):
        link = above / user.name
        user.run("ln", "-s", "own", link)
        if user is machine.owner:
            assert starts(user, link / "state")
        else:
            told = f"{link}: belongs to uid {user.uid}"
            assert told in refusal(machine.owner, link / "state", "list")
            to_link = machine.root / "to-link"
            machine.run("ln", "-s", f"{link}//", to_link)  # lstat() follows a link before a slash
            assert told in refusal(machine.owner, to_link / "state", "list")
    machine.run("chmod", "755", above)
    machine.run("install", "-d", "-m", "777", machine.root / "open")
    machine.owner.run("mkdir", machine.root / "open/own")
    machine.run("ln", "-s", machine.root / "open/own", above / "far")
    assert f"{machine.root}/open: has mode 0777" in refusal(machine.owner, above / "far/state", "list")
    machine.run("ln", "-s", "round", above / "round")
    assert "Too many levels of symbolic links" in refusal(machine.owner, above / "round/state", "list")
