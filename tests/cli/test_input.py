# SPDX-License-Identifier: Apache-2.0
"""What a program reads: all of stdin with --stdin, nothing without; and what is not waited for."""
import hashlib
import os
import subprocess

import pytest

import command
from lib import box


def test_stdin_is_empty_unless_asked_for():
    words = box.command("cat; echo end", language="sh", as_json=False)
    done = box.run_words(words, input=b"not for the box")
    assert (done.out, done.returncode) == (b"end\n", 0), done


def test_stdin_reaches_the_program_and_ends():
    result = box.run("cat; echo end", language="sh", stdin=b"a\0b\xff\n")
    assert result.stdout == "a\0b\ufffd\nend\n" and result.stdout_bytes == 9, result


@pytest.mark.parametrize("data", [b"", b"x", bytes(range(256)) * 1000])
def test_stdin_may_be_any_bytes(data):
    result = box.run(argv=["cat"], stdin=data, as_json=False)
    assert (result.out, result.returncode) == (data, 0)


def test_a_large_stdin_passes_through():
    data = os.urandom(1 << 20) * 50
    result = box.run(argv=["cat"], stdin=data, as_json=False)
    assert result.returncode == 0 and len(result.out) == len(data), result.err
    assert hashlib.sha256(result.out).digest() == hashlib.sha256(data).digest()


def test_a_large_stdin_is_counted_and_cut_with_json():
    result = box.run(argv=["cat"], stdin=bytes(50 << 20))
    assert (result.verdict, result.stdout_bytes, result.truncated) == ("ok", 50 << 20, True)


def test_a_stdin_that_nobody_reads_does_not_hold_the_result():
    result = box.run("exit 3", language="sh", stdin=bytes(20 << 20))
    assert (result.verdict, result.exit_code) == ("nonzero", 3), result


def test_a_stdin_that_stays_open_does_not_hold_the_result():
    with command.started("exit 3", language="sh", stdin=b"", popen={"stdin": subprocess.PIPE}) as living:
        assert living.process.wait(30) == 3


def test_a_program_that_closes_stdin_does_not_stop_the_feeder():
    code = "exec <&-; sleep 0.2; echo alive"
    result = box.run(code, language="sh", stdin=bytes(5 << 20))
    assert (result.verdict, result.stdout) == ("ok", "alive\n"), result


def test_a_reader_that_stops_reading_is_killed_at_its_limit():
    result = box.run("head -c 10 >/dev/null; sleep 1000", language="sh", stdin=bytes(20 << 20), timeout=1)
    assert (result.verdict, result.survivors) == ("timeout", 0), result


def test_each_line_arrives_when_it_is_sent():
    with box.start("while read line; do echo got $line; done; echo end", language="sh") as living:
        for word in (b"one", b"two", b"three"):
            living.send(word + b"\n")
            living.expect(b"got " + word + b"\n")
        code, seen = living.end()
        assert code == 0 and seen.endswith(b"end\n")


def test_stdin_from_a_file_and_from_a_directory(place):
    source = place.cwd / "input"
    source.write_bytes(b"from a file")
    words = box.command(argv=["cat"], stdin=b"", as_json=False)
    with open(source, "rb") as stream:
        done = box.run_words(words, stdin=stream)
        assert (done.out, done.returncode) == (b"from a file", 0), done
    folder = os.open(place.cwd, os.O_RDONLY)
    try:
        done = box.run_words(words, stdin=folder)
    finally:
        os.close(folder)
    assert (done.out, done.returncode, done.hung) == (b"", 0, False), done


def test_a_closed_stdin_is_an_empty_one(place):
    words = box.command("cat; echo end", language="sh", stdin=b"", as_json=False)
    done = subprocess.run(["/bin/sh", "-c", 'exec "$@" <&-', "sh", *words], cwd=place.cwd,
                          env=box.environment(), capture_output=True, timeout=60)
    assert (done.stdout, done.returncode) == (b"end\n", 0), done


def test_code_from_stdin():
    words = [*box.command(path="-", language="python", as_json=False)]
    done = box.run_words(words, input=b"import sys; print(40 + 2, sys.stdin.read())")
    assert (done.out, done.returncode) == (b"42 \n", 0), done


def test_code_and_input_cannot_both_be_stdin():
    words = box.command(path="-", language="python", stdin=b"", as_json=False)
    done = box.run_words(words, input=b"print(1)")
    assert done.returncode == 2 and done.err.count(b"\n") == 1, done


def test_interactive_conversation_with_an_interpreter():
    """python -i style: question and answer many times over one pair of pipes."""
    code = "import sys\nfor line in sys.stdin: print(eval(line), flush=True)"
    with box.start(code, language="python") as living:
        for number in range(200):
            living.send(b"%d * 7\n" % number)
            living.expect(b"%d\n" % (number * 7))
        assert living.end()[0] == 0
