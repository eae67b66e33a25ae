# SPDX-License-Identifier: Apache-2.0
"""exec --jsonl and box run --jsonl: what happens as it happens, and the document last."""
import base64
import fcntl
import json
import os
import signal
import subprocess
import sys
import termios

import pytest

import command
from lib import box, host, kept, pace
from test_output import STRANGE, printing

F_GETPIPE_SZ = 1032  # Python has the name from 3.10 on
FLOOD = "import os\nwhile True: os.write(1, b'x' * 65536)"


def told(done):
    """Every line is an object; the last one and only that is the result."""
    assert done.out.endswith(b"\n"), done
    lines = [json.loads(line) for line in done.out.decode().splitlines()]
    assert [line["event"] for line in lines].count("result") == 1 and lines[-1]["event"] == "result"
    return lines


def run(code=None, **request):
    done = box.run(code, as_json=False, options=["--jsonl"], **request)
    return done, told(done)


def output(lines, stream):
    """The bytes of a stream."""
    pieces = [line for line in lines if line["event"] == "output" and line["stream"] == stream]
    return b"".join(base64.b64decode(line["base64"]) if "base64" in line else line["data"].encode()
                    for line in pieces)


def filled(pipe):
    """How much of a pipe waits to be read."""
    waiting = fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))
    return int.from_bytes(waiting, sys.byteorder) / fcntl.fcntl(pipe, F_GETPIPE_SZ)


def stable(document):
    moving = ("id", "wall_ms", "cpu_ms", "memory_peak_bytes", "events")
    return {key: value for key, value in document.items() if key not in moving}


# ---- what is told --------------------------------------------------------------------------------

def test_begin_step_output_and_the_document_of_json():
    code = "open('f', 'w').write('x')\nprint('out')\nimport sys\nsys.exit('err')"
    done, lines = run(code, language="python")
    assert done.returncode == 1 and done.err == b"", done
    assert lines[0] == {"event": "begin", "schema": 1, "run": lines[-1]["document"]["id"],
                        "language": "python"}
    assert lines[1] == {"event": "step", "name": "run"}
    assert (output(lines, "stdout"), output(lines, "stderr")) == (b"out\n", b"err\n")
    assert stable(lines[-1]["document"]) == stable(box.run(code, language="python").document)


def test_a_compiled_language_has_two_steps_and_the_compilers_words_lie_in_the_first():
    done, lines = run('#warning "careful"\n#include <stdio.h>\nint main(void) { puts("ran"); }',
                      language="c")
    assert done.returncode == 0, done
    kinds = [line.get("name") or line.get("stream") or line["event"] for line in lines]
    assert kinds.index("compile") < kinds.index("stderr") < kinds.index("run") < kinds.index("stdout")
    assert b"careful" in output(lines, "stderr") and output(lines, "stdout") == b"ran\n"


def test_a_program_without_a_language():
    _, lines = run(argv=["echo", "x"])
    assert lines[0]["language"] is None and output(lines, "stdout") == b"x\n"


@pytest.mark.parametrize("name", STRANGE)
def test_any_bytes_are_told_as_they_were(name):
    data = STRANGE[name]
    _, lines = run(printing(data) + printing(data[::-1], "stderr"), language="python")
    assert (output(lines, "stdout"), output(lines, "stderr")) == (data, data[::-1])
    for line in lines:
        if line["event"] == "output" and "base64" not in line:
            assert "\ufffd" not in line["data"]


def test_a_character_that_comes_in_two_pieces_is_one():
    code = ("import os, sys\nfor byte in 'zß水🍌'.encode():\n"
            "    os.write(1, bytes([byte])); sys.stdin.read(1)\nos.write(1, b'\\xf0\\x9f')")
    _, lines = run(code, language="python", stdin=b"." * 10)
    pieces = [line for line in lines if line["event"] == "output"]
    assert "".join(line["data"] for line in pieces[:-1]) == "zß水🍌"
    assert not any("base64" in line for line in pieces[:-1])
    assert pieces[-1]["data"] == "\ufffd\ufffd" and output(pieces[-1:], "stdout") == b"\xf0\x9f"


def test_a_line_is_bounded_and_nothing_is_lost():
    size = 20 << 20
    _, lines = run(f"import os\nfor _ in range({size >> 20}): os.write(1, 'ü'.encode() * 2**19)",
                   language="python", output_max="100m")
    pieces = [line["data"] for line in lines if line["event"] == "output"]
    assert sum(len(piece) for piece in pieces) == size / 2
    assert max(len(piece.encode()) for piece in pieces) <= 64 << 10
    assert lines[-1]["document"]["truncated"] is True


def test_output_is_told_while_the_program_runs():
    popen = {"stdin": subprocess.PIPE}
    with command.started("printf one; read x; echo two; exit 4", language="sh", stdin=b"",
                         as_json=False, options=["--jsonl"], popen=popen) as living:
        for event in ("begin", "step", "output"):
            line = json.loads(living.process.stdout.readline())
            assert line["event"] == event
        assert line["data"] == "one" and living.process.poll() is None
        rest, _ = living.process.communicate(b"x\n", timeout=60)
        assert living.process.returncode == 4
        assert json.loads(rest.splitlines()[-1])["document"]["exit_code"] == 4


# ---- ends ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("verdict, code, request_", [
    ("timeout", 124, dict(code="echo so far; sleep 600", timeout=0.5)),
    ("output", 153, dict(code="echo so far; yes", output_max=1000)),
    ("signal", 128 + 11, dict(code="echo so far; kill -SEGV $$")),
])
def test_other_verdicts_come_behind_the_output(verdict, code, request_):
    done, lines = run(language="sh", **request_)
    assert (done.returncode, lines[-1]["document"]["verdict"]) == (code, verdict), done
    assert output(lines, "stdout").startswith(b"so far\n")


@pytest.mark.parametrize("words", [["--nonsense"], ["--json"], ["--memory", "much"],
                                   ["--language", "cobol"]])
def test_a_refused_request_is_one_line(words):
    done = box.run("true", language="sh", as_json=False, options=["--jsonl", *words])
    (line,) = told(done)
    assert done.returncode == 2 and line["document"]["verdict"] == "sandbox_error", done
    assert line["document"]["error"]["message"] and done.err.startswith(b"glovebox: ")


@pytest.mark.parametrize("words, said", [(["exec", "--jsonl", "--json"], b"exclude each other"),
                                         (["exec", "--jsonl", "-t"], b"-t excludes"),
                                         (["exec", "--base64"], b"say --json or --jsonl"),
                                         (["box", "run", "--jsonl", "-d", "b"], b"-d excludes")])
def test_what_it_excludes(words, said):
    done = box.run_words([box.command()[0], *words, "--", "true"])
    assert done.returncode == 2 and said in done.err, done


def test_a_reader_that_leaves_ends_the_run():
    with command.started(FLOOD, language="python", as_json=False, options=["--jsonl"],
                         timeout=60) as living:
        assert json.loads(living.process.stdout.readline())["event"] == "begin"
        living.process.stdout.close()
        assert living.process.wait(pace.within(20)) == 130
        assert living.process.stderr.read() == b""


def test_a_full_disk_is_told():
    with open("/dev/full", "wb") as full:
        with command.started("echo x", language="sh", as_json=False, options=["--jsonl"],
                             popen={"stdout": full}) as living:
            assert living.process.wait(pace.within(20)) == 125
            assert b"No space left" in living.process.stderr.read()


@pytest.mark.parametrize("cause", ["timeout", "cancelled"])
def test_a_reader_that_is_stuck_cannot_keep_a_run_alive(cause):
    """Its processes end; the command itself waits with what it has to say, and says it."""
    timeout = 2 if cause == "timeout" else 60
    with command.started(FLOOD, language="python", as_json=False, options=["--jsonl"],
                         timeout=timeout) as living:
        # The document behind it is longer than the room that is left then.
        assert host.until(lambda: filled(living.process.stdout) > 0.8, pace.within(15))
        if cause == "cancelled":
            living.process.send_signal(signal.SIGTERM)
        assert host.until(lambda: not living.runs, pace.within(15))
        assert living.process.poll() is None
        rss = int(open(f"/proc/{living.process.pid}/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
        assert rss < 100 << 20
        lines = told(living.result())
    assert lines[-1]["document"]["verdict"] == cause
    assert len(output(lines, "stdout")) == lines[-1]["document"]["stdout_bytes"]


# ---- boxes that live on --------------------------------------------------------------------------

def test_a_run_in_a_box_that_lives_on_is_told_and_written_down():
    with kept.living("--ttl", "120s") as living:
        done = living.call("run", "--", "sh", "-c", "echo out; echo err >&2; exit 3", options=["--jsonl"])
        lines = told(done)
        assert done.returncode == 3 and lines[-1]["document"]["exit_code"] == 3
        assert (output(lines, "stdout"), output(lines, "stderr")) == (b"out\n", b"err\n")
        (run,) = living.json("runs")["runs"]
        assert run["id"] == lines[0]["run"] == lines[-1]["document"]["id"]
        assert living.json("logs")["next"] == len(b"out\nerr\n")


def test_a_stuck_reader_of_a_box_that_lives_on_does_not_outlast_the_limit():
    with kept.living("--ttl", "120s") as one:
        words = [box.command()[0], "box", "run", "--jsonl", "--timeout", "1", one.name, "--", "yes"]
        living = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=box.environment(kept.environment()))
        try:
            events = [json.loads(living.stdout.readline())["event"] for _ in range(3)]
            assert events == ["begin", "step", "output"]
            assert host.until(lambda: "yes" not in one.sh("cat /proc/[0-9]*/comm"), pace.within(15))
            out, _ = living.communicate(timeout=60)
        finally:
            living.kill()
            living.wait()
        assert json.loads(out.splitlines()[-1])["document"]["verdict"] == "timeout"


@pytest.mark.parametrize("cause", ["timeout", "cancelled"])
def test_a_stuck_reader_without_lines_does_not_outlast_them_either(cause):
    """The run ends.  Behind its limit the command waits with the rest of the output; told to end, it
    leaves a reader who does not read."""
    with kept.living("--ttl", "120s") as one:
        words = [box.command()[0], "box", "run", "--timeout", "2" if cause == "timeout" else "60", one.name,
                 "--", "yes"]
        living = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  env=box.environment(kept.environment()))
        try:
            assert host.until(lambda: filled(living.stdout) > 0.8, pace.within(15))
            if cause == "cancelled":
                living.send_signal(signal.SIGTERM)
                assert living.wait(pace.within(15)) == 130
            assert host.until(lambda: "yes" not in one.sh("cat /proc/[0-9]*/comm"), pace.within(15))
            out, _ = living.communicate(timeout=60)
        finally:
            living.kill()
            living.wait()
        assert out.startswith(b"y\ny\n")
        if cause == "timeout":
            assert living.returncode == 124 and b"glovebox: timeout" in out[-1000:]
        (run,) = [run for run in one.json("runs")["runs"] if run["command"] == "yes"]
        assert (run["state"], run["verdict"]) == ("ended", cause)
