# SPDX-License-Identifier: Apache-2.0
"""C06 for image `host`: a machine whose own directories and files are not what they should be.

The machine's root is covered by an overlay in a mount namespace of the command; what is odd lies in
its upper layer.  A box starts or is refused with a reason, at once; nothing is made or changed in
that root.  A link of the machine's own is followed, as its programs follow it (NixOS has such), and shows
what everybody on it may read, never more.
"""
import pytest

from lib import box

# Below the new root, in which names of the machine are as ever: what is odd, and what is expected.
STARTS, REFUSED, EITHER = {0}, {125}, {0, 125}
ODD = {
    "nothing": (":", STARTS),
    "bin is a directory": ("rm bin; mkdir bin; cp -a usr/bin/dash bin/sh", STARTS),
    "bin is a file": ("rm bin; echo x >bin", EITHER),
    "bin is a pipe": ("rm bin; mkfifo bin", EITHER),
    "bin leads elsewhere": ("rm bin; ln -s {secret} bin", EITHER),
    "lib32 leads to itself": ("rm -f lib32; ln -s lib32 lib32", EITHER),
    "libx32 leads out": ("rm -f libx32; ln -s usr/../../../..{secret} libx32", STARTS),
    "sbin is gone": ("rm sbin", STARTS),
    "localtime leads to a secret": ("rm -f etc/localtime; ln -s {secret}/secret etc/localtime", EITHER),
    "localtime is a directory": ("rm -f etc/localtime; mkdir etc/localtime", EITHER),
    "localtime dangles": ("rm -f etc/localtime; ln -s /nonexistent etc/localtime", STARTS),
    "alternatives is a pipe": ("rm -r etc/alternatives; mkfifo etc/alternatives", EITHER),
    "alternatives leads to a secret": ("rm -r etc/alternatives; ln -s {secret} etc/alternatives", EITHER),
    "services is a device": ("rm -f etc/services; mknod etc/services c 1 1", EITHER),
    "services is a socket": ("rm -f etc/services; {socket} etc/services", EITHER),
    "services leads to PID 1": ("rm -f etc/services; ln -s /proc/1/environ etc/services", EITHER),
    "certificates are a file": ("rm -r etc/ssl/certs; echo x >etc/ssl/certs", EITHER),
    "ssl leads elsewhere": ("rm -r etc/ssl; ln -s {secret} etc/ssl", EITHER),
    "jvm is a pipe": ("rm -rf usr/lib/jvm; mkfifo usr/lib/jvm", STARTS),
    "java's settings are a loop": ("mkdir -p usr/lib/jvm/java-99-x; rm -rf etc/java-99; ln -s java-99 etc/java-99", EITHER),
    "etc is a link": ("mv etc real; ln -s real etc", STARTS),
    "null is a file": ("rm dev/null; echo x >dev/null", REFUSED),
    "null is another device": ("rm dev/null; mknod -m 666 dev/null c 1 1", REFUSED),
    "null leads elsewhere": ("rm dev/null; ln -s {secret}/readable dev/null", REFUSED),
    "null is a pipe": ("rm dev/null; mkfifo dev/null", REFUSED),
    "tty is a disk": ("rm dev/tty; mknod -m 666 dev/tty b 254 0", REFUSED),
    "urandom is gone": ("rm dev/urandom", REFUSED),
    "zero is a directory": ("rm dev/zero; mkdir dev/zero", REFUSED),
}

# Upper layer, work and root of the overlay on a tmpfs; /dev one of its own; all else bound.  A directory is
# renamed there and not copied: others make and remove files in the machine's own /etc at the same time.
PREPARE = """
set -e
mount -t tmpfs none /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay none -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work,redirect_dir=on /mnt/root
cd /mnt/root
mount -t tmpfs none dev
for name in null zero full random urandom tty; do cp -a /dev/$name dev/$name; done
for name in proc sys tmp var run root; do mount --rbind /$name $name; done
eval "$ODD"
mount --bind /mnt mnt
pivot_root . mnt/root
cd /
find /mnt/upper /dev | sort >/mnt/before
set +e
"$@" </dev/zero
status=$?
find /mnt/upper /dev | sort | cmp - /mnt/before || echo root was changed
exit $status
"""
LOOK = ("echo started; for place in /bin /lib32 /libx32 /etc/ssl /etc/alternatives /etc/localtime; do "
        "cat $place/secret $place/readable; done; cat /etc/services /etc/localtime /etc/ssl/certs | head -c 100000")
SOCKET = "/usr/bin/python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])'"


@pytest.mark.parametrize("name", ODD)
def test_C06_a_machine_that_is_odd(name, canaries, place):
    odd, expected = ODD[name]
    words = box.command(LOOK, language="sh", timeout=10, as_json=False)
    odd = odd.replace("{secret}", str(canaries.base)).replace("{socket}", SOCKET)
    result = box.run_words(["unshare", "--mount", "--propagation", "private", "/bin/bash", "-c", PREPARE, "bash", *words],
                           host_env={"ODD": odd, **canaries.environment}, outer=30)
    assert not result.hung and b"root was changed" not in result.out, result
    assert set(canaries.found_in(result.out, result.err)) <= {"readable"}, result
    if b"started" in result.out:
        assert 0 in expected and b"root:" not in result.out, result
    else:
        assert 125 in expected and (result.returncode, result.err.startswith(b"glovebox: ")) == (125, True), result
