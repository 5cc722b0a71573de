"""Sessions on a file: what a program or a disk that fails leaves behind."""

import errno
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import sgq
from clinics import NAMES, SETTINGS, answer_all, clinic, ended, in_memory, python


@pytest.mark.parametrize("end", ["os._exit(7)", "os.kill(os.getpid(), signal.SIGKILL)", "raise SystemExit(7)"])
@pytest.mark.skipif(sys.platform == "win32", reason="signals are another matter there")
def test_a_program_that_ends_in_any_way_loses_nothing(tmp_path, end):
    path, told = tmp_path / "study.sgq", tmp_path / "told.txt"
    program = f"""
        session = sgq.open({str(path)!r}, "frugal", users=NAMES, budget=30, open=2, **SETTINGS)
        told = open({str(told)!r}, "a")
        for count, query in enumerate(session):
            if count == 5:
                {end}
            session.tell(query, clinic(query.name, query.point))
            print(query.ticket[1], query.name, file=told, flush=True)
    """
    code = -signal.SIGKILL if "kill" in end else 7
    for runs in range(1, 4):
        ended(python(program), code)
        # What was out when it ended is out still.
        with sgq.open(path, read_only=True) as session:
            assert session.queries == 5 * runs and len(session.pending()) == 1
    with sgq.open(path) as session:
        answer_all(session)
    whole = in_memory(budget=30, open=2)
    assert session.point.tobytes() == whole.point.tobytes() and session.queries == 30
    lines = told.read_text().splitlines()
    assert len(lines) == len(set(lines)) == 15
    assert session.verify().sound and session.verify().replays


def test_a_program_that_ends_leaves_one_file(tmp_path):
    """Also where nobody closes it: the log goes into the file."""
    path = tmp_path / "study.sgq"
    ended(python(f"session = sgq.open({str(path)!r}, users=NAMES, **SETTINGS); answer_all(session, 3)"))
    assert not path.with_name("study.sgq-wal").exists()
    with sgq.open(path) as session:
        assert session.queries == 3


@pytest.mark.skipif(sys.platform == "win32", reason="signals are another matter there")
def test_kills_at_any_instant(tmp_path):
    """Answers are used once, and asked for at most once more than they were told: at a kill, one is out."""
    path, calls = tmp_path / "study.sgq", tmp_path / "calls.txt"
    program = f"""
        calls = open({str(calls)!r}, "a")
        with sgq.open({str(path)!r}, "frugal", users=NAMES, budget=300, tol=None, **SETTINGS) as session:
            for query in session:
                print(query.ticket[1], file=calls, flush=True)
                print(flush=True)
                session.tell(query, clinic(query.name, query.point))
    """
    random, kills = np.random.default_rng(0), 0
    while True:
        with python(program) as process:
            # After so many questions, and a moment: the disk may be at work.
            if all(process.stdout.readline() for _ in range(random.integers(1, 40))):
                time.sleep(0.003 * random.random())
                process.kill()
            code, errors = process.wait(), process.stderr.read()
        if code == 0:
            break
        assert code == -signal.SIGKILL, errors
        kills += 1
    whole = in_memory(budget=300, tol=None)
    with sgq.open(path, read_only=True) as session:
        assert session.point.tobytes() == whole.point.tobytes() and session.queries == 300
    asked = [int(line) for line in calls.read_text().split()]
    assert set(asked) == set(range(300)) and len(asked) - 300 <= kills and kills >= 3
    kinds = [event["kind"] for event in session.history()]
    assert kinds.count("asked") == kinds.count("answered") == 300


def test_only_one_may_write_and_anybody_may_read(tmp_path):
    path = tmp_path / "study.sgq"
    program = f"""
        session = sgq.open({str(path)!r}, "frugal", users=NAMES, **SETTINGS)
        answer_all(session, 7)
        print(os.getpid(), flush=True)
        sys.stdin.readline()
    """
    other = python(program, stdin=subprocess.PIPE)
    try:
        process = other.stdout.readline().strip()
        with pytest.raises(sgq.LedgerInUse, match=f"in use by process {process} .*only one program"):
            sgq.open(path)
        with pytest.raises(sgq.LedgerInUse):
            sgq.minimize([abs] * 6, ledger=path)
        session = sgq.open(path, read_only=True)
        assert session.queries == 7 and session.closed and len(session.history()) == 15
        with pytest.raises(sgq.LedgerError, match="opened to be read"):
            session.ask()
    finally:
        other.communicate("\n", timeout=60)
    with sgq.open(path) as session:
        assert session.queries == 7
        # Another session of this program is another writer as well.
        with pytest.raises(sgq.LedgerInUse, match=f"process {os.getpid()} .*this program itself"):
            sgq.open(path)
    sgq.open(path).close()


def test_files_that_are_no_ledgers(tmp_path):
    text, database = tmp_path / "text.sgq", tmp_path / "database.sgq"
    text.write_text("user,cost\nnorth,1\n" * 300)
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    for path in (text, database):
        before = path.read_bytes()
        for read_only in (False, True):
            with pytest.raises(sgq.LedgerError, match="is no ledger of sgq"):
                sgq.open(path, read_only=read_only)
        with pytest.raises(sgq.LedgerError):
            sgq.open(path, users=NAMES, **SETTINGS)
        assert path.read_bytes() == before
    with pytest.raises(OSError):
        sgq.open(tmp_path)


def test_damage_is_found_named_and_recovered_from(tmp_path):
    path, new = tmp_path / "study.sgq", tmp_path / "new.sgq"
    with sgq.open(path, "frugal", users=NAMES, budget=20, **SETTINGS) as session:
        answer_all(session)
    verdict = session.verify()
    assert (verdict.sound, verdict.events, verdict.answers, verdict.replays) == (True, len(session.history()), 20, True)
    assert repr(verdict) == f"Verdict(sound=True, events={verdict.events}, answers=20, replays=True, findings=[])"
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE events SET cost = 0.0 WHERE kind = 'answered' AND seq = 8")
    connection.close()
    verdict = session.verify()
    assert not verdict.sound and "8" in verdict.findings[0]
    with pytest.raises(sgq.LedgerDamaged, match=r"damaged: .*event 8.*") as damaged:
        sgq.open(path)
    for words in (f"the record of {path} is damaged", f"recover {path} NEW.sgq", f'sgq.recover("{path}", "new.sgq")'):
        assert words in str(damaged.value)
    with pytest.raises(sgq.LedgerDamaged) as damaged:
        sgq.open(path, read_only=True)
    assert f'sgq.recover("{path}", "new.sgq")' in str(damaged.value)
    before = path.read_bytes()
    saved = sgq.recover(path, new)
    assert saved["answers"] == 20 and saved["lost_answers"] == [] and path.read_bytes() == before
    for read_only in (False, True):
        with sgq.open(new, read_only=read_only) as again:
            # What was paid before is not forgotten, and not asked again.
            assert again.queries == again.queries_per_user.sum() == 20 and again.stop_reason == "budget"
            assert again.queries_per_user.tolist() == session.queries_per_user.tolist() and again.earlier == 20
            assert again.cost == pytest.approx(20.0) and again.numbers == 40
            np.testing.assert_allclose(again.point, session.point, atol=0.2)
    with sgq.open(new) as again:
        again.extend(5)
        answer_all(again)
        assert again.queries == again.queries_per_user.sum() == 25
    with pytest.raises(FileExistsError):
        sgq.recover(path, new)
    path.write_bytes(path.read_bytes()[:9000])
    with pytest.raises(sgq.LedgerDamaged):
        sgq.open(path)


FULL = """
        told = 0
        try:
            for query in session:
                session.tell(query, query.point)
                told += 1
        except OSError as error:
            assert "open the ledger again" in str(error) and told > 5, error
            number = error.errno
        else:
            raise AssertionError("it fits")
        try:
            session.ask()
        except sgq.LedgerError as error:
            assert "open the ledger again" in str(error), error
        else:
            raise AssertionError("it goes on")
        session.close()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of this kind are another matter there")
def test_files_that_may_not_grow(tmp_path):
    path = tmp_path / "study.sgq"
    with sgq.open(path, "frugal", users=NAMES, x0=np.ones(2000), answers="gradient"):
        pass
    program = f"""
        import resource
        session = sgq.open({str(path)!r})
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))
        {FULL}
        print(told)
    """
    told = int(ended(python(program)))
    with sgq.open(path) as session:
        assert session.queries == told
        query = session.ask()
        session.tell(query, query.point)


@pytest.mark.skipif(sys.platform != "linux", reason="a small disk of our own takes Linux")
def test_a_full_disk(tmp_path):
    """On a file system of 1 MB, which only this test sees; then it becomes larger."""
    mount = ["unshare", "-rm", "sh", "-c", f"mount -t tmpfs -o size=1m tmpfs {tmp_path} && exec \"$@\"", "sh"]
    if subprocess.run([*mount, "true"], capture_output=True).returncode != 0:
        pytest.skip("no file system can be mounted here")
    program = f"""
        path = {str(tmp_path / "study.sgq")!r}
        session = sgq.open(path, "frugal", users=NAMES, x0=np.ones(2000), answers="gradient")
        {FULL}
        assert number == errno.ENOSPC, number
        subprocess.run(["mount", "-o", "remount,size=64m", {str(tmp_path)!r}], check=True)
        with sgq.open(path) as session:
            assert session.queries == told and len(session.pending()) <= 1
            answer = session.ask()
            session.tell(answer, answer.point)
        assert session.verify().sound
    """
    ended(python(program, before=mount))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_copy_of_the_program_does_not_touch_it(tmp_path):
    path = tmp_path / "study.sgq"
    program = f"""
        session = sgq.open({str(path)!r}, "frugal", users=NAMES, budget=20, **SETTINGS)
        answer_all(session, 3)
        child = os.fork()
        if child == 0:
            try:
                session.ask()
            except sgq.LedgerError as error:
                assert "copy" in str(error)
                del session
                sys.exit(5)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
        # It is still ours, and goes on.
        try:
            sgq.open({str(path)!r})
        except sgq.LedgerInUse:
            answer_all(session)
        # Another copy, which lives on, does not keep the file.
        child = os.fork()
        if child == 0:
            time.sleep(60)
        session.close()
        sgq.open({str(path)!r}).close()
        os.kill(child, signal.SIGKILL)
    """
    ended(python(program))
    with sgq.open(path) as session:
        assert session.queries == 20 and session.verify().sound


@pytest.mark.skipif(sys.platform == "win32", reason="signals are another matter there")
def test_ctrl_c_leaves_a_session_that_goes_on(tmp_path):
    path = tmp_path / "study.sgq"
    session = sgq.open(path, "frugal", users=NAMES, budget=3000, tol=None, **SETTINGS)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            answer_all(session)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    paid = session.queries
    assert 0 < paid < 3000 and len(session.pending()) <= 1
    answer_all(session, 10)
    assert session.queries == paid + 10
    session.close()
    assert session.verify().sound


@pytest.mark.skipif(sys.platform == "win32", reason="short sleeps are long there")
def test_others_run_while_it_writes(tmp_path):
    """The interpreter is free while the disk writes: another thread counts on."""
    session = sgq.open(tmp_path / "study.sgq", "shuffled-sgd", users=2, x0=np.ones(200_000), step_size=0.1)
    counts, done = [], threading.Event()

    def count():
        while not done.is_set():
            counts.append(time.perf_counter())
            time.sleep(0.0002)

    thread = threading.Thread(target=count)
    thread.start()
    told = []
    for _ in range(5):
        query = session.ask()
        gradient = query.point * 1.5
        start = time.perf_counter()
        session.tell(query, gradient)
        told.append((start, time.perf_counter()))
    done.set()
    thread.join()
    inside = [sum(start < at < end for at in counts) for start, end in told]
    longest = max(end - start for start, end in told)
    # Without the interpreter nobody would count at all from beginning to end.
    assert max(inside) >= 2, (inside, longest)
