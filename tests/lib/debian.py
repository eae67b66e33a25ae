# SPDX-License-Identifier: Apache-2.0
"""Images out of the Debian packages that this machine has: no registry, no mirror is asked."""
import io
import os
import subprocess
import tarfile
from pathlib import Path

from lib import engines

# What an image takes of a package, and what would only be in its way.
TAKEN = ("/usr/bin/", "/usr/lib/", "/lib/", "/bin/")
LEFT = ("EXTERNALLY-MANAGED", "__pycache__")
FOLDERS = ("usr", "usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "tmp", "etc", "proc", "sys", "dev")
MERGED = ("bin", "sbin", "lib", "lib64")

PYTHON = ["python3.11-minimal", "python3-minimal", "libpython3.11-minimal", "libpython3.11-stdlib",
          "python3-distutils", "python3-lib2to3", "python3-setuptools", "python3-pkg-resources",
          "python3-wheel", "python3-pip", "libgcc-s1"]

# Of the C library, what programs of foreign wheels are linked with.
SMALL = ("libdl.so.2", "libpthread.so.0", "librt.so.1")

# Not Debian's everywhere, and npm brings itself up to date: dpkg does not know all their files.  Debian's
# own npm is many packages, which lie beside each other and link to each other's directories.
NODE = "/usr/bin/node"
NPM = "/usr/bin/npm"
SHARED = "/usr/share/nodejs"


def _files(package):
    done = subprocess.run(["dpkg", "-L", package], capture_output=True, text=True, check=False)
    if done.returncode:
        raise engines.Missing(f"{package} is not installed")
    return [path for path in done.stdout.splitlines()
            if path.startswith(TAKEN) and not any(part in path for part in LEFT)]


def _node_files():
    missing = [path for path in (NODE, NPM) if not os.path.exists(path)]
    if missing:
        raise engines.Missing(f"{missing[0]} is not installed")
    home = os.path.dirname(os.path.dirname(os.path.realpath(NPM)))
    top = SHARED if home.startswith(SHARED) else home
    found = [NODE, NPM]
    for folder, folders, names in os.walk(top):
        found += [os.path.join(folder, name) for name in names]
        found += [path for path in (os.path.join(folder, name) for name in folders) if os.path.islink(path)]
    return found


def _is_program(path):
    return not os.path.islink(path) and os.path.isfile(path) and (
        ".so" in path or os.access(path, os.X_OK)) and Path(path).open("rb").read(4) == b"\x7fELF"


def _libraries(paths):
    """What the dynamic linker needs for them."""
    found = set()
    for path in filter(_is_program, paths):
        done = subprocess.run(["ldd", path], capture_output=True, text=True, check=False)
        found |= {word for word in done.stdout.split() if word.startswith("/")}
    return found


class _Tree:
    """A root file system in which /bin, /lib and so on are those of /usr."""

    def __init__(self):
        self.out = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.out, mode="w", dereference=False)
        self.names = set()
        for name in FOLDERS:
            self.add(tarfile.TarInfo(name), tarfile.DIRTYPE)
        for name in MERGED:
            self.add(tarfile.TarInfo(name), tarfile.SYMTYPE, link=f"usr/{name}")

    def add(self, entry, kind, data=b"", link=""):
        if entry.name in self.names:
            return
        self.names.add(entry.name)
        entry.type, entry.mode, entry.size, entry.linkname = kind, 0o755, len(data), link
        self.tar.addfile(entry, io.BytesIO(data))

    def take(self, path):
        """A file of this machine, where it is after the merge; a library under its plain name."""
        name = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))[1:]
        if os.path.islink(path) and ".so" not in name:
            self.add(tarfile.TarInfo(name), tarfile.SYMTYPE, link=os.readlink(path))
        elif os.path.isfile(path):
            self.add(tarfile.TarInfo(name), tarfile.REGTYPE, Path(path).read_bytes())

    def busybox(self):
        names = subprocess.run([engines.BUSYBOX, "--list"], check=True, capture_output=True,
                               text=True).stdout.split()
        self.add(tarfile.TarInfo("usr/bin/busybox"), tarfile.REGTYPE,
                 Path(engines.BUSYBOX).read_bytes())
        for name in names:
            self.add(tarfile.TarInfo(f"usr/bin/{name}"), tarfile.SYMTYPE, link="busybox")


def import_python(engine, name):
    """Python with pip, and busybox, as an image of the engine's; its name."""
    small = [path for path in _files("libc6") if os.path.basename(path) in SMALL]
    return _import(engine, name, [path for package in PYTHON for path in _files(package)] + small)


def import_node(engine, name):
    """Node with npm, and busybox, as an image of the engine's; its name."""
    return _import(engine, name, _node_files())


def _import(engine, name, files):
    tree = _Tree()
    for path in [*files, *sorted(_libraries(files))]:
        tree.take(path)
    tree.add(tarfile.TarInfo("usr/bin/python"), tarfile.SYMTYPE, link="python3")
    tree.busybox()
    tree.tar.close()
    status, data = engine.ask("POST", f"/images/create?fromSrc=-&repo={name}", tree.out.getvalue(),
                              {"Content-Type": "application/x-tar"})
    assert status == 200 and b"errorDetail" not in data, data
    return name
