# SPDX-License-Identifier: Apache-2.0
"""What the built programs are: libraries, hardening, size.  readelf and objdump say so.

Each check is also shown a program that was built to break it.
"""
import re
import subprocess

import pytest
from tree import BUILD

NEEDED = {"libc.so.6", "libjansson.so.4"}
STATIC_BYTES = 200_000
GLOVEBOX = BUILD / "glovebox"
STATIC = {name: BUILD / "src" / "embed" / name for name in ("glove", "spawner")}
SOURCE = '#include <stdio.h>\nint main(int c, char **v)\n{\n    return printf("%s", v[0]) < c;\n}\n'


def tool(*command):
    return subprocess.run(
        [str(word) for word in command], check=True, capture_output=True, text=True
    ).stdout


def needed(program):
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", tool("readelf", "-dW", program)))


def is_pie(program):
    return bool(re.search(r"Type:\s+DYN", tool("readelf", "-hW", program)))


def has_interpreter(program):
    return "INTERP" in tool("readelf", "-lW", program)


def has_relro(program):
    return "GNU_RELRO" in tool("readelf", "-lW", program)


def binds_now(program):
    return bool(re.search(r"\bNOW\b", tool("readelf", "-dW", program)))


def has_plain_stack(program):
    return bool(re.search(r"GNU_STACK.*\bRW ", tool("readelf", "-lW", program)))


def has_canaries(program):
    """By the code itself, because a stripped static program has no symbols left."""
    return bool(re.search(r"%fs:0x28|__stack_chk_guard", tool("objdump", "-d", program)))


def is_fortified(program):
    return bool(re.search(r"__(?!stack)\w+_chk@", tool("readelf", "--dyn-syms", "-W", program)))


HARDENING = [is_pie, has_relro, binds_now, has_plain_stack, has_canaries]


@pytest.fixture(scope="module")
def soft(tmp_path_factory):
    """A program without any of it."""
    folder = tmp_path_factory.mktemp("soft")
    (folder / "soft.c").write_text(SOURCE)
    tool("gcc", "-O2", "-no-pie", "-fno-stack-protector", "-U_FORTIFY_SOURCE", "-Wl,-z,norelro",
         "-Wl,-z,lazy", "-Wl,-z,execstack", "-Wl,--no-as-needed", folder / "soft.c", "-lm",
         "-o", folder / "soft")
    return folder / "soft"


def test_glovebox_needs_two_libraries():
    assert needed(GLOVEBOX) <= NEEDED


def test_a_third_library_is_found(soft):
    assert not needed(soft) <= NEEDED


@pytest.mark.parametrize("check", [*HARDENING, is_fortified], ids=lambda check: check.__name__)
def test_glovebox(check):
    assert check(GLOVEBOX)


@pytest.mark.parametrize("check", HARDENING, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", STATIC)
def test_static_program(name, check):
    assert check(STATIC[name])


@pytest.mark.parametrize("check", [*HARDENING, is_fortified], ids=lambda check: check.__name__)
def test_hardening_check_can_fail(soft, check):
    assert not check(soft)


@pytest.mark.parametrize("name", STATIC)
def test_static_program_needs_nothing(name):
    assert not has_interpreter(STATIC[name])
    assert needed(STATIC[name]) == set()


def test_an_interpreter_is_found(soft):
    assert has_interpreter(soft)


@pytest.mark.parametrize("name", STATIC)
def test_static_program_is_small(name):
    assert STATIC[name].stat().st_size < STATIC_BYTES


def test_glovebox_carries_the_spawner():
    assert STATIC["spawner"].read_bytes() in GLOVEBOX.read_bytes()
