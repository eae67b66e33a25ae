# SPDX-License-Identifier: Apache-2.0
"""glovebox.exec() and exec_stream() against the real command."""
import base64
import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import glovebox
import pytest
from glovebox import _child, _decode
from lib import host, pace
from lib import ledger as books

FOREVER = "import os, time\nos.write(1, b'begun\\n')\ntime.sleep(600)"


def assert_gone():
    """The command has ended; what cleans up behind it follows at once."""
    assert host.until(lambda: not books.own_processes(), pace.within(2)), books.own_processes()


# ---- results -------------------------------------------------------------------------------------

def test_the_result_has_every_key_of_the_document():
    result = glovebox.exec("open('made.txt', 'w').write('abc')\nprint(6 * 7)", timeout=20)
    assert (result.ok, result.verdict, result.exit_code, result.stdout) == (True, "ok", 0, "42\n")
    assert [(file.path, file.bytes) for file in result.files] == [("made.txt", 3)]
    assert result.receipt.backend == "native"
    assert result.receipt.walls["net"] == "none"
    assert result.receipt.limits.wall_ms == 20000
    for key, value in result.document.items():
        assert hasattr(result, key), key
        if not isinstance(value, (dict, list)):
            assert getattr(result, key) == value


def test_a_program_that_fails_is_a_result():
    result = glovebox.exec("import sys\nprint('no', file=sys.stderr)\nsys.exit(3)")
    assert (result.ok, result.verdict, result.exit_code, result.stderr) == (False, "nonzero", 3, "no\n")


def test_a_timeout_is_a_result_with_what_was_printed():
    result = glovebox.exec(FOREVER, timeout=2)
    assert (result.verdict, result.timed_out, result.stdout) == ("timeout", True, "begun\n")
    assert "--timeout" in result.hint


def test_a_failed_compilation_names_its_step():
    result = glovebox.exec("int main(void) { return x; }", language="c")
    assert (result.verdict, result.failed_step) == ("nonzero", "compile")
    assert result.steps[0].name == "compile"


def test_code_that_looks_like_options_is_code():
    assert glovebox.exec("--help").verdict == "nonzero"
    assert glovebox.exec("-1\nprint('x')").stdout == "x\n"


def test_code_may_be_longer_than_a_command_line():
    assert glovebox.exec("#" * 3_000_000 + "\nprint(1)").stdout == "1\n"
    assert glovebox.exec("#" * 3_000_000 + "\nprint(input())", stdin="in").stdout == "in\n"


def test_files_stdin_env_and_args_reach_the_program(desk):
    host_file = desk.cwd / "a: strange name.txt"
    host_file.write_text("from the host")
    result = glovebox.exec(
        "import os, sys\n"
        "print(open('text').read(), open('raw', 'rb').read(), open('deep/er/host').read())\n"
        "print(sys.argv[1:], os.environ['COLOUR'], sys.stdin.read())",
        files={"text": "größe", "raw": b"\xff\0", "deep/er/host": host_file},
        stdin="typed", env={"COLOUR": "a=b c"}, args=["--flag", "with blank"])
    assert result.stdout == ("größe b'\\xff\\x00' from the host\n"
                             "['--flag', 'with blank'] a=b c typed\n"), result


def test_files_come_out_and_a_workspace_is_kept(desk):
    out, work = desk.cwd / "out.bin", desk.cwd / "work"
    work.mkdir()
    (work / "kept.txt").write_text("1")
    result = glovebox.exec(
        "import os\nopen('kept.txt', 'a').write('2')\nopen('x', 'wb').write(b'\\x00\\xff')",
        workspace=work, out={"x": out})
    assert result.ok, result
    assert out.read_bytes() == b"\0\xff"
    assert (work / "kept.txt").read_text() == "12"


def test_a_file_that_is_not_there_is_an_error_behind_the_result(desk):
    result = glovebox.exec("print(1)", out={"missing": desk.cwd / "x"})
    assert (result.verdict, result.stdout, result.ok) == ("ok", "1\n", False)
    assert "missing" in result.error.message


def test_argv_runs_a_program_of_the_box():
    result = glovebox.exec(argv=["sh", "-c", "echo $0 $1", "a b", "*"])
    assert (result.stdout, result.language) == ("a b *\n", None)


def test_output_beyond_what_is_kept_is_bounded():
    result = glovebox.exec("import sys\nfor _ in range(40): sys.stdout.write('\\0' * 2**20)",
                           memory="256m", timeout=60)
    assert (result.verdict, result.truncated, result.stdout_bytes) == ("ok", True, 40 << 20)
    assert len(result.stdout) < 9 << 20


# ---- errors --------------------------------------------------------------------------------------

@pytest.mark.parametrize("wrong, said", [
    (dict(language="cobol"), "cobol"),
    (dict(memory="much"), "much"),
    (dict(timeout=-1), "timeout"),
    (dict(timeout=float("nan")), "nan"),
    (dict(files={"../x": "y"}), "../x"),
    (dict(files={"a:b": "y"}), "colon"),
    (dict(env={"A B": "y"}), "A B"),
    (dict(env={"A=B": "y"}), "A=B"),
    (dict(args=["a\0b"]), "NUL"),
    (dict(argv=["true"]), "either"),
    (dict(net="host"), "host"),
])
def test_a_wrong_request_is_a_usage_error(wrong, said):
    with pytest.raises(glovebox.UsageError, match=said):
        glovebox.exec("print(1)", **wrong)


def test_text_that_is_no_utf8_is_a_usage_error():
    with pytest.raises(glovebox.UsageError, match="UTF-8"):
        glovebox.exec("print('\ud800')")


def test_an_unknown_keyword_is_a_type_error():
    with pytest.raises(TypeError, match="memroy"):
        glovebox.exec("print(1)", memroy="1g")


def test_an_error_has_its_remedy():
    with pytest.raises(glovebox.UsageError) as caught:
        glovebox.exec("print(1)", language="cobol")
    assert "python" in caught.value.remedy
    assert caught.value.remedy in str(caught.value)


def test_a_box_that_cannot_be_built_is_a_sandbox_error():
    with pytest.raises(glovebox.SandboxError):
        glovebox.exec("print(1)", backend="disabled")


def test_a_command_that_is_killed_is_a_sandbox_error(desk):
    fake = _program(desk, "kill -9 $$")
    with pytest.raises(glovebox.SandboxError, match="-9"):
        glovebox.exec("print(1)", binary=fake)


@pytest.mark.parametrize("said", ["junk", "[1]", '{"schema": 2}', '{"schema": 1, "id": 7}',
                                  '{"schema": 1}', "\\377", "[" * 100000])
def test_an_answer_that_cannot_be_understood_is_a_protocol_error(desk, said):
    (desk.cwd / "said").write_text(said)
    with pytest.raises(glovebox.ProtocolError):
        glovebox.exec("print(1)", binary=_program(desk, f"cat {desk.cwd}/said"))


def test_an_endless_answer_is_cut(desk, monkeypatch):
    monkeypatch.setattr(_child.Gathered.__init__, "__defaults__", (1 << 20,))
    with pytest.raises(glovebox.ProtocolError, match="more than"):
        glovebox.exec("print(1)", binary=_program(desk, "exec cat /dev/zero"))


def test_keys_of_a_later_release_are_passed_over(desk):
    document = {**glovebox.exec("print(1)").document, "new": {"x": 1}}
    (desk.cwd / "said").write_text(json.dumps(document))
    assert glovebox.exec("x", binary=_program(desk, f"cat {desk.cwd}/said")).stdout == "1\n"


def test_a_boolean_is_no_integer():
    with pytest.raises(_decode.Mismatch):
        _decode.integer(True)


# ---- the binary ----------------------------------------------------------------------------------

def _program(desk, body):
    path = desk.cwd / "fake"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_the_binary_is_the_argument_then_the_variable_then_on_path(desk, monkeypatch):
    real = os.environ["GLOVEBOX_BIN"]
    monkeypatch.setenv("GLOVEBOX_BIN", "/nonexistent")
    assert glovebox.exec("print(1)", binary=real).ok
    with pytest.raises(glovebox.BinaryNotFound, match="GLOVEBOX_BIN"):
        glovebox.exec("print(1)")
    monkeypatch.delenv("GLOVEBOX_BIN")
    monkeypatch.setenv("PATH", str(desk.cwd))
    with pytest.raises(glovebox.BinaryNotFound, match="PATH"):
        glovebox.exec("print(1)")
    (desk.cwd / "glovebox").symlink_to(real)
    assert glovebox.exec("print(1)").ok


def test_a_binary_that_was_named_is_not_replaced_by_another(desk):
    with pytest.raises(glovebox.BinaryNotFound):
        glovebox.exec("print(1)", binary=desk.cwd / "missing")


# ---- streams and cancellation --------------------------------------------------------------------

def test_a_stream_gives_output_while_the_program_runs():
    with glovebox.exec_stream(FOREVER) as stream:
        assert next(stream) == glovebox.Chunk("stdout", b"begun\n")
        assert stream.result is None and stream.id.startswith("r_")


def test_a_stream_tells_both_streams_and_the_result():
    stream = glovebox.exec_stream("import sys\nprint('o')\nprint('e', file=sys.stderr)\nsys.exit(4)")
    seen = {"stdout": b"", "stderr": b""}
    for chunk in stream:
        seen[chunk.stream] += chunk.data
    assert seen == {"stdout": b"o\n", "stderr": b"e\n"}
    result = stream.result
    assert (result.verdict, result.exit_code, result.stdout, result.id) == ("nonzero", 4, "o\n", stream.id)
    assert result.cpu_ms > 0 and result.receipt.walls["net"] == "none"
    assert list(stream) == [] and stream.result is result


def test_a_stream_ends_with_the_verdict_of_a_limit():
    stream = glovebox.exec_stream(FOREVER, timeout=2)
    assert [chunk.data for chunk in stream] == [b"begun\n"]
    assert stream.result.timed_out and "--timeout" in stream.result.hint


def test_a_stream_gives_the_bytes_as_they_were():
    data = bytes(range(256)) * 3 + "zß水🍌".encode()
    stream = glovebox.exec_stream(f"import sys\nsys.stdout.buffer.write({data!r})")
    assert b"".join(chunk.data for chunk in stream) == data
    assert stream.result.stdout_bytes == len(data)


def test_a_result_has_the_bytes_as_they_were_when_asked():
    data = bytes(range(256))
    code = f"import sys\nsys.stdout.buffer.write({data!r})"
    result = glovebox.exec(code, base64=True)
    assert base64.b64decode(result.stdout_base64) == data and result.stderr_base64 == ""
    assert glovebox.exec(code).stdout_base64 is None


def test_a_cancelled_stream_tells_how_far_it_came():
    with glovebox.exec_stream(FOREVER) as stream:
        assert next(stream).data == b"begun\n"
        stream.cancel()
        assert list(stream) == []
        assert (stream.result.verdict, stream.result.stdout) == ("cancelled", "begun\n")
    assert_gone()


@pytest.mark.parametrize("error, request_", [
    (glovebox.UsageError, dict(memory="much")), (glovebox.UsageError, dict(language="cobol")),
    (glovebox.SandboxError, dict(backend="disabled"))])
def test_a_stream_that_cannot_begin_raises_what_exec_raises(error, request_):
    with pytest.raises(error):
        list(glovebox.exec_stream("print(1)", **request_))


@pytest.mark.parametrize("said", ["junk", '{"event": "output"}', '{"event": "result"}',
                                  '{"event": "output", "stream": "stdout", "data": "", "base64": "a"}',
                                  '{"event": "result", "document": {"schema": 2}}'])
def test_lines_that_cannot_be_understood_are_a_protocol_error(desk, said):
    (desk.cwd / "said").write_text(said + "\n")
    with pytest.raises(glovebox.ProtocolError):
        list(glovebox.exec_stream("x", binary=_program(desk, f"cat {desk.cwd}/said")))


def test_a_stream_whose_command_is_killed_is_a_sandbox_error(desk):
    fake = _program(desk, """echo '{"event":"output","stream":"stdout","data":"x"}'; kill -9 $$""")
    stream = glovebox.exec_stream("x", binary=fake)
    assert next(stream).data == b"x"
    with pytest.raises(glovebox.SandboxError, match="-9"):
        next(stream)


def test_events_of_a_later_release_are_passed_over(desk):
    document = json.dumps(glovebox.exec("print(1)").document)
    (desk.cwd / "said").write_text(
        f'{{"event":"new"}}\n{{"event":"result","document":{document}}}\n')
    stream = glovebox.exec_stream("x", binary=_program(desk, f"cat {desk.cwd}/said"))
    assert list(stream) == [] and stream.result.stdout == "1\n"


def test_a_stream_is_whole_and_its_result_keeps_a_part():
    code = "import os\nfor _ in range(100): os.write(1, b'x' * 2**20)"
    stream = glovebox.exec_stream(code, timeout=60, output_max="1g")
    assert sum(len(chunk.data) for chunk in stream) == stream.result.stdout_bytes == 100 << 20
    assert stream.result.truncated and len(stream.result.stdout) < 9 << 20


def test_closing_a_stream_from_another_thread_ends_the_run():
    stream = glovebox.exec_stream(FOREVER)
    assert next(stream).data == b"begun\n"
    closer = threading.Thread(target=stream.close)
    closer.start()
    assert list(stream) == []
    closer.join()
    assert_gone()


def test_closing_a_stream_that_nobody_reads_ends_a_flood():
    stream = glovebox.exec_stream("while True: print('x' * 1000)")
    next(stream)
    stream.close()
    assert_gone()


def test_ctrl_c_ends_the_run_first(desk):
    """The interpreter gets SIGINT alone; afterwards nothing of the run is there.  Whoever started this
    test in the background of a shell has SIGINT ignored for all of its children."""
    code = ("import glovebox, signal, sys\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "try:\n"
            "    glovebox.exec(sys.argv[1], stdin='', workspace=sys.argv[2])\n"
            "except KeyboardInterrupt:\n"
            "    print('interrupted')\n")
    work = desk.cwd / "work"
    work.mkdir()
    child = subprocess.Popen([sys.executable, "-c", code, FOREVER, work], stdout=subprocess.PIPE,
                             env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert host.until(lambda: _sleeps(child.pid), 30)
    child.send_signal(signal.SIGINT)
    said, _ = child.communicate(timeout=60)
    assert said == b"interrupted\n"
    assert_gone()


def _sleeps(pid):
    return any(process.depth > 1 and process.inner_pid not in (None, 1)
               and "glovebox-main" in process.cmdline
               for process in host.descendants(pid))


def test_an_exception_of_the_reader_ends_the_run():
    with pytest.raises(ZeroDivisionError):
        with glovebox.exec_stream(FOREVER) as stream:
            next(stream)
            raise ZeroDivisionError
    assert_gone()


def test_threads_do_not_disturb_each_other():
    def one(number):
        return glovebox.exec(f"print({number} ** 2)", files={"n": str(number)}, timeout=60).stdout

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(24))) == [f"{n * n}\n" for n in range(24)]


def test_contents_of_files_are_gone_after_the_run(desk):
    glovebox.exec("print(1)", files={"a": "x" * 1000}, stdin="y")
    with pytest.raises(glovebox.UsageError):
        glovebox.exec("print(1)", files={"a": "x", "../b": "y"})
    assert list(desk.tmp.iterdir()) == []
