# SPDX-License-Identifier: Apache-2.0
"""The outer filter of a container, a profile in the engine's words, against the glove's own filter.

Both are made from one table (tools/filters.def) by different code, and both are read here by code of
its own: the program by an interpreter, the profile by the rules that engines apply it with.
"""
import ctypes
import itertools
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from lib import box, place

ALLOW = 0x7fff0000
ARCH_X86_64 = 0xc000003e
STRAY = 0xdeadbeef << 32
WORD = 0xffffffff

COMPARE = {
    "SCMP_CMP_EQ": lambda a, one, two: a == one,
    "SCMP_CMP_NE": lambda a, one, two: a != one,
    "SCMP_CMP_GE": lambda a, one, two: a >= one,
    "SCMP_CMP_MASKED_EQ": lambda a, one, two: a & one == two,
}

JUMP = {0x15: lambda a, k: a == k, 0x25: lambda a, k: a > k, 0x35: lambda a, k: a >= k,
        0x45: lambda a, k: a & k != 0}


@pytest.fixture(scope="module")
def header():
    build = Path(os.environ.get("GLOVEBOX_BUILD", place.binary().parent))
    return (build / "src/gen/filters.h").read_text()


def profile_in(header, macro):
    text = header.split(f"#define {macro} ", 1)[1].split("\n\n", 1)[0]
    return json.loads("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)).replace('\\"', '"'))


@pytest.fixture(scope="module")
def profile(header):
    return profile_in(header, "gb_filter_engine")


@pytest.fixture(scope="module")
def wider_profile(header):
    """Of a container whose network has rules."""
    return profile_in(header, "gb_filter_engine_rules")


@pytest.fixture(scope="module")
def program(header):
    text = header.split("gb_filter_glove[gb_filter_glove_len] = {", 1)[1].split("};", 1)[0]
    found = re.findall(r"\{ (\w+), (\w+), (\w+), (\w+) \}", text)
    return [tuple(int(word, 0) for word in insn) for insn in found]


def judge(program, nr, args):
    """What the filter answers."""
    words = {0: nr, 4: ARCH_X86_64}
    for i, value in enumerate(args):
        words[16 + 8 * i], words[20 + 8 * i] = value & WORD, value >> 32
    at = a = 0
    while True:
        code, yes, no, k = program[at]
        at += 1
        if code == 0x06:
            return k
        if code == 0x20:
            a = words[k]
        elif code == 0x54:
            a &= k
        elif code == 0x05:
            at += k
        else:
            at += yes if JUMP[code](a, k) else no


def numbers(names):
    """Those that libseccomp is too old for have their number in the table."""
    library = ctypes.CDLL("libseccomp.so.2")
    table = (place.ROOT / "tools/filters.def").read_text()
    young = {name: int(nr) for name, nr in re.findall(r"(\w+)=(\d+)", table)}
    return {name: young.get(name, library.seccomp_syscall_resolve_name(name.encode()))
            for name in names}


def is_refused(rules, args):
    return any(all(COMPARE[arg["op"]](args[arg["index"]], arg["value"], arg["valueTwo"])
                   for arg in rule.get("args") or []) for rule in rules)


def seeds(program):
    """Both sides of every constant that the filter compares with or masks by; each bit."""
    constants = {k for code, _, _, k in program if code in JUMP or code == 0x54}
    near = {value & WORD for k in constants if k < 1 << 32 for value in (k - 1, k, k + 1)}
    return sorted(value for value in near | {1 << bit for bit in range(32)} if value < 4096
                  or value.bit_count() < 4)


def rules_by_name(profile):
    found = {}
    for rule in profile["syscalls"]:
        assert rule["action"] == "SCMP_ACT_ERRNO", rule
        for name in rule["names"]:
            found.setdefault(name, []).append(rule)
    return found


def test_the_profile_refuses_what_the_filter_refuses_and_nothing_else(profile, program):
    assert profile["defaultAction"] == "SCMP_ACT_ALLOW"
    rules = rules_by_name(profile)
    ids = numbers(rules)
    by_number = {nr: name for name, nr in ids.items() if nr >= 0}
    values = seeds(program)
    pairs = [(a, b) for a in values for b in (0, 1, 3, 16, 132, 256)]
    for nr in range(480):
        name = by_number.get(nr)
        is_ruled = any(rule.get("args") for rule in rules.get(name, []))
        for a, b in pairs if is_ruled else [(0, 0), (1, 1)]:
            for args in ((a, b, b, b), (b, a, b, b), (b, b, a, b), (b, b, b, a)):
                refused = judge(program, nr, args) != ALLOW
                assert refused == is_refused(rules.get(name, []), args), (nr, name, args)


def test_the_wider_profile_lets_one_kind_of_socket_through_besides(profile, wider_profile):
    narrow, wide = rules_by_name(profile), rules_by_name(wider_profile)
    assert narrow.keys() == wide.keys()
    assert [name for name in narrow if narrow[name] != wide[name]] == ["socket", "socketpair"]
    for name, family, protocol in itertools.product(("socket", "socketpair"), range(64), range(64)):
        args = (family, 3, protocol, 0)
        is_netfilter = (family, protocol) == (16, 12)
        assert is_refused(wide[name], args) == (is_refused(narrow[name], args) and not is_netfilter), args
    for args in ((16 | STRAY, 3, 12 | STRAY, 0), (16, 3, 12 | STRAY, 0), (17 | STRAY, 3, 12, 0)):
        assert is_refused(wide["socket"], args), args


def test_high_bits_that_the_kernel_does_not_look_at_open_nothing(profile, program):
    rules = rules_by_name(profile)
    ids = numbers(rules)
    n_refused = 0
    for name, a in itertools.product(rules, seeds(program)):
        for i in range(4):
            args = [STRAY] * 4
            args[i] |= a
            if ids[name] >= 0 and judge(program, ids[name], args) != ALLOW:
                n_refused += 1
                assert is_refused(rules[name], args), (name, args)
    assert n_refused > 1000


def test_an_engine_holds_what_depends_on_arguments(docker):
    """The profile alone, around a program that has the capability and no glove."""
    process = subprocess.Popen(docker.words("echo up; sleep 1000", as_json=False),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               env=box.environment(docker.environment))
    try:
        assert process.stdout.readline() == b"up\n"
        [item] = docker.containers()
        options = docker.engine.get(f"/containers/{item['Id']}/json")["HostConfig"]["SecurityOpt"]
    finally:
        process.terminate()
        process.communicate(timeout=60)
    script = ("mkdir /a /b; mount -t tmpfs none /a && echo covered; mount --move /a /b || echo kept;"
              " mknod /a/null c 1 3 || echo no device; mknod /a/fifo p && echo fifo")
    status, data = docker.engine.ask("POST", "/containers/create", {
        "Image": docker.image, "Cmd": ["sh", "-c", script], "Tty": True,
        "HostConfig": {"SecurityOpt": [*options, "apparmor=unconfined"],
                       "CapAdd": ["SYS_ADMIN", "MKNOD"], "NetworkMode": "none"}})
    assert status == 201, data
    name = json.loads(data)["Id"]
    try:
        assert docker.engine.ask("POST", f"/containers/{name}/start")[0] == 204
        docker.engine.ask("POST", f"/containers/{name}/wait")
        said = docker.engine.ask("GET", f"/containers/{name}/logs?stdout=1&stderr=1")[1].decode()
    finally:
        docker.engine.ask("DELETE", f"/containers/{name}?force=1&v=1")
    lines = [line.strip() for line in said.splitlines()]
    assert [word for word in ("covered", "kept", "no device", "fifo") if word not in lines] == [], said
