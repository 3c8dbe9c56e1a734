"""tony cp: files and directories into a task's container and out of it, whole or not at all."""

import io
import os
import signal
import stat
import tarfile

import pytest
from conftest import PYTHON, opens, wait_until
from patience import PATIENCE_S

KINDS = {"plain": {}, "tls": {"tony.application.tls": "true"}, "namespace": {"tony.worker.isolation": "pid-namespace"}}


ROOM = {"tony.worker.memory": "256m"}  # of the agent that carries bytes, also where it is built with ASan


def submit(tony, keys=None, tasks=1):
    job = tony.submit({"tony.worker.instances": tasks, **ROOM, **(keys or {})}, "--executes", "exec sleep 1000")
    for index in range(tasks):
        job.wait_task(f"worker:{index}")
    return job


def copy(tony, *words, code=0, **options):
    answer = tony.run("cp", *words, **options)
    assert answer.returncode == code, (words, answer.stderr)
    return answer.stderr


def make_tree(root):
    (root / "deep/er").mkdir(parents=True)
    (root / "empty").mkdir(mode=0o750)
    (root / "deep/er/größe ü.bin").write_bytes(os.urandom(300_000))
    (root / "plain.sh").write_text("#!/bin/sh\n")  # not executable, and stays so
    (root / "run").write_text("#!/bin/sh\n")
    (root / "run").chmod(0o751)
    (root / "secret").write_text("x")
    (root / "secret").chmod(0o400)
    (root / "link").symlink_to("deep/er")
    (root / "-rf").write_text("a name like an option")
    for path in root.rglob("*"):
        if path.is_file() and not path.is_symlink():
            os.utime(path, (1_000_000_000, 1_234_567_890))
    return root


def tell(root):
    """Each entry: its mode, and its content, target or kind."""
    told = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        name = str(path.relative_to(root))
        if path.is_symlink():
            told[name] = ("link", os.readlink(path))
        elif path.is_dir():
            told[name] = ("directory", stat.S_IMODE(status.st_mode))
        else:
            told[name] = (stat.S_IMODE(status.st_mode), int(status.st_mtime), path.read_bytes())
    return told


@pytest.mark.parametrize("keys", KINDS.values(), ids=KINDS)
def test_a_directory_goes_in_and_comes_out(tony, keys):
    job = submit(tony, keys, tasks=2)
    tree = make_tree(tony.directory / "tree")
    inside, back = tony.directory / "inside", tony.directory / "back"
    assert copy(tony, tree, f"{job.id}/worker:1:{inside}") == ""
    assert tell(inside) == tell(tree)
    assert copy(tony, f"worker:1:{inside}", back) == ""
    assert tell(back) == tell(tree)


@pytest.mark.promise("S174")
def test_a_copy_has_no_more_rights_than_the_umask_leaves(tony):
    """Beside a set-user-id program, which is left out, and so are its second name and a FIFO."""
    job, tree = submit(tony), tony.directory / "tree"
    (tree / "open").mkdir(parents=True)
    (tree / "open/file").write_text("x")
    (tree / "program").write_text("x")
    (tree / "again").hardlink_to(tree / "program")
    os.mkfifo(tree / "fifo")
    for path, mode in ((tree, 0o777), (tree / "open", 0o777), (tree / "open/file", 0o666), (tree / "program", 0o4755)):
        path.chmod(mode)
    before = os.umask(0o027)
    try:
        said = copy(tony, f"{job.id}/worker:0:{tree}", "back")
    finally:
        os.umask(before)
    assert {name: told[1 if told[0] == "directory" else 0] for name, told in tell(tony.directory / "back").items()} == {
        "open": 0o750, "open/file": 0o640}
    assert stat.S_IMODE((tony.directory / "back").stat().st_mode) == 0o750
    for name in ("program", "again", "fifo"):
        assert f"{name} is left out: it is a " in said, said


def test_a_file_is_named_by_its_destination(tony):
    job = submit(tony)
    source, folder = tony.directory / "a file", tony.directory / "folder"
    source.write_text("one")
    source.chmod(0o640)
    os.utime(source, (1_234_567_890, 1_234_567_890))
    folder.mkdir()
    work = f"/proc/{job.task('worker:0')['pids'][0]}/cwd"
    copy(tony, source, "worker:0:here")
    copy(tony, source, f"{job.id}/worker:0:{folder}")
    copy(tony, source, f"worker:0:{folder}/")
    copy(tony, source, "other source", f"worker:0:{folder}", code=4)
    for path in (f"{work}/here", folder / "a file"):
        status = os.stat(path)
        assert (stat.S_IMODE(status.st_mode), status.st_mtime) == (0o640, 1_234_567_890)
    os.symlink("here", f"{work}/latest")
    copy(tony, "worker:0:latest", ".")
    assert (tony.directory / "latest").read_text() == "one" and not (tony.directory / "latest").is_symlink()
    source.write_text("two")
    copy(tony, source, "worker:0:here")  # replaced
    (tony.directory / "led").symlink_to("by a link")
    copy(tony, "worker:0:here", "led")
    assert (tony.directory / "by a link").read_text() == "two" and (tony.directory / "led").is_symlink()
    copy(tony, "worker:0:here", f"worker:0:{folder}", code=2)
    copy(tony, "worker:0:here", "worker:0:./here", folder)
    assert (folder / "here").read_text() == "two"
    assert not [name for name in os.listdir(work) + os.listdir(folder) + os.listdir(tony.directory) if "tony-cp" in name or ".part" in name]


def test_a_directory_is_never_merged(tony):
    submit(tony)
    tree, target = make_tree(tony.directory / "tree"), tony.directory / "target"
    (target / "tree").mkdir(parents=True)
    assert "target/tree: is there already; remove it, or name another one" in copy(tony, tree, f"worker:0:{target}", code=2)
    assert "target/tree is there already; remove it, or name another one" in copy(tony, f"worker:0:{tree}", target, code=2)
    assert "is there already" in copy(tony, "worker:0:.", target, code=2)
    copy(tony, "worker:0:.", tony.directory / "work")
    assert (tony.directory / "work/check_env.py").is_file()
    assert not os.listdir(target / "tree")


def test_what_is_refused(tony):
    job = submit(tony, tasks=2)
    (tony.directory / "file").write_text("x")
    (tony.directory / "folder/file").mkdir(parents=True)
    os.mkfifo(tony.directory / "fifo")
    (tony.directory / "pipe").symlink_to("/proc/self/fd/1")
    here = tony.directory
    for words, code, text in [
            (("file",), 2, "usage: tony cp"), (("file", "other"), 2, "one of both is in a task"),
            (("worker:0:file", "worker:1:file"), 2, "one of both is in a task"), (("file", "worker:/tmp/x"), 2, "is written TASK:PATH"),
            (("file", "worker:0:"), 2, "is written TASK:PATH"), (("file", "C:/x"), 2, "begins with ./"), (("", "worker:0:x"), 2, "empty"),
            (("nothing", "worker:0:x"), 4, "nothing: No such file"), (("fifo", "worker:0:x"), 2, "neither a file nor a directory"),
            (("file", "worker:7:x"), 4, "worker:7"), (("file", "no-such-job/worker:0:x"), 4, "no-such-job"),
            (("file", f"worker:0:{here}/folder"), 2, "is a directory"), (("file", "worker:0:no/such/place"), 4, "its directory is not there"),
            (("file", "worker:0:no-such/"), 4, "no such directory"), (("file", "fifo", "worker:0:no-such"), 4, "no such directory"),
            (("file", f"worker:0:{here}/file/x"), 4, "its directory is not there"),
            (("worker:0:no-such", "x"), 4, "worker:0:no-such: there is no such file"), (("worker:0:/dev/null", "x"), 2, "neither a file nor a directory"),
            ((f"worker:0:{here}/file", "folder"), 2, "file is a directory"), ((f"worker:0:{here}/file", "no/such"), 4, "No such file"),
            ((f"worker:0:{here}/file", "no-such/"), 4, "no such directory"),
            ((f"worker:0:{here}/folder/file/../../file", "fifo"), 2, "fifo is no regular file; `tony exec"),
            ((f"worker:0:{here}/folder/file/../../file", "pipe"), 2, "pipe is no regular file"), (("file", f"worker:0:{here}/fifo"), 2, "is no regular file"),
            (("file", os.fsdecode(b"worker:0:caf\xe9")), 2, "not UTF-8")]:
        answer = tony.run("cp", *words)
        assert answer.returncode == code and text in answer.stderr, (words, answer.returncode, answer.stderr)
    with (here / "log").open("a") as log:
        assert tony.start("cp", f"worker:0:{here}/folder/file/../../file", "/dev/stdout", stdout=log).wait(PATIENCE_S) == 2
        assert os.fstat(log.fileno()).st_ino == (here / "log").stat().st_ino
    assert stat.S_ISFIFO((here / "fifo").stat().st_mode) and (here / "pipe").is_symlink()
    assert tony.run("kill", job.id).returncode == 0
    assert "has already ended" in copy(tony, "file", f"{job.id}/worker:0:x", code=4)


def test_an_administrator_forbids_it(tony):
    submit(tony, {"tony.am.allow-exec": "false"})
    (tony.directory / "file").write_text("x")
    for words in (("file", "worker:0:x"), ("worker:0:x", "file")):
        answer = tony.run("cp", *words)
        assert answer.returncode == 6 and "tony.am.allow-exec is false" in answer.stderr


def entry(name, kind=tarfile.REGTYPE, target="", content=b"evil", mode=0o644):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, target, mode
    info.size = len(content) if kind == tarfile.REGTYPE else 0
    return info, content


def own_tar(tony, command):
    """The keys of a job whose containers have this one."""
    (tony.directory / "bin").mkdir()
    (tony.directory / "bin/tar").write_text(f"#!/bin/sh\n{command}\n")
    (tony.directory / "bin/tar").chmod(0o755)
    return {"tony.worker.envs": f"PATH={tony.directory}/bin:/usr/bin:/bin"}


ENEMIES = {
    "up": [entry("../evil")], "absolute": [entry("{root}/evil")], "link": [entry("out", tarfile.SYMTYPE, "{root}"), entry("out/evil")],
    "link-up": [entry("out", tarfile.SYMTYPE, "..")], "hard": [entry("x", tarfile.LNKTYPE, "../file")], "device": [entry("x", tarfile.CHRTYPE)],
    "setuid": [entry("x", mode=0o4755)], "other": [entry("./beside"), entry("other/one")], "link-for-file": [entry("./x", tarfile.SYMTYPE, "y")],
}


@pytest.mark.parametrize("enemy", ENEMIES)
@pytest.mark.parametrize("kind", ["d", "f"])
def test_an_enemy_writes_nothing_beside_the_copy(tony, enemy, kind):
    """A tar of the container's own."""
    job = submit(tony, own_tar(tony, f"exec cat {tony.directory}/enemy.tar"))
    with tarfile.open(tony.directory / "enemy.tar", "w") as archive:
        for info, content in ENEMIES[enemy]:
            info.name, info.linkname = info.name.format(root=tony.directory), info.linkname.format(root=tony.directory)
            archive.addfile(info, io.BytesIO(content) if info.size else None)
    (tony.directory / "file").write_text("mine")
    (tony.directory / "home-of-it").mkdir()
    source = "." if kind == "d" else "check_env.py"
    answer = tony.run("cp", f"{job.id}/worker:0:{source}", "home-of-it/x")
    made = os.listdir(tony.directory / "home-of-it")
    if kind == "d" and enemy in ("other", "link-for-file", "link", "link-up", "device", "setuid"):
        assert answer.returncode == 0 and made == ["x"]  # what is written is below the copy
        told = {"link": "out is left out: it is a symbolic link", "link-up": "out is left out: it is a symbolic link",
                "device": "x is left out: it is a device", "setuid": "x is left out: it is a set-user-id"}.get(enemy)
        assert told in answer.stderr if told else "left out" not in answer.stderr
        assert not (tony.directory / "home-of-it/x/out").is_symlink()
        assert os.path.lexists(tony.directory / "home-of-it/x/x") == (enemy == "link-for-file")
    else:
        assert answer.returncode != 0 and made == []
    assert not (tony.directory / "evil").exists() and (tony.directory / "file").read_text() == "mine"


@pytest.mark.parametrize("tar, text", [("", "there is no tar in the container"), ("head -c 300000 /dev/zero; exit 1", "was not copied"),
                                       ("exit 0", "cut off")])
def test_a_tar_that_fails(tony, tar, text):
    bin_directory = tony.directory / "bin"
    bin_directory.mkdir()
    for program in ("dirname", "basename", "mktemp", "rm", "mv", "head", "sh", "cat", "sleep"):
        (bin_directory / program).symlink_to(f"/bin/{program}")
    if tar:
        (bin_directory / "tar").write_text(f"#!/bin/sh\ncat >/dev/null\n{tar}\n")
        (bin_directory / "tar").chmod(0o755)
    job = submit(tony, {"tony.worker.envs": f"PATH={bin_directory}"})
    (tony.directory / "file").write_text("x" * 1000)
    said = tony.run("cp", "file", f"{job.id}/worker:0:{tony.directory}/copy")
    assert said.returncode == 70 and text in said.stderr, said.stderr
    assert not [name for name in os.listdir(tony.directory) if "copy" in name or "tony-cp" in name]
    if not tar:
        assert "tony exec -i TASK -- sh -c 'cat >FILE' <COPY" in said.stderr
        with open(tony.directory / "file", "rb") as file:
            assert tony.run("exec", "-i", job.id, "--", "sh", "-c", f"cat >{tony.directory}/copy", stdin=file).returncode == 0
        assert tony.run("exec", job.id, "--", "cat", f"{tony.directory}/copy").stdout == "x" * 1000


def holes(path, size, *offsets):
    """A file of that size with a MiB of data at each of these."""
    with open(path, "wb") as file:
        for offset in offsets:
            file.seek(offset)
            file.write(os.urandom(1 << 20))
        file.truncate(size)


@pytest.mark.parametrize("tar", ["busybox", ""])
def test_holes_and_names_reach_every_tar(tony, tar):
    submit(tony, own_tar(tony, f"exec {tar} tar \"$@\"") if tar else None)
    tree = make_tree(tony.directory / "tree")
    for number, offsets in enumerate([(), (0,), (5 << 20,), (0, 7 << 20), (3 << 20, 9 << 20)]):
        holes(tree / f"holes-{number}", 10 << 20, *offsets)
    long = tree / ("d" * 120) / ("ü" * 100)
    long.parent.mkdir()
    long.write_text("a long name")
    (tree / "far").symlink_to("f" * 150)
    (tree / "nothing").write_text("")
    copy(tony, tree, f"worker:0:{tony.directory}/inside")
    assert tell(tony.directory / "inside") == tell(tree)


def test_a_file_that_became_shorter_is_not_filled_up(tony):
    """Here and there: what the reader has opened is cut off while it waits for the pipe."""
    submit(tony, own_tar(tony, f"echo >{tony.directory}/begun; until test -e {tony.directory}/cut; do sleep 0.01; done; exec /bin/tar \"$@\""))
    holes(tony.directory / "big", 32 << 20, *range(0, 32 << 20, 1 << 20))
    started = tony.start("cp", "big", f"worker:0:{tony.directory}/copy")
    wait_until(lambda: (tony.directory / "begun").exists(), "the copy to begin")
    wait_until(lambda: opens(started.pid, tony.directory / "big"), "the reader to have opened it")
    os.truncate(tony.directory / "big", 20 << 20)
    (tony.directory / "cut").touch()
    assert "it became shorter meanwhile" in started.communicate(timeout=PATIENCE_S)[1] and started.returncode != 0
    wait_until(lambda: not parts(tony.directory), "the part to be removed")
    assert not (tony.directory / "copy").exists()
    (tony.directory / "bin/tar").write_text("#!/bin/sh\necho archive\n"
                                            "echo \"tar: ./big: File shrank by 7 bytes; padding with zeros\" >&2\nexit 1\n")
    said = copy(tony, f"worker:0:{tony.directory}/big", "copy", code=70)
    assert "File shrank by 7 bytes" in said and "big: became shorter meanwhile" in said
    assert not [name for name in os.listdir(tony.directory) if "copy" in name]


def parts(directory):
    return [name for name in os.listdir(directory) if "tony-cp" in name or ".part." in name]


@pytest.mark.parametrize("way", ["in", "out"])
@pytest.mark.parametrize("how", ["am", "client", "interrupt", "program"])
def test_what_is_interrupted_leaves_nothing(tony, how, way):
    job = submit(tony, own_tar(tony, f"test $1 = -xpof || head -c 300000 {tony.directory}/some.tar; "
                               f"echo >{tony.directory}/begun; while :; do sleep 0.1; done"))
    (tony.directory / "there").mkdir()
    source, target = tony.directory / "big", f"{tony.directory}/there/big"
    source.write_bytes(bytes(3_000_000))
    with tarfile.open(tony.directory / "some.tar", "w") as archive:
        archive.add(source, "big")
    words = (source, f"worker:0:{target}") if way == "in" else (f"worker:0:{source}", target)
    started = tony.start("cp", *words)
    wait_until(lambda: parts(tony.directory / "there") and (tony.directory / "begun").exists(), "a part of the copy")
    if how == "am":
        job.kill_am()
    elif how == "program":
        assert tony.run("kill", job.id).returncode == 0
    else:
        started.send_signal(signal.SIGKILL if how == "client" else signal.SIGINT)
    assert started.wait(timeout=PATIENCE_S) != 0
    if how == "am":
        assert "connection" in started.stderr.read()
    if how == "program":
        said = started.stderr.read()
        assert started.returncode == 4 and " and the copy " in said and said.count("tony:") == 1, said
    if (how, way) != ("program", "in"):  # what runs in a container that ends is killed at once
        wait_until(lambda: not os.listdir(tony.directory / "there"), "the part to be removed")
    assert not os.path.exists(target)


def test_a_directory_without_room_is_not_one_without_right(tony):
    keys = own_tar(tony, "exec /bin/tar \"$@\"")
    (tony.directory / "bin/mktemp").write_text("#!/bin/sh\necho no space >&2\nexit 1\n")
    (tony.directory / "bin/mktemp").chmod(0o755)
    submit(tony, keys)
    (tony.directory / "file").write_text("x")
    place = f"worker:0:{tony.directory}/copy"
    assert f"tony: {place}: no space" in copy(tony, "file", place, code=70)


def test_a_directory_in_which_nothing_can_be_made(tony):
    """Not by root either."""
    submit(tony)
    (tony.directory / "file").write_text("x")
    for place, code in (("worker:0:/proc/", 70), ("worker:0:/sys/", 6)):
        said = copy(tony, "file", place, code=code)
        assert said.startswith(f"tony: {place}file: mktemp: ") and said.count("\n") == 1, said


def test_a_file_that_grows_is_copied(tony):
    """A log: tar says that it has changed."""
    job = tony.submit({"tony.worker.instances": 1, **ROOM}, "--executes", f"exec {PYTHON} -c \"\nimport time\nwhile True:\n"
                      "    open('log', 'a').write('x' * 100000)\n    time.sleep(0.001)\"")
    job.wait_task("worker:0")
    wait_until(lambda: tony.run("exec", job.id, "--", "test", "-s", "log").returncode == 0, "the log")
    copy(tony, "worker:0:.", "all")
    assert (tony.directory / "all/log").stat().st_size > 0
