"""The sandbox: what a command did, what it cannot reach, and what stays behind."""

import os
import subprocess
import time

import pytest

from pivotlab.verifiers import sandbox
from pivotlab.verifiers.sandbox import Limits, Sandbox


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """A small folder to begin with, fixed ages included."""
    if reason := sandbox.reason_unavailable():
        pytest.skip(reason)
    root = tmp_path_factory.mktemp("start")
    (root / "w" / "src").mkdir(parents=True)
    (root / "w" / "a.txt").write_text("b\na\nb\n")
    (root / "w" / "src" / "x.c").write_text("int x;\n")
    (root / "w" / "run.sh").write_text("#!/bin/sh\necho hi\n")
    (root / "w" / "run.sh").chmod(0o755)
    (root / "w" / "link").symlink_to("a.txt")
    for path in root.rglob("*"):
        os.utime(path, (10**9, 10**9), follow_symlinks=False)
    return root


@pytest.fixture(scope="module")
def box(start):
    return Sandbox(start, cwd="/w", limits=Limits(seconds=5.0))


@pytest.fixture(scope="module")
def hasty(start):
    return Sandbox(start, cwd="/w", limits=Limits(seconds=1.0))


def sandbox_processes() -> list[str]:
    """Command lines of this user's processes that belong to a sandbox."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as handle:
                line = handle.read().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if "left-behind" in line:
            found.append(line)
    return found


@pytest.mark.parametrize(
    ("command", "code", "output"),
    [
        ("cat a.txt", 0, b"b\na\nb\n"),
        ("./run.sh", 0, b"hi\n"),
        ("cat link | sort -u", 0, b"a\nb\n"),
        ("pwd; id -u", 0, b"/w\n1000\n"),
        ("exit 3", 3, b""),
        ("no-such-program", 127, b""),
        ("echo 'open", 1, b""),
        ("stat -c %Y a.txt", 0, b"1000000000\n"),
    ],
)
def test_a_command_runs_in_its_start(box, command, code, output):
    outcome = box.run([command])
    assert (outcome.stdout, outcome.limit) == (output, None)
    assert outcome.code == code or (code == 1 and outcome.code == 2)


def test_files_and_folder_carry_over_but_not_between_runs(box):
    outcome = box.run(["cd src", "touch y", "ls; pwd"])
    assert outcome.stdout == b"x.c\ny\n/w/src\n" and outcome.cwd == "/w/src"
    assert box.run(["ls src"]).stdout == b"x.c\n"


def test_the_tree_tells_what_changed(box):
    before = box.run(["true"]).tree
    kinds = {path: before[path].kind for path in ("w", "w/a.txt", "w/link")}
    assert kinds == {"w": "folder", "w/a.txt": "file", "w/link": "link"}
    assert before["w/a.txt"].stamp == "1000000000"
    touched = box.run(["touch a.txt"]).tree["w/a.txt"]
    assert touched.stamp == "now" and touched.digest == before["w/a.txt"].digest
    hidden = box.run(["chmod 0 a.txt"]).tree["w/a.txt"]
    assert hidden.kind == "hidden"
    assert "w/a.txt" not in box.run(["rm a.txt"]).tree


@pytest.mark.parametrize(
    ("gold", "said", "same"),
    [
        ("ls -la", "ls -l -a", True),
        ("sort -u a.txt", "sort a.txt | uniq", True),
        ("rm -r src", "rm -rf src/", True),
        ("cd src", "cd ./src/", True),
        ("cp a.txt b", "cat a.txt > b", True),
        ("ls -l", "ls", False),
        ("rm src/x.c", "true", False),
        ("cd src", "cd /", False),
        ("chmod 600 a.txt", "true", False),
        ("touch a.txt", "true", False),
        ("grep -c b a.txt", "grep -c a a.txt", False),
        ("false", "true", False),
    ],
)
def test_pairs_of_commands(box, gold, said, same):
    found = sandbox.difference(box.run([gold]), box.run([said]))
    assert (found is None) is same, found


def test_commands_without_a_trace(box):
    before = box.run(["true"])
    assert sandbox.leaves_no_trace(box.run(["grep -q b a.txt"]), before)
    assert not sandbox.leaves_no_trace(box.run(["cd src"]), before)
    assert not sandbox.leaves_no_trace(box.run(["echo"]), before)


def test_no_write_leaves_the_sandbox(box, tmp_path):
    target = tmp_path / "escaped"
    command = f"mkdir -p {tmp_path}; echo x > {target}; echo x > /usr/escaped; ls /usr"
    outcome = box.run([command])
    assert not target.exists() and not os.path.exists("/usr/escaped")
    assert b"Read-only file system" in outcome.stderr


def test_host_files_do_not_exist_inside(box, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("do not read")
    command = f"cat {secret} /etc/shadow {__file__}; ls /root; cat /etc/passwd"
    outcome = box.run([command])
    assert outcome.stdout == b"agent:x:1000:1000::/home:/bin/bash\n"
    assert outcome.stderr.count(b"No such file") == 4


def test_the_callers_environment_and_processes_do_not_exist_inside(box, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_HOST", "1")
    outcome = box.run(["env | grep SECRET; ls /proc | grep -c '^[0-9]'"])
    assert b"SECRET" not in outcome.stdout and int(outcome.stdout) < 12


def test_there_is_no_network(box):
    probe = "exec 3<>/dev/tcp/127.0.0.1/22 || exec 3<>/dev/tcp/8.8.8.8/53; echo $?"
    outcome = box.run([probe])
    assert outcome.code != 0 or outcome.stdout != b"0\n"
    assert box.run(["ls /sys/class/net; cat /proc/net/route"]).stdout.count(b"\n") <= 1


def test_no_privileges_and_no_new_namespaces(box):
    status = box.run(["grep -E 'Cap(Eff|Bnd)' /proc/self/status"]).stdout
    assert status.count(b"0000000000000000") == 2
    assert box.run(["unshare -Ur true"]).code != 0


def test_endless_output_is_cut(hasty):
    outcome = hasty.run(["yes"])
    assert outcome.limit in ("output", "time")
    assert len(outcome.stdout) <= Limits().file_size


def test_time_is_up_inside_and_nothing_stays(hasty):
    began = time.monotonic()
    outcome = hasty.run(["exec -a left-behind sleep 60"])
    assert outcome.limit == "time" and time.monotonic() - began < 30
    assert sandbox_processes() == []


def test_a_detached_process_ends_with_the_sandbox(box):
    command = "(setsid bash -c 'exec -a left-behind sleep 60' &) ; sleep 0.1; echo hi"
    outcome = box.run([command])
    assert outcome.stdout == b"hi\n"
    assert sandbox_processes() == []


def test_many_processes_stop_at_the_limit(hasty):
    many = "for i in $(seq 100); do bash -c 'exec -a left-behind sleep 9' & done; wait"
    outcome = hasty.run([many])
    assert outcome.limit == "time" and b"Resource temporarily" in outcome.stderr
    assert sandbox_processes() == []


def test_memory_and_disk_stop_at_their_limits(box):
    too_much = "python3 -c 'x = bytearray(2 * 10**9)' || echo refused"
    assert box.run([too_much]).stdout == b"refused\n"
    fill = "for i in $(seq 40); do head -c 4000000 /dev/zero > /f$i; done"
    outcome = box.run([fill])
    assert outcome.limit == "disk" or b"No space left" in outcome.stderr


def test_sparse_files_do_not_flood_the_caller(box):
    outcome = box.run(["for i in $(seq 60); do truncate -s 4M /s$i; done"])
    assert outcome.limit in ("disk", "time")


def test_a_command_that_kills_everything_kills_itself_only(box):
    assert box.run(["kill -9 -1"]).code != 0
    assert box.run(["rm -rf /run/* /w"]).limit in (None, "killed")
    assert box.run(["echo fine"]).stdout == b"fine\n"


def test_if_the_sandbox_must_be_killed_nothing_stays(start, monkeypatch):
    monkeypatch.setattr(sandbox, "GRACE", -4.0)
    slow = Sandbox(start, limits=Limits(seconds=5.0))
    outcome = slow.run(["exec -a left-behind sleep 60"])
    assert outcome.limit == "time"
    time.sleep(0.3)
    assert sandbox_processes() == []


def test_outcomes_that_hit_a_limit_are_never_the_same(hasty):
    endless = hasty.run(["yes"])
    assert sandbox.difference(endless, endless).startswith("limit")


def test_without_bubblewrap_nothing_runs(monkeypatch, tmp_path):
    monkeypatch.setattr(sandbox, "reason_unavailable", lambda: "not here")
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: pytest.fail("it ran"))
    with pytest.raises(sandbox.SandboxUnavailable, match="not here"):
        Sandbox(tmp_path).run(["ls"])


def test_the_reason_names_the_remedy(monkeypatch):
    monkeypatch.setattr(sandbox, "_bwrap", lambda: None)
    assert "pip install" in sandbox.reason_unavailable.__wrapped__()


def test_a_start_must_be_a_folder(tmp_path):
    with pytest.raises(NotADirectoryError, match="no folder"):
        Sandbox(tmp_path / "missing")
