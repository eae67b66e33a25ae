# SPDX-License-Identifier: Apache-2.0
"""The files of the project, and C text without its comments and strings."""
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("GLOVEBOX_BUILD", ROOT / "build"))

# A string and a character constant are tokens here so that "//" inside them is no comment.
TOKEN = re.compile(
    r"""/\*.*?\*/ | //[^\n]* | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' """, re.DOTALL | re.VERBOSE
)


def files(*suffixes, below=""):
    """Paths relative to ROOT of what git tracks or would, or of all where there is no git."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True
    )
    if listing.returncode == 0:
        names = [os.fsdecode(name) for name in listing.stdout.split(b"\0") if name]
    else:
        names = [
            os.path.relpath(os.path.join(folder, name), ROOT)
            for folder, folders, found in os.walk(ROOT)
            for name in found
            if not os.path.relpath(folder, ROOT).startswith(("build", ".git"))
        ]
    return sorted(
        name
        for name in set(names)
        if name.startswith(below)
        and (not suffixes or name.endswith(suffixes))
        and (ROOT / name).is_file()
    )


def read(name):
    return (ROOT / name).read_text(encoding="utf-8", errors="replace")


def code_of(text):
    """C text with comments and literals blanked; line numbers stay true."""

    def blank(match):
        token = match[0]
        kept = token[0] + token[-1] if token[0] in "\"'" else ""
        return kept + "\n" * token.count("\n") if kept else re.sub(r"[^\n]", " ", token)

    return TOKEN.sub(blank, text)


def comments_of(text):
    """(line, comment) of each comment in C text."""
    for match in TOKEN.finditer(text):
        if match[0].startswith("/"):
            yield text.count("\n", 0, match.start()) + 1, match[0]


def includes_of(text):
    """(line, kind, name) of each #include; kind is '<' or '"'."""
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if match:
            yield number, match[1], match[2]
