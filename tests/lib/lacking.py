# SPDX-License-Identifier: Apache-2.0
"""A machine that lacks one thing: words to put in front of a command, which then finds it missing.

without_namespaces() lowers a setting of the kernel in a user namespace in which every id is itself.
refusing() has the kernel answer system calls with an errno, for the command and all that it starts.
read_only(), covered(), without_v2() and without_v1() change a mount, for the command alone.
"""
import errno

PYTHON = "/usr/bin/python3"

NESTED = """
import ctypes, os, sys
NEWUSER, NEWNS = 0x10000000, 0x20000
libc = ctypes.CDLL(None)
go_read, go_write = os.pipe()
done_read, done_write = os.pipe()
pid = os.fork()
if pid == 0:
    if libc.unshare(NEWUSER | NEWNS) != 0:
        os._exit(99)
    os.write(done_write, b"x")
    os.read(go_read, 1)
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    with open("/proc/sys/user/" + sys.argv[1], "w") as knob:
        knob.write(sys.argv[2])
    os.execv(sys.argv[3], sys.argv[3:])
os.read(done_read, 1)
for name in ("uid_map", "gid_map"):
    with open(f"/proc/{pid}/{name}", "w") as map:
        map.write("0 0 4294967295")
os.write(go_write, b"x")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""

# Each rule is NUMBER or NUMBER:ARGUMENT:VALUE; what it matches fails with the errno.
FILTERED = """
import ctypes, os, struct, sys
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ARCH, X86_64, ERRNO, ALLOW = 4, 0xC000003E, 0x00050000, 0x7FFF0000
SET_SECCOMP, FILTER = 22, 2
program = [(LOAD, 0, 0, ARCH), (EQUAL, 1, 0, X86_64), (RETURN, 0, 0, ALLOW)]
for rule in sys.argv[2].split(","):
    number, *argument = map(int, rule.split(":"))
    program += [(LOAD, 0, 0, 0), (EQUAL, 0, 3 if argument else 1, number)]
    if argument:
        program += [(LOAD, 0, 0, 16 + 8 * argument[0]), (EQUAL, 0, 1, argument[1])]
    program.append((RETURN, 0, 0, ERRNO | int(sys.argv[1])))
program.append((RETURN, 0, 0, ALLOW))
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
head = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(SET_SECCOMP, FILTER, head, 0, 0) != 0:
    raise OSError(ctypes.get_errno(), "prctl(PR_SET_SECCOMP)")
os.execv(sys.argv[3], sys.argv[3:])
"""

# Calls of x86-64, some with the argument that makes them one call of several.
CALLS = {
    "capset": "126",
    "seccomp": "317",
    "landlock_create_ruleset": "444",
    "landlock_restrict_self": "446",
    "prctl(PR_SET_NO_NEW_PRIVS)": "157:0:38",
    "mount": "165",
}


def without_namespaces(setting, value, *words):
    return [PYTHON, "-c", NESTED, setting, str(value), *map(str, words)]


def refusing(call, error, *words):
    """error: the name of an errno."""
    return [PYTHON, "-c", FILTERED, str(getattr(errno, error)), CALLS[call], *map(str, words)]


def _apart(script, *words):
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", f'{script} && shift 2 && exec "$@"',
            "sh", *map(str, words)]


def read_only(mount, *words):
    return _apart('mount -o remount,bind,ro "$1"', mount, "-", *words)


def covered(cover, path, *words):
    """Another file lies on the path."""
    return _apart('mount --bind "$1" "$2"', cover, path, *words)


def without_v2(*words):
    """Only v1 groups: an empty directory lies on the v2 tree of a hybrid machine."""
    return _apart('mount -t tmpfs -o size=4k "$1" "$2"', "none", "/sys/fs/cgroup/unified", *words)


def without_v1(*words):
    """Only the v2 tree, where a machine without v1 has it.  The controllers stay v1's, so that there are none."""
    return _apart('mount --bind "$1" "$2"', "/sys/fs/cgroup/unified", "/sys/fs/cgroup", *words)
