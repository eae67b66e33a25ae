# SPDX-License-Identifier: Apache-2.0
"""What a box or a reader of its result learns about the host (I01, I03), and net none (N01)."""
import os
import re
import shutil
import socket
import subprocess

import sheet as sheets
from lib import box, kept, ledger as books, pace, place as places

EVERYTHING = """
for name in mountinfo mounts mountstats maps smaps cgroup cmdline environ status stat statm limits \
    uid_map gid_map net/unix net/tcp net/dev net/route net/fib_trie sched comm io autogroup \
    attr/current timers cpuset oom_score_adj loginuid sessionid; do
    echo "== $name"; cat /proc/self/$name 2>&1
done
for name in locks sysvipc/shm sysvipc/msg sysvipc/sem keys swaps partitions diskstats consoles \
    tty/drivers fs/nfs version cmdline modules mounts; do
    echo "== /proc/$name"; cat /proc/$name 2>&1
done
for dir in / /proc/self/fd /proc/self/ns /proc/self/map_files /tmp /run /var /home /dev /dev/pts /dev/shm \
    /workspace /mnt /opt /root /srv; do echo "== $dir"; ls -la $dir 2>&1; done
for link in cwd root exe; do readlink /proc/self/$link; done
hostname; uname -a; id; set; who; cat /etc/hosts /etc/resolv.conf /etc/passwd /etc/group
df; ls -la /proc/[0-9]*
"""


# Numbers that the kernel tells of whoever is at the other end, and of locks that others hold.
PEERS = """
import fcntl, glob, os, socket, struct
print("owner of a lock", struct.unpack("hhqqi4x", fcntl.fcntl(os.open("/usr/bin/env", os.O_RDONLY), fcntl.F_GETLK,
      struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 0, 0)))[4])
for fd in range(3):
    try:
        with socket.socket(fileno=os.dup(fd)) as stream:
            print("peer", struct.unpack("3i", stream.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0])
    except OSError:
        print("no socket")
    print("signals of it go to", fcntl.fcntl(fd, fcntl.F_GETOWN))
    print("it leads to", os.readlink(f"/proc/self/fd/{fd}"))
for name in sorted(glob.glob("/proc/self/fdinfo/*") + glob.glob("/sys/fs/cgroup/*/*") + glob.glob("/sys/fs/cgroup/*/*/*")
                   + glob.glob("/proc/self/net/*") + glob.glob("/proc/self/task/*/*")):
    try:
        with open(name, errors="replace") as file:
            print(name, file.read(100000))
    except OSError as error:
        print(name, error.strerror)
try:
    os.getxattr("/workspace", "trusted.overlay.origin")
except OSError as error:
    print(error)
for path in ("/", "/usr", "/workspace", "/tmp", "/dev/shm"):
    print(path, [(name, os.getxattr(path, name)) for name in os.listxattr(path)])
"""
TELL = f"import subprocess\nsubprocess.run(['bash', '-c', {EVERYTHING!r}])\n" + PEERS


def known_to_the_host_alone(place, user):
    """Words that would say where a box lives, and who keeps it."""
    words = {
        "place of the test": str(place.base),
        "source tree": str(places.ROOT),
        "program": str(places.binary()),
        "group": books.group_prefix(place.run),
        "group of the user": "glovebox-user-",
        "overlay": "lowerdir=/",
        "memfd": "memfd:glovebox",
    }
    if user is not None:
        words.update({"user name": user.name, "home": user.home})
    return words


def judge(text, place, user, canaries, **more):
    assert len(text) > 20000 and "owner of a lock" in text, text
    assert canaries.found_in(text) == []
    words = {**known_to_the_host_alone(place, user), **more}
    found = {name: text[max(text.index(word) - 100, 0):][:200] for name, word in words.items() if word in text}
    assert not found, found
    assert not re.search(rf"(?<![\w./-]){re.escape(socket.gethostname())}(?![\w/-])", text), "the host's name"


def test_I03_no_host_path_no_host_pid_no_name(canaries, host_user, place):
    """Everything a program can list about itself, searched for what only the host knows."""
    result = box.run(TELL, language="python", as_user=host_user, host_env=canaries.environment)
    assert result.verdict == "ok", result
    judge(result.stdout + result.stderr, place, host_user, canaries)


def test_I03_nor_where_a_workspace_and_a_toolchain_come_from(canaries, host_user, place):
    """The tree's own name is the operator's to give; what else lies beside it is not shown, nor the file
    system that it is on."""
    folder, tree = place.cwd / "secret-name-of-a-project", sheets.private_folder(below="/srv")
    try:
        (tree / "bin").mkdir()
        (tree.parent / f"{tree.name}-beside").mkdir()
        folder.mkdir()
        if host_user is not None:
            place.give_to(host_user)
        result = box.run(TELL, language="python", workspace=folder, toolchains=[tree], as_user=host_user,
                         host_env=canaries.environment)
        assert result.verdict == "ok" and str(tree) in result.stdout, result
        judge(result.stdout + result.stderr, place, host_user, canaries, workspace=folder.name,
              beside=f"{tree.name}-beside")
    finally:
        (tree.parent / f"{tree.name}-beside").rmdir()
        shutil.rmtree(tree)


def test_I03_nor_of_other_boxes_in_one_that_lives_on(canaries, host_user, place):
    """Names, ids and pids of a box that lives beside it, and of its own keeper."""
    with kept.made(as_user=host_user) as other, kept.made(as_user=host_user) as own:
        with kept.started(other, "echo ready; exec cat", as_user=host_user) as living:
            living.expect(b"ready")
            result = kept.call("run", own, "--json", "-l", "python", "-c", TELL, as_user=host_user)
            pids = [process.pid for keeper in kept.keepers() for process in (keeper, *kept.inside(keeper))]
            living.end()
    assert result.verdict == "ok" and "/sys/fs/cgroup/memory/" in result.stdout, result
    text = result.stdout + result.stderr
    judge(text, place, host_user, canaries, other=other, own=own, state=str(kept.state_dir()))
    numbers = set(map(int, re.findall(r"\b(?:Pid|PPid|Tgid|NSpid|TracerPid|peer|go to|of a lock):?\s+(\d+)", text)))
    assert numbers and max(numbers) < 400 and not [pid for pid in pids if pid > 400 and pid in numbers], numbers


def test_I03_pids_are_the_boxs_own():
    code = "grep -E '^(Pid|PPid|NSpid|NSpgid|NSsid|Tgid|TracerPid):' /proc/self/status; " \
           "cut -d' ' -f1-8 /proc/self/stat; ps -e -o pid= 2>/dev/null; echo $$ $PPID"
    result = box.run(code, language="sh")
    assert result.verdict == "ok", result
    numbers = [int(word) for word in re.findall(r"\b\d+\b", result.stdout)]
    assert numbers and max(numbers) < 200, result.stdout
    assert all(len(line.split()) == 2 for line in result.stdout.splitlines()
               if line.startswith("NSpid"))


def test_I03_the_result_names_no_path_of_the_host(place):
    result = box.run("echo hello", language="sh")
    for word in (str(place.base), str(places.ROOT), f'"{socket.gethostname()}"'):
        assert word not in result.out.decode()


def test_I03_error_texts_of_the_box_name_no_path_of_the_host(place):
    """A compiler's, an interpreter's and the kernel's messages show the box's own names."""
    for language, code in (("python", "1/0"), ("c", "int main(void) { return x; }"),
                           ("javascript", "throw new Error('x')"), ("perl", "die 'x'"),
                           ("bash", "nonexistent-command")):
        result = box.run(code, language=language)
        assert result.verdict == "nonzero", result
        for word in (str(place.base), str(places.ROOT), str(place.run)):
            assert word not in result.stdout + result.stderr, (language, result)


def test_I01_arguments_of_the_caller_are_not_in_the_box(canaries, host_user):
    """The command line of glovebox names host files; a box sees only its own."""
    code = "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ | tr '\\0' '\\n'; ps axe 2>/dev/null; " \
           "cat /proc/1/cmdline /proc/1/environ /proc/1/comm"
    result = box.run(code, language="sh", as_user=host_user,
                     host_env={**canaries.environment, "SSH_AUTH_SOCK": "/tmp/" + canaries.token("ssh"),
                               "LD_LIBRARY_PATH": "/" + canaries.token("library")})
    assert canaries.found_in(result.out, result.err) == [], result
    assert "glovebox" not in result.stdout


def test_I01_given_variables_arrive_and_no_others(canaries):
    result = box.run("env | cut -d= -f1 | sort", language="sh", env={"GIVEN": "1"},
                     host_env=canaries.environment)
    names = set(result.stdout.split()) - {"_", "OLDPWD", "SHLVL"}
    assert names == set(sheets.golden("environment.txt")) - {"_", "OLDPWD", "SHLVL"} | {"GIVEN"}


def test_I01_errors_of_glovebox_hide_values(canaries):
    """A wrong option next to a secret one: the message must not print the secret."""
    secret = canaries.token("option")
    result = box.run("true", language="sh", env={"API_KEY": secret}, memory="-5")
    assert result.returncode in (2, 125)
    assert canaries.found_in(result.out, result.err) == []


def test_I01_memory_is_clean(probe):
    """Pages given to a program have nothing of others in them: mmap, brk, stack, files, pipes."""
    code = """
import mmap, os
size = 32 << 20
memory = mmap.mmap(-1, size)
print(memory.read() == bytes(size))
fd = os.open("/tmp/hole", os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, size)
print(os.read(fd, size) == bytes(size))
fd = os.memfd_create("x")
os.ftruncate(fd, 1 << 20)
print(os.read(fd, 1 << 20) == bytes(1 << 20))
"""
    result = box.run(code, language="python")
    assert result.stdout == "True\n" * 3, result


# ---- N01 -------------------------------------------------------------------------------------------

def test_N01_names_fail_fast():
    code = """
import socket, time
for name in ("example.com", "localhost.localdomain", "host.docker.internal", "metadata.google.internal"):
    start = time.monotonic()
    try:
        print(name, socket.getaddrinfo(name, 80))
    except OSError as error:
        print("refused")
    print("slow" if time.monotonic() - start > %s else "fast")
print(socket.gethostbyname("localhost"))
""" % pace.within(0.1)
    result = box.run(code, language="python")
    assert result.stdout == "refused\nfast\n" * 4 + "127.0.0.1\n", result


def test_N01_servers_of_the_box_are_not_on_the_host(place):
    """A port that a box listens on, on all its addresses, is free on the host: one that nobody gets by chance."""
    code = """
import socket, sys
for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
    server = socket.socket(family)
    if family == socket.AF_INET6:
        server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    server.bind((address, 27999))
    server.listen()
    globals()[address] = server
print("ready", flush=True)
sys.stdin.read()
"""
    with box.start(code, language="python") as living:
        living.expect(b"ready")
        for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            with socket.socket(family) as client:
                assert client.connect_ex((address, 27999)) != 0
        living.end()


FLOOD = """
import socket
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(20000):
    try:
        out.sendto(b"x" * 1000, ("127.0.0.1", 9))
    except OSError:
        pass
"""
# The machine's own network for the command, with nobody else in it; counted before, behind the box, and behind the same
# flood without one.
COUNTED = """
ip link set lo up && cat /proc/net/dev >before && "$@" && cat /proc/net/dev >behind &&
/usr/bin/python3 -c "$FLOOD" && cat /proc/net/dev >outside
"""


def test_N01_the_hosts_interfaces_see_nothing(place):
    """Counters of the host's loopback do not move by what a box sends to 127.0.0.1."""
    def received(name):
        line, = (line for line in (place.cwd / name).read_text().splitlines() if line.strip().startswith("lo:"))
        return int(line.split()[1])

    words = box.command(FLOOD, language="python")
    result = box.run_words(["unshare", "--net", "/bin/sh", "-c", COUNTED, "sh", *words], host_env={"FLOOD": FLOOD})
    assert (result.verdict, result.returncode) == ("ok", 0), result
    assert received("behind") == received("before")
    assert received("outside") - received("behind") > 10_000_000


def test_N01_only_loopback_exists(host_user):
    result = box.run("ls /sys/class/net; cut -d: -f1 /proc/net/dev; cat /proc/net/route "
                     "/proc/net/ipv6_route /proc/net/arp", language="sh", as_user=host_user)
    text = result.stdout
    assert "lo" in text.split(), result
    for device in os.listdir("/sys/class/net"):
        if device != "lo":
            assert device not in text, text
    gateway = subprocess.run(["ip", "route"], capture_output=True, text=True).stdout
    assert "default" not in gateway or gateway.split()[2] not in text
