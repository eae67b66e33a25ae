# SPDX-License-Identifier: Apache-2.0
"""The rules that a file's text can break.

A rule is a function (name, text) -> complaints, a row of RULES, and with it an example that
breaks it: test_rules.py runs each rule over the tree and over its own example, so that a rule
which can no longer fail is noticed.  The name is the path from the top of the tree.
"""
import re
from collections import namedtuple
from pathlib import PurePosixPath

from tree import code_of, comments_of, includes_of

Rule = namedtuple("Rule", "check suffixes below example")

BANNED = "strcpy strcat sprintf vsprintf strtok atoi atol strncpy localtime gmtime system popen gets"
BANNED_CALL = re.compile(r"(?<![\w.>])(%s)\s*\(" % "|".join(BANNED.split()))
ENVIRONMENT = re.compile(r"\b(?:secure_)?getenv\s*\(|\benviron\b")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|[Ff]or now|[Nn]ot (yet )?implemented)\b")
VAGUE_NAMES = {"util", "utils", "common", "helper", "helpers", "misc", "manager"}
MAX_FUNCTION_LINES = 80
SCRIPTS = (".py", ".sh", "meson.build", "meson_options.txt", "Makefile")

# Which layers each layer may include directly; what those may include comes with it.  The list
# is ARCHITECTURE.md's.  gen/ (written by the build) is open to all.
LAYERS = {
    "base": "",
    "embed": "",
    "wire": "base",
    "glove": "wire",
    "keeper": "wire",
    "spawner": "glove keeper",
    "json": "base",
    "net": "json",
    "egress": "base",
    "engine": "net",
    "image": "engine embed",
    "store": "json",
    "model": "json net",
    "box": "wire keeper json net egress engine image embed",
    "run": "box",
    "package": "run store",
    "tool": "package",
    "agent": "run model store tool",
    "conf": "agent",
    "lib": "conf",
    "serve": "conf",
    "cli": "serve",
}

# The one place that may include a library's header.
LIBRARIES = {
    "jansson.h": "src/json/",
    "yaml.h": "src/conf/",
    "curl/": "src/net/",
    "sqlite3.h": "src/store/",
    "microhttpd.h": "src/serve/http",
    "seccomp.h": "tools/filters",
    "libnftnl/": "tools/redirect",
    "libmnl/": "tools/redirect",
}


def below(layer):
    """Every layer that this one may include, itself and gen/ too."""
    reached = {layer, "gen"}
    for lower in LAYERS.get(layer, "").split():
        reached |= below(lower)
    return reached


def matches(pattern, text):
    for match in pattern.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[0]


def banned_call(name, text):
    for line, call in matches(BANNED_CALL, code_of(text)):
        yield f"{name}:{line}: {call.rstrip('( ')}() is banned"


def getenv_above_conf_only(name, text):
    if not name.startswith(("src/conf/", "src/cli/")):
        for line, _ in matches(ENVIRONMENT, code_of(text)):
            yield f"{name}:{line}: only conf/ and cli/ read the environment"


def library_in_its_layer(name, text):
    for line, kind, header in includes_of(text):
        for library, owner in LIBRARIES.items():
            if kind == "<" and header.startswith(library) and not name.startswith(owner):
                yield f"{name}:{line}: only {owner} includes <{header}>"


def layer_includes(name, text):
    layer = PurePosixPath(name).parts[1]
    for line, kind, header in includes_of(text):
        if kind == "<":
            continue
        target = header.split("/")[0] if "/" in header else None
        if target is None:
            yield f"{name}:{line}: write the folder too: \"{layer}/{header}\""
        elif target not in below(layer):
            yield f"{name}:{line}: {layer}/ may not include {target}/"


def known_layer(name, text):
    layer = PurePosixPath(name).parts[1]
    if layer not in LAYERS and layer != "gen":
        yield f"{name}: src/{layer}/ is not in the list of layers"


def block_comments(name, text):
    for line, comment in comments_of(text):
        if comment.startswith("//"):
            yield f"{name}:{line}: // comment"


def short_functions(name, text):
    """Relies on the format: a function's braces stand alone in the first column."""
    start = None
    for number, line in enumerate(code_of(text).splitlines(), 1):
        if line.rstrip() == "{":
            start = number
        elif line.rstrip() == "}" and start:
            if number - start - 1 > MAX_FUNCTION_LINES:
                yield f"{name}:{start}: a function of {number - start - 1} lines"
            start = None


def c_head(name, text):
    """SPDX, then a comment that begins with the file's own name (its folder too if it likes)."""
    lines = text.splitlines() + ["", ""]
    if lines[0] != "/* SPDX-License-Identifier: Apache-2.0 */":
        yield f"{name}:1: the first line is not the SPDX line"
    head = re.match(r"/\* (\S+) - \S", lines[1])
    if not head or not f"/{name}".endswith(f"/{head[1]}"):
        yield f"{name}:2: the file's head does not begin with '/* {PurePosixPath(name).name} - …'"


def script_head(name, text):
    """SPDX in the first line, or after #!, then a comment or docstring that says what it is."""
    if not name.endswith(SCRIPTS) and not text.startswith("#!"):
        return
    lines = [line for line in text.splitlines() if not line.startswith("#!")] + ["", ""]
    if not re.match(r"(#|;) SPDX-License-Identifier: Apache-2.0$", lines[0]):
        yield f"{name}:1: no SPDX line at the top"
    if not re.match(r'(#|;) \S|"""\S', lines[1]):
        yield f"{name}:2: nothing says what this file is"


def system_python(name, text):
    if re.match(r"#!.*\bpython", text) and not text.startswith("#!/usr/bin/python3\n"):
        yield f"{name}:1: scripts begin with #!/usr/bin/python3"


def telling_name(name, text):
    words = set(re.split(r"[_.-]", PurePosixPath(name).name.lower()))
    for word in words & VAGUE_NAMES:
        yield f"{name}: '{word}' does not say what the file is about"


def finished(name, text):
    for line, word in matches(UNFINISHED, text):
        yield f"{name}:{line}: unfinished: {word}"


def clean_text(name, text):
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            yield f"{name}:{number}: blanks at the end of the line"
    if text and not text.endswith("\n"):
        yield f"{name}: no newline at the end"


C = (".c", ".h")
LONG = "static int f(void)\n{\n" + "    g();\n" * 101 + "}\n"

RULES = [
    Rule(banned_call, C, "", ("src/base/a.c", "x = strcpy(a, b);")),
    Rule(getenv_above_conf_only, C, "src/", ("src/box/a.c", 'getenv("HOME");')),
    Rule(library_in_its_layer, C, "", ("src/run/a.c", "#include <jansson.h>")),
    Rule(layer_includes, (*C, ".def"), "src/", ("src/wire/a.c", '#include "json/bind.h"')),
    Rule(layer_includes, (*C, ".def"), "src/", ("src/wire/a.c", '#include "frame.h"')),
    Rule(known_layer, C, "src/", ("src/stuff/a.c", "")),
    Rule(block_comments, C, "", ("src/base/a.c", "int a; // why\n")),
    Rule(short_functions, C, "", ("src/base/a.c", LONG)),
    Rule(c_head, C, "", ("src/base/a.c", "/* SPDX-License-Identifier: MIT */\n/* base/a.c - x */")),
    Rule(c_head, C, "", ("src/base/a.c", "/* SPDX-License-Identifier: Apache-2.0 */\n/* b.c - x */")),
    Rule(script_head, (), "", ("tests/cli/a.py", '"""What."""\n')),
    Rule(script_head, (), "", ("a/meson.build", "# SPDX-License-Identifier: Apache-2.0\nx = 1")),
    Rule(script_head, (), "", ("tools/a", "#!/bin/bash\necho\n")),
    Rule(system_python, (), "", ("tools/a", "#!/usr/bin/env python3\n")),
    Rule(telling_name, (), "", ("src/base/str_utils.c", "")),
    Rule(finished, (), "", ("src/base/a.c", "/* good enough for" + " now */")),
    Rule(finished, (), "", ("README.md", "TO" + "DO: write")),
    Rule(clean_text, (), "", ("README.md", "a \n")),
    Rule(clean_text, (), "", ("README.md", "a")),
]
