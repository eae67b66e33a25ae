# SPDX-License-Identifier: Apache-2.0
"""Rows about tasks: `glovebox run` with scripted models, so that only its own work is measured."""
import contextlib
import http.server
import itertools
import json
import statistics
import subprocess
import threading

ATTEMPTS = 11
CANDIDATES = 20
CASES = 20
STEPS = 25
STEP_BYTES = 100_000
RSS_MIB = 32
OVERHEAD_MS = 25
MATRIX = 1.5

PLAN = {"action": "code", "reason": "a program is wanted"}


def rule(text, **conditions):
    lines = [f"    {word}: {value}" for word, value in conditions.items()]
    return "\n".join(["answer", *lines, "<<<END_OF_ANSWER", text, "END_OF_ANSWER", ""])


def planned(language, file):
    contract = {"kind": "program", "language": language, "summary": "says a word", "files": [file]}
    return json.dumps({**PLAN, "contract": contract})


def plan(language, file):
    return rule(planned(language, file), system="You plan")


def listed(count, words):
    classes = ("normal", "edge", "invalid", "stress")
    return json.dumps({"cases": [
        {"name": f"case {number}", "class": classes[number % 4], "argv": [str(number)],
         "expect": {"stdout": words}} for number in range(count)]})


def cases(count, words):
    return rule(listed(count, words), system="You write test cases")


ANSWERS = {"You plan": planned("sh", "say.sh"), "You write test cases": listed(4, "right"),
           "You explain": "It says a word."}


def code(file, text, **conditions):
    return rule(f"File: {file}\n~~~~\n{text}~~~~", system="You write code", **conditions)


def explanation():
    return rule("It says a word.", system="You explain")


def said(attempt, last, filler=""):
    word = "right" if attempt == last else f"wrong {attempt}"
    return f"echo '{word}'\n{filler}"


def attempts_script(path, last, filler=0):
    """A program in sh that is right in its last attempt; every other says something new."""
    rules = [plan("sh", "say.sh"), cases(4, "right")]
    for attempt in range(1, last + 1):
        noise = "".join(f"# {attempt} {line:090d}\n" for line in range(filler // 96))
        rules.append(code("say.sh", said(attempt, last, noise), seed=attempt))
    path.write_text("\n".join([*rules, explanation()]))
    return path


def run_of(bench, *words):
    """Without what it tells people meanwhile, and not among the tasks of whoever measures."""
    alone = 'GLOVEBOX_STATE_DIR="$0" exec "$@" 2>/dev/null'
    return ["/bin/sh", "-c", alone, str(bench.scratch / "state"), bench.glovebox, "run", "--plain", *words, "say a word"]


def task(bench, script, *words):
    return run_of(bench, "--model", f"scripted/{script}", *words)


def attempt(bench, tell):
    """What one more attempt costs: four cases of a shell script, two at a time."""
    few = attempts_script(bench.scratch / "few.script", 1)
    many = attempts_script(bench.scratch / "many.script", ATTEMPTS)
    program = bench.scratch / "say.sh"
    program.write_text("echo right\n")
    series = bench.measure(task(bench, many, "--max-attempts", str(ATTEMPTS)), task(bench, few),
                           ["/bin/sh", str(program)], rounds=bench.effort.tasks)
    longer, shorter, bare = ([sample.ns / 1e6 for sample in samples] for samples in series)
    each = (statistics.median(longer) - statistics.median(shorter)) / (ATTEMPTS - 1)
    value = each - 2 * statistics.median(bare)
    yield tell("attempt", "loop overhead of an attempt (4 cases)", f"{each:.1f} ms an attempt",
               f"{statistics.median(bare):.2f} ms sh", value, OVERHEAD_MS, " ms")


def matrix(bench, tell):
    """Twenty solutions meet twenty cases; the same runs as bare processes, two at a time."""
    script = bench.scratch / "matrix.script"
    rules = [plan("python", "say.py"), cases(CASES, "right")]
    rules += [code("say.py", f"# {number}\nprint('right')\n", seed=number)
              for number in range(1, CANDIDATES + 1)]
    script.write_text("\n".join([*rules, explanation()]))
    program = bench.scratch / "say.py"
    program.write_text("print('right')\n")
    sides = [], []
    for _ in range(bench.effort.matrix + 1):  # the first warms up
        sides[0].extend(*bench.measure(task(bench, script, "--candidates", str(CANDIDATES)), rounds=0))
        sides[1].extend(*bench.measure(["/usr/bin/python3", str(program)], rounds=0, burst=CANDIDATES * CASES, jobs=2))
    times = [statistics.median(sample.ns / 1e6 for sample in side[1:]) for side in sides]
    cpu = [statistics.median(sample.cpu_us for sample in side[1:]) for side in sides]
    yield tell("matrix", f"{CANDIDATES} solutions × {CASES} cases / bare python3", f"{times[0]:.0f} ms",
               f"{times[1]:.0f} ms", times[0] / times[1], MATRIX, "", cpu=f"{cpu[0] / cpu[1]:.2f}")


class LongAnswers(http.server.BaseHTTPRequestHandler):
    """A server whose coder writes 100 kB at a time, and is right in the end."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = self.server.answers(request["messages"][0]["content"])
        chunks = [{"choices": [{"delta": {"content": text[at:at + 4000]}}]} for at in range(0, len(text), 4000)]
        chunks.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


@contextlib.contextmanager
def long_answers():
    attempts = itertools.count(1)

    def answers(system):
        if system.startswith("You write code"):
            attempt = next(attempts)
            noise = "".join(f"# {attempt} {line:090d}\n" for line in range(STEP_BYTES // 96))
            return f"File: say.sh\n~~~~\n{said(attempt, STEPS, noise)}~~~~"
        return next(text for begin, text in ANSWERS.items() if system.startswith(begin))

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), LongAnswers)
    server.answers = answers
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def task_memory(bench, tell):
    """Twenty-five attempts with 100 kB of code each, over HTTP."""
    with long_answers() as url:
        words = run_of(bench, "--model", "openai/long", "--base-url", url, "--max-attempts", str(STEPS))
        samples, = bench.measure(["/usr/bin/env", "OPENAI_API_KEY=none", *words], rounds=0)
    peak = samples[0].rss_kib / 1024
    yield tell("task-memory", f"resident after {STEPS} attempts of 100 kB", f"{peak:.1f} MiB", "-", peak,
               RSS_MIB, " MiB")


def calls(bench, tell):
    """Model calls for an answer, and for a build that passes at once."""
    answer = bench.scratch / "answer.script"
    contract = {"kind": "answer", "language": "python", "summary": "a factorial"}
    answer.write_text("\n".join([
        rule(json.dumps({**PLAN, "contract": contract}), system="You plan"),
        rule("File: main.py\n~~~~\nimport math\nprint(math.factorial(20))\n~~~~",
             system="You write a short program")]))
    build = attempts_script(bench.scratch / "build.script", 1)
    for name, what, script, limit in (("calls-answer", "model calls for an answer", answer, 2),
                                      ("calls-build", "model calls for a build", build, 4)):
        done = subprocess.run(task(bench, script, "--json"), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        count = json.loads(done.stdout)["spent"]["calls"]
        yield tell(name, what, str(count), "-", count, limit, "")


GROUPS = {"attempt": attempt, "matrix": matrix, "task-memory": task_memory, "calls": calls}
