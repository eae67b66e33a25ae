# SPDX-License-Identifier: Apache-2.0
"""Honest work in a box: what people do all day must not meet a wall.

Each row is a small project and the commands that its author would type.  No system call that such
work needs is answered with SIGSYS, also not in a child whose end nobody looks at.
"""
import shutil

import pytest

from lib import box

C_MAIN = '#include <stdio.h>\nint twice(int);\nint main(void) { printf("%d\\n", twice(21)); return 0; }\n'
C_TWICE = "int twice(int n) { return 2 * n; }\n"
MAKEFILE = "prog: main.o twice.o\n\t$(CC) -o $@ $^\n%.o: %.c\n\t$(CC) -O2 -g -c $<\n"
OVERFLOW = "#include <stdlib.h>\nint main(void) { volatile char *p = malloc(8); p[8] = 1; return 0; }\n"
LEAK = "#include <stdlib.h>\nint main(void) { volatile char *p = malloc(8); p[0] = 1; p = NULL; return 0; }\n"
CRASH = "static void fall(int *at) { *at = 1; }\nint main(void) { fall((int *)8); return 0; }\n"
UNITTEST = ("import unittest\nfrom code_of_mine import twice\n"
            "class Test(unittest.TestCase):\n    def test(self):\n        self.assertEqual(twice(21), 42)\n")
PYTEST = "from code_of_mine import twice\ndef test_twice(tmp_path):\n    assert twice(21) == 42\n"
TWICE = "def twice(n):\n    return 2 * n\n"
NODE = ("const test = require('node:test'), assert = require('node:assert');\n"
        "test('twice', () => assert.strictEqual(2 * 21, 42));\n")
PARALLEL = """
import asyncio, multiprocessing, sqlite3, subprocess, threading
def square(n):
    return n * n
async def echo():
    child = await asyncio.create_subprocess_exec("echo", "child", stdout=subprocess.PIPE)
    return (await child.communicate())[0]
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        assert pool.map(square, range(5)) == [0, 1, 4, 9, 16]
    assert asyncio.run(echo()) == b"child\\n"
    thread = threading.Thread(target=lambda: None)
    thread.start(); thread.join()
    table = sqlite3.connect("file.db")
    table.execute("create table t (n)"); table.execute("insert into t values (42)"); table.commit()
    print(table.execute("select n from t").fetchone()[0])
"""
GIT = """
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q -b main one && cd one && echo text >file && git add file && git commit -q -m first && cd ..
git clone -q one two && cd two && git checkout -q -b topic && echo more >>file && git commit -q -a -m second
git rebase -q main && git gc -q && git fsck --no-progress && git log --oneline | wc -l
"""
TAR = """
mkdir -p tree/deep && echo text >tree/deep/file && ln -s file tree/deep/link && ln tree/deep/file tree/hard
tar -czf tree.tgz tree && mv tree old && tar -xzf tree.tgz && diff -r tree old && readlink tree/deep/link
"""

# name -> (program that it needs, files, commands, part of what is printed)
WORK = {
    "make": ("make", {"Makefile": MAKEFILE, "main.c": C_MAIN, "twice.c": C_TWICE}, "make -j2 && ./prog", "42"),
    "unittest": ("/usr/bin/python3", {"code_of_mine.py": TWICE, "test_it.py": UNITTEST},
                 "python3 -m unittest 2>&1", "OK"),
    "pytest": ("/usr/lib/python3/dist-packages/pytest/__init__.py",
               {"code_of_mine.py": TWICE, "test_it.py": PYTEST}, "python3 -m pytest -q", "1 passed"),
    "python in parallel": ("/usr/bin/python3", {"many.py": PARALLEL}, "python3 many.py", "42"),
    "node --test": ("/usr/bin/node", {"a.test.js": NODE}, "node --test", "pass 1"),
    "git": ("git", {}, GIT, "2"),
    "tar": ("tar", {}, TAR, "file"),
    "address sanitizer": ("gcc", {"main.c": C_MAIN, "twice.c": C_TWICE},
                          "gcc -fsanitize=address,undefined -o prog main.c twice.c && ./prog", "42"),
    "an overflow found": ("gcc", {"a.c": OVERFLOW},
                          "gcc -g -fsanitize=address -o prog a.c && ! ./prog 2>&1", "heap-buffer-overflow"),
    # It traces its own threads to look at their memory.
    "a leak found": ("gcc", {"a.c": LEAK}, "gcc -g -fsanitize=address -o prog a.c && ! ./prog 2>&1",
                     "detected memory leaks"),
    "gdb": ("gdb", {"a.c": CRASH}, "gcc -g -o prog a.c && gdb -q -batch -ex run -ex bt ./prog 2>&1",
            "fall (at=0x8)"),
    "strace": ("strace", {}, "strace -f -o trace sh -c 'cat /etc/hostname; true' && grep -c 'exited with 0' trace", "2"),
    "find and sort": ("find", {}, "find /usr/share/doc -name copyright | xargs -P2 -n50 cat | sort | uniq -c "
                                  "| sort -rn | head -n 1 | wc -l", "1"),
}


@pytest.mark.parametrize("name", WORK)
def test_honest_work_meets_no_wall(place, name):
    program, files, commands, part = WORK[name]
    if not shutil.which(program) and not program.endswith(".py"):
        pytest.fail(f"{program} is not installed: tools/deps check")
    for path, text in files.items():
        (place.cwd / path).write_text(text)
    result = box.run(commands, language="sh", files=[(place.cwd / path, path) for path in files], timeout=60)
    told = f"{result.stdout}{result.stderr}"
    assert result.verdict == "ok" and part in told, result
    assert "Bad system call" not in told and "SIGSYS" not in told, result
    assert result.survivors == 0 and not result.events, result
