# SPDX-License-Identifier: Apache-2.0
"""What a program writes: every byte, counted exactly, as it is produced, and never more memory."""
import base64
import codecs
import concurrent.futures
import hashlib
import json
import os
import select
import selectors
import subprocess

import pytest

import command
from lib import box, kept

KEEP = 8 << 20

# Each of these is printed by printf in a shell or by python; nothing of it is text as usual.
STRANGE = {
    "nothing": b"",
    "no newline": b"abc",
    "one newline": b"\n",
    "carriage returns": b"10%\r20%\r\n",
    "zero bytes": bytes(1000),
    "every byte": bytes(range(256)) * 20,
    "backwards": bytes(range(255, -1, -1)) * 20,
    "invalid UTF-8": b"a\xff\xfeb\xc3(\xe2\x82 \xf0\x9f\x98 \xed\xa0\x80 \xc0\x80 \xf8\x88\x80\x80\x80",
    "cut UTF-8": "ü€😀".encode()[:-1],
    "valid UTF-8": "zß水🍌\u0000\u007f\u0080\ufeff\uffff\U0010ffff\n".encode(),
    "ANSI": b"\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b]52;c;aGk=\x07\x1b[2J\x9b31m",
    "quotes": b"\"\\\b\f\n\r\t</script>{}[]\x7f",
}

codecs.register_error("each", lambda error: ("\ufffd" * (error.end - error.start), error.end))


def printing(data, stream="stdout"):
    return f"import sys\nsys.{stream}.buffer.write({data!r})\n"


@pytest.mark.parametrize("name", STRANGE)
def test_any_bytes_pass_unchanged(name):
    data = STRANGE[name]
    result = box.run(printing(data) + printing(data[::-1], "stderr"), language="python", as_json=False)
    assert (result.out, result.err, result.returncode) == (data, data[::-1], 0), result


@pytest.mark.parametrize("name", STRANGE)
def test_any_bytes_are_told_as_json(name):
    """Each byte that belongs to no valid sequence is U+FFFD; the counts are of the raw bytes."""
    data = STRANGE[name]
    result = box.run(printing(data) + printing(data, "stderr"), language="python")
    assert result.verdict == "ok" and not result.truncated, result
    assert result.stdout == result.stderr == data.decode("utf-8", "each"), result
    assert result.stdout_bytes == result.stderr_bytes == len(data), result
    assert result.out.endswith(b"}\n") and result.out.count(b"\n") == 1


@pytest.mark.parametrize("name", STRANGE)
def test_any_bytes_are_told_as_base64_when_asked(name):
    data = STRANGE[name]
    code = printing(data) + printing(data[::-1], "stderr")
    result = box.run(code, language="python", options=["--base64"])
    assert base64.b64decode(result.stdout_base64, validate=True) == data, result
    assert base64.b64decode(result.stderr_base64, validate=True) == data[::-1], result
    assert result.stdout == data.decode("utf-8", "each"), result
    assert "stdout_base64" not in box.run(code, language="python").document


def test_base64_has_every_step_and_only_what_is_kept():
    code = '#warning caf\u00e9\nint printf(const char *, ...);\nint main(void) { return printf("\\377") < 0; }'
    result = box.run(code, language="c", options=["--base64"])
    compiled, ran = result.steps
    assert "caf\u00e9".encode() in base64.b64decode(compiled["stderr_base64"]), result
    assert "stderr_base64" not in ran and base64.b64decode(result.stdout_base64) == b"\xff"
    flood = box.run("import os; os.write(1, b'\\xff' * (20 << 20))", language="python", options=["--base64"])
    kept_bytes = base64.b64decode(flood.stdout_base64)
    assert flood.truncated and set(kept_bytes) == {0xff}, flood.verdict
    assert len(kept_bytes) == flood.receipt["limits"]["output_keep_bytes"], len(kept_bytes)


def test_base64_in_a_box_that_lives_on_and_in_lines():
    with kept.living() as one:
        done = one.call("run", "--", "printf", "\\377", options=["--json", "--base64"])
        assert done.document["stdout_base64"] == "/w==", done
    lines = box.run(argv=["printf", "\\377"], as_json=False, options=["--jsonl", "--base64"])
    assert json.loads(lines.out.splitlines()[-1])["document"]["stdout_base64"] == "/w==", lines


def test_the_streams_stay_apart():
    code = "for i in 1 2 3; do echo out$i; echo err$i >&2; done"
    result = box.run(code, language="sh")
    assert (result.stdout, result.stderr) == ("out1\nout2\nout3\n", "err1\nerr2\nerr3\n"), result
    plain = box.run(code, language="sh", as_json=False)
    assert (plain.out, plain.err) == (b"out1\nout2\nout3\n", b"err1\nerr2\nerr3\n"), plain


def test_nothing_of_glovebox_is_mixed_into_the_output():
    result = box.run("echo out; echo err >&2; exit 3", language="sh", as_json=False)
    assert (result.out, result.err, result.returncode) == (b"out\n", b"err\n", 3), result


@pytest.mark.parametrize("code, line", [
    ("kill -SEGV $$", b"glovebox: killed by SIGSEGV (exit 139)\n"),
    ("kill -KILL $$", b"glovebox: killed by SIGKILL (exit 137)\n"),
    ("exit 139", b""), ("exit 0", b""),
])
def test_a_signal_that_ended_the_program_is_told(code, line):
    result = box.run(f"echo out; {code}", language="sh", as_json=False)
    assert (result.out, result.err) == (b"out\n", line), result


@pytest.mark.parametrize("code", ["printf out", "printf out >&2", "printf 'out\n'", "printf 'out\n' >&2", ":"])
@pytest.mark.parametrize("kind", ["pipe", "terminal", "file"])
def test_our_own_words_begin_on_a_line_of_their_own(place, kind, code):
    """Where both streams go to one place."""
    words = box.command(f"{code}; kill -SEGV $$", language="sh", as_json=False)
    reader, writer = os.openpty() if kind == "terminal" else os.pipe()
    if kind == "file":
        os.close(writer)
        writer = os.open(place.cwd / "log", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    subprocess.run(words, stdin=subprocess.DEVNULL, stdout=writer, stderr=writer, cwd=place.cwd,
                   env=box.environment(), timeout=60)
    if kind == "file":
        text = (place.cwd / "log").read_bytes()
    else:
        text = b""
        # What was written to a terminal may come in pieces.
        while not text.endswith(b")\n") and select.select([reader], [], [], 30)[0]:
            text += os.read(reader, 10000).replace(b"\r", b"")
    os.close(reader)
    os.close(writer)
    said = b"out\n" if "out" in code else b""
    assert text == said + b"glovebox: killed by SIGSEGV (exit 139)\n"


def test_a_newline_is_added_only_where_it_is_seen():
    result = box.run("printf out; printf err >&2; kill -SEGV $$", language="sh", as_json=False)
    assert result.out == b"out", result
    assert result.err == b"err\nglovebox: killed by SIGSEGV (exit 139)\n", result


def test_output_arrives_as_it_is_produced():
    code = 'printf one; read x; printf "two $x"; read x; printf "three $x\\n"; read x; exit 4'
    with box.start(code, language="sh") as living:
        assert living.expect(b"one") == b"one"
        living.send(b"a\n")
        assert living.expect(b"two a") == b"onetwo a"
        living.send(b"b\n")
        assert living.expect(b"three b\n") == b"onetwo athree b\n"
        assert living.process.poll() is None
        living.send(b"c\n")
        assert living.end() == (4, b"onetwo athree b\n")


def test_stderr_arrives_as_it_is_produced():
    popen = {"stdin": subprocess.PIPE}
    with command.started('printf warn >&2; read x; exit 4', language="sh", stdin=b"", as_json=False,
                         popen=popen) as living:
        with selectors.DefaultSelector() as ready:
            ready.register(living.process.stderr, selectors.EVENT_READ)
            assert ready.select(30)
        assert os.read(living.process.stderr.fileno(), 100) == b"warn"
        assert living.process.poll() is None
        assert living.process.communicate(b"x\n", timeout=30) == (b"", b"")
        assert living.process.returncode == 4


# ---- counts and bounds --------------------------------------------------------------------------

@pytest.mark.parametrize("size", [0, 1, 4095, 65536, 1000003])
def test_counts_are_exact(size):
    code = f"head -c {size} /dev/zero; head -c {size + 7} /dev/zero >&2"
    result = box.run(code, language="sh")
    assert (result.stdout_bytes, result.stderr_bytes) == (size, size + 7), result
    assert (len(result.stdout), len(result.stderr)) == (size, size + 7)


@pytest.mark.parametrize("limit", [1, 1000, 65536, 262144, 3 << 20])
def test_exactly_output_max_is_allowed_and_one_more_kills(limit):
    allowed = box.run(f"head -c {limit} /dev/zero", language="sh", output_max=limit)
    assert (allowed.verdict, allowed.stdout_bytes) == ("ok", limit), allowed
    killed = box.run(f"head -c {limit + 1} /dev/zero; sleep 1000", language="sh", output_max=limit)
    assert (killed.verdict, killed.returncode, killed.stdout_bytes) == ("output", 153, limit), killed
    assert len(killed.stdout) == limit and killed.survivors == 0


def test_both_streams_together_make_the_limit():
    code = "head -c 600 /dev/zero; head -c 400 /dev/zero >&2; {}; sleep 0.1"
    allowed = box.run(code.format("true"), language="sh", output_max=1000)
    assert (allowed.verdict, allowed.stdout_bytes, allowed.stderr_bytes) == ("ok", 600, 400), allowed
    killed = box.run(code.format("printf x; sleep 1000"), language="sh", output_max=1000)
    assert killed.verdict == "output", killed
    assert killed.stdout_bytes + killed.stderr_bytes == 1000, killed


def test_killed_at_the_limit_while_both_streams_are_flooded():
    result = box.run("yes & yes >&2 & wait", language="sh", output_max="2m")
    assert result.verdict == "output" and result.survivors == 0, result
    assert result.stdout_bytes + result.stderr_bytes == 2 << 20, result


def test_the_output_of_a_short_program_is_complete():
    """Many at once: the program has ended before its output is read."""
    def once(_):
        return box.run("seq 1 100000; seq 1 50000 >&2", language="sh")

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for result in pool.map(once, range(80)):
            assert (result.verdict, result.stdout_bytes, result.stderr_bytes) == ("ok", 588895, 288894)


def test_one_byte_at_a_time():
    code = "import os\nfor _ in range(20000): os.write(1, b'x')\nfor _ in range(99): os.write(2, b'y')"
    result = box.run(code, language="python")
    assert (result.stdout_bytes, result.stderr_bytes) == (20000, 99), result
    assert result.stdout == "x" * 20000


def test_more_than_is_kept_is_counted_and_marked():
    """Verdict unaffected; the first and the last half are there, and the line that tells the cut."""
    code = "import sys\nfor i in range(2000000): sys.stdout.write('%09d\\n' % i)"
    result = box.run(code, language="python", outer=200)
    assert result.verdict == "ok" and result.truncated is True, result.verdict
    assert result.stdout_bytes == 20000000
    assert result.stdout.startswith("000000000\n000000001\n")
    assert result.stdout.endswith("001999998\n001999999\n")
    mark = [line for line in result.stdout.splitlines() if "dropped" in line]
    assert len(mark) == 1 and str(20000000 - KEEP) in mark[0], mark
    assert len(result.stdout) <= KEEP + 200


def test_exactly_what_is_kept_is_not_truncated():
    full = box.run(f"head -c {KEEP} /dev/zero", language="sh")
    assert (full.truncated, full.stdout_bytes, len(full.stdout)) == (False, KEEP, KEEP)
    more = box.run(f"head -c {KEEP + 1} /dev/zero", language="sh")
    assert (more.truncated, more.stdout_bytes) == (True, KEEP + 1)


def test_output_keep_is_a_setting():
    result = box.run("seq 1 100000", language="sh", host_env={"GLOVEBOX_OUTPUT_KEEP": "1k"})
    assert result.truncated and result.stdout_bytes == 588895 and len(result.stdout) < 1200, result


def test_without_json_all_of_it_is_passed_on():
    size = 64 << 20
    code = f"import hashlib, os\nblock = os.urandom(1 << 16)\nh = hashlib.sha256()\n" \
           f"for _ in range({size >> 16}):\n    os.write(1, block); h.update(block)\n" \
           f"os.write(2, h.hexdigest().encode())"
    result = box.run(code, language="python", as_json=False)
    assert result.returncode == 0 and len(result.out) == size, result.returncode
    assert hashlib.sha256(result.out).hexdigest() == result.err.decode()


# ---- readers ------------------------------------------------------------------------------------

@pytest.mark.parametrize("code", ["yes", "while :; do echo y; done", "trap '' PIPE; exec yes"])
def test_a_reader_that_leaves_ends_the_run(code):
    """`glovebox exec … | head -1`"""
    with command.started(code, language="sh", as_json=False, timeout=60) as living:
        assert os.read(living.process.stdout.fileno(), 2) == b"y\n"
        living.process.stdout.close()
        assert living.process.wait(20) == 130
        assert living.process.stderr.read() == b""


def test_a_reader_of_stderr_that_leaves_ends_the_run():
    with command.started("yes >&2", language="sh", as_json=False, timeout=60) as living:
        assert os.read(living.process.stderr.fileno(), 2) == b"y\n"
        living.process.stderr.close()
        assert living.process.wait(20) == 130


def test_a_slow_reader_slows_the_program_only():
    """A reader that waits: the program stops writing, and glovebox does not buffer for it."""
    with command.started("head -c 200000000 /dev/zero; sleep 1000", language="sh", as_json=False,
                         timeout=60) as living:
        living.await_program("head")
        assert os.read(living.process.stdout.fileno(), 1) == b"\0"
        rss = int(open(f"/proc/{living.process.pid}/statm").read().split()[1]) * 4096
        assert rss < 32 << 20
        left = 200000000 - 1
        while left:
            left -= len(os.read(living.process.stdout.fileno(), left))
        living.await_program("sleep")


def test_a_full_disk_under_stdout_is_an_error_not_a_hang():
    with open("/dev/full", "wb") as full:
        for code, as_json in (("yes", False), ("echo x", False), ("echo x", True)):
            with command.started(code, language="sh", as_json=as_json, popen={"stdout": full}) as living:
                assert living.process.wait(20) == 125
                message = living.process.stderr.read()
                assert message.startswith(b"glovebox: ") and b"No space left" in message, message


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_descriptors_that_are_closed(place, closed):
    """Nothing of ours may take the place of a closed stream and be mistaken for it."""
    words = box.command("echo out; echo err >&2; exit 3", language="sh", as_json=False)
    done = subprocess.run(["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *words], cwd=place.cwd,
                          env=box.environment(), capture_output=True, timeout=60)
    assert done.returncode == 3, done
    words = closed.split()
    assert done.stdout == (b"" if ">&-" in words else b"out\n"), done
    assert done.stderr == (b"" if "2>&-" in words else b"err\n"), done


def test_control_bytes_are_neutralised_on_a_terminal_only(place):
    """A box may not drive the terminal of whoever runs it."""
    master, slave = os.openpty()
    words = box.command("printf 'a\\033[2Jb\\007c\\n'", language="sh", as_json=False)
    process = subprocess.Popen(words, cwd=place.cwd, env=box.environment(), stdout=slave,
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        os.close(slave)
        seen = b""
        while b"c" not in seen:
            seen += os.read(master, 1000)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
        os.close(master)
    assert b"\x1b" not in seen and b"\x07" not in seen and seen.startswith(b"a"), seen
