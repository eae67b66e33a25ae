# SPDX-License-Identifier: Apache-2.0
"""libglovebox as it is installed: its files, its names, and a program that is built with it."""
import os
import re
import subprocess

import pytest

from lib import place as places

BUILD = os.environ.get("GLOVEBOX_BUILD", str(places.ROOT / "build"))
HEADER = places.ROOT / "include" / "glovebox.h"
EXAMPLES = places.ROOT / "examples"
NODES = {"GLOVEBOX_0.1", "GLOVEBOX_0.2"}
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def tool(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


class Installed:
    """What `meson install` put below a directory of its own."""

    def __init__(self, base):
        tool("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", base)
        (pc,) = base.rglob("glovebox.pc")
        self.libdir = pc.parent.parent
        (self.include,) = {path.parent for path in base.rglob("glovebox.h")}
        self.prefix = self.include.parent
        self.env = {**os.environ, "PKG_CONFIG_PATH": str(pc.parent)}

    def config(self, *options):
        return tool("pkg-config", f"--define-variable=prefix={self.prefix}", *options, "glovebox",
                    env=self.env).split()


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return Installed(tmp_path_factory.mktemp("installed"))


def declared():
    return set(re.findall(r"GLOVEBOX_API [^;]*?\b(glovebox_\w+)\(", HEADER.read_text()))


def names(*words):
    """Defined symbols as nm tells them, without their versions."""
    lines = tool("nm", "--defined-only", *words).splitlines()
    return {line.split()[2] for line in lines if re.match(r"[0-9a-f]+ [A-Z] ", line)}


def test_the_shared_library_exports_what_the_header_declares_and_nothing_else(installed):
    found = names("-D", installed.libdir / "libglovebox.so.0")
    versions = dict(name.split("@@") for name in found if "@" in name)
    assert {name.split("@")[0] for name in found} - NODES == declared()
    assert set(versions.values()) == NODES and set(versions) == declared()
    assert (versions["glovebox_exec"], versions["glovebox_log_open"]) == ("GLOVEBOX_0.1", "GLOVEBOX_0.2")


def test_the_static_library_has_no_other_global_names(installed):
    assert names("-g", installed.libdir / "libglovebox.a") == declared()


def test_a_name_that_leaks_is_found(tmp_path):
    (tmp_path / "leak.c").write_text("int box_open(void);\nint box_open(void)\n{\n    return 0;\n}\n")
    tool("cc", "-shared", "-fPIC", tmp_path / "leak.c", "-o", tmp_path / "leak.so")
    assert "box_open" in names("-D", tmp_path / "leak.so")


def test_the_library_is_hardened_and_needs_little(installed):
    dynamic = tool("readelf", "-dW", installed.libdir / "libglovebox.so.0")
    assert set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)) <= {"libc.so.6", "libjansson.so.4"}
    assert re.search(r"SONAME.*\[libglovebox\.so\.0\]", dynamic)
    assert re.search(r"\bNOW\b", dynamic) and "TEXTREL" not in dynamic


def test_pkg_config_names_the_version_of_the_command(installed):
    (version,) = installed.config("--modversion")
    assert version in tool(places.binary(), "version")


def compile_example(installed, output, *link, name="run_in_box.c"):
    tool("cc", "-std=c99", *WARNINGS, EXAMPLES / name, *installed.config("--cflags"), *link, "-o", output)
    return output


def expect_example(program, env):
    said = tool(program, env={**os.environ, **env})
    assert "hello from a box, world\n" in said
    assert "one run: nonzero, exit code 3" in said
    assert said.endswith("upper:\nA\nB\n")


def test_the_example_runs_with_the_shared_library(installed, tmp_path):
    program = compile_example(installed, tmp_path / "shared", *installed.config("--libs"))
    expect_example(program, {"LD_LIBRARY_PATH": str(installed.libdir)})


def test_the_example_of_a_users_box_finds_it_again(installed, tmp_path, place):
    program = compile_example(installed, tmp_path / "user", *installed.config("--libs"), name="user_box.c")
    env = {**os.environ, "LD_LIBRARY_PATH": str(installed.libdir), "GLOVEBOX_STATE_DIR": str(place.base / "state")}
    script = "echo hello >> diary; cat diary"
    assert tool(program, "ann", script, env=env) == "hello\n"
    assert tool(program, "ann", script, env=env) == "hello\nhello\n"
    assert re.fullmatch(r"hello\nhello\nrun r_\w+, 12 bytes\n", tool(program, "ann", env=env))
    assert tool(program, "--remove", "ann", env=env) == ""


def test_the_example_runs_with_the_static_library(installed, tmp_path):
    """Beside a program's own functions of the names that the library has inside."""
    (tmp_path / "own.c").write_text("int box_open(void);\nint box_open(void)\n{\n    return 0;\n}\n")
    libs = [word for word in installed.config("--libs", "--static") if word != "-lglovebox"]
    program = compile_example(installed, tmp_path / "static", tmp_path / "own.c",
                              installed.libdir / "libglovebox.a", *libs)
    assert "libglovebox" not in tool("readelf", "-dW", program)
    expect_example(program, {})


def test_the_header_is_plain_c_and_cxx(installed):
    for language, standard in (("c", "c99"), ("c++", "c++11")):
        tool("gcc", "-x", language, f"-std={standard}", *WARNINGS, "-fsyntax-only",
             f"-I{installed.include}", "-", input="#include <glovebox.h>\n#include <glovebox.h>\n")
