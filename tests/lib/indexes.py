# SPDX-License-Identifier: Apache-2.0
"""Indexes on 127.0.0.1 that real pip and npm install from, and packages made on the spot.

An index is a proxy too, in front of itself under any name.  It counts what it is asked for, and can want credentials (`login`), be slow (`gate`, an event
that files wait for), and lie about hashes (`lies`).
"""
import base64
import hashlib
import io
import json
import tarfile
import threading
import urllib.parse
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATIENCE = 60


def wheel(name, version="1.0", text="", needs=(), scripts=(), more=None):
    """A wheel's file name and bytes: one module, whose text is given."""
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    lines = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
    lines += [f"Requires-Dist: {need}" for need in needs]
    files = {
        f"{module}/__init__.py": (text or f"NAME = {name!r}\nVERSION = {version!r}\n").encode(),
        f"{info}/METADATA": "\n".join(lines).encode() + b"\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        **{path: data for path, data in (more or {}).items()},
    }
    if scripts:
        entries = "".join(f"{script} = {module}:main\n" for script in scripts)
        files[f"{info}/entry_points.txt"] = f"[console_scripts]\n{entries}".encode()
    rows = []
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={digest},{len(data)}")
    files[f"{info}/RECORD"] = "\n".join(rows + [f"{info}/RECORD,,"]).encode() + b"\n"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return f"{module}-{version}-py3-none-any.whl", packed.getvalue()


def tarball(files):
    """A .tar.gz of texts by path."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, data in files.items():
            data = data.encode() if isinstance(data, str) else data
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), 0o755 if path.endswith(".sh") else 0o644
            archive.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


def sdist(name, version, setup):
    """A source package whose setup.py is given."""
    top = f"{name}-{version}"
    return f"{top}.tar.gz", tarball({
        f"{top}/setup.py": setup,
        f"{top}/PKG-INFO": f"Metadata-Version: 1.0\nName: {name}\nVersion: {version}\n",
        f"{top}/{name}.py": f"NAME = {name!r}\n",
    })


class Server:
    """A server whose answer(path) gives (type, bytes), or None for 404."""

    def __init__(self, login=None):
        self.login = login  # "user:password", or None
        self.gate = None
        self.asked = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                outer.asked.append(urllib.parse.unquote(self.path))
                word = "Proxy-Authorization" if self.path.startswith("http") else "Authorization"
                if outer.login and not outer.knows(self.headers.get(word, "")):
                    return self.reply(401, "text/plain", b"who are you?")
                found = outer.answer(urllib.parse.unquote(urllib.parse.urlsplit(self.path).path))
                if found is None:
                    return self.reply(404, "text/plain", b"no")
                return self.reply(200, *found)

            do_HEAD = do_GET  # uv asks how long a file is

            def reply(self, status, kind, data):
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", kind)
                    self.send_header("Content-Length", str(len(data)))
                    if status == 401:
                        self.send_header("WWW-Authenticate", 'Basic realm="x"')
                    self.end_headers()
                    self.wfile.write(b"" if self.command == "HEAD" else data)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})

    def knows(self, header):
        wanted = "Basic " + base64.b64encode(self.login.encode()).decode()
        return header in (wanted, f"Bearer {self.login}")

    def wait(self):
        if self.gate is not None:
            self.gate.wait(PATIENCE)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """The server is gone; a second time it does nothing."""
        if self.thread is None:
            return
        if self.gate is not None:
            self.gate.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
        self.thread = None


class PythonIndex(Server):
    """/simple/NAME/ and /files/FILE."""

    def __init__(self, login=None):
        super().__init__(login)
        self.files = {}
        self.projects = {}
        self.lies = False
        self.links = {}  # project -> address that its page leads to instead

    def add(self, name, *args, **kwargs):
        """Makes and offers a wheel; its SHA-256."""
        return self.offer(name, *wheel(name, *args, **kwargs))

    def offer(self, name, file, data):
        self.files[file] = data
        self.projects.setdefault(name, []).append(file)
        return hashlib.sha256(data).hexdigest()

    def url(self, login=None):
        at = f"{login}@" if login else ""
        return f"http://{at}127.0.0.1:{self.port}/simple"

    def env(self, login=None):
        return {"PIP_INDEX_URL": self.url(login), "PIP_CONFIG_FILE": "/dev/null"}

    def fetched(self, name):
        """How often a file of the project was asked for."""
        return sum(path.startswith("/files/" + name.replace("-", "_")) for path in self.asked)

    def answer(self, path):
        parts = path.strip("/").split("/")
        if parts[0] == "simple" and len(parts) == 2 and parts[1] in self.projects:
            return "text/html", self.page(parts[1]).encode()
        if parts[0] == "files" and parts[-1] in self.files:
            self.wait()
            return "application/octet-stream", self.files[parts[-1]]
        return None

    def page(self, name):
        rows = []
        for file in self.projects[name]:
            digest = hashlib.sha256(b"" if self.lies else self.files[file]).hexdigest()
            base = self.links.get(name, "../../files")
            rows.append(f'<a href="{base}/{file}#sha256={digest}">{file}</a><br>')
        return "<!DOCTYPE html><html><body>" + "".join(rows) + "</body></html>"


class NodeRegistry(Server):
    """A registry with documents at /NAME and tarballs at /NAME/-/FILE."""

    def __init__(self, login=None):
        super().__init__(login)
        self.packages = {}
        self.lies = False
        self.at = None  # its address as npm in a box knows it; None: by the name of this machine's loopback

    def add(self, name, version="1.0.0", files=None, **fields):
        """Offers a package; fields go into its package.json."""
        meta = {"name": name, "version": version, **fields}
        files = files or {"index.js": f"module.exports = {json.dumps(name)}\n"}
        packed = tarball({"package/package.json": json.dumps(meta),
                          **{f"package/{path}": text for path, text in files.items()}})
        self.packages.setdefault(name, {})[version] = (meta, packed)

    def env(self, home=None):
        return {"npm_config_registry": f"http://127.0.0.1:{self.port}/"}

    def fetched(self, name):
        return sum(path.startswith(f"/{name}/-/") for path in self.asked)

    def answer(self, path):
        name, mark, file = path.strip("/").partition("/-/")
        versions = self.packages.get(name)
        if versions is None:
            return None
        if mark:
            self.wait()
            return "application/octet-stream", next(
                data for version, (_, data) in versions.items() if version in file)
        document = {"name": name, "dist-tags": {"latest": sorted(versions)[-1]}, "versions": {}}
        for version, (meta, data) in versions.items():
            digest = hashlib.sha512(b"" if self.lies else data).digest()
            document["versions"][version] = {
                **meta, "dist": {"tarball": f"{self.base}/{name}/-/{name.split('/')[-1]}-{version}.tgz",
                                 "integrity": "sha512-" + base64.b64encode(digest).decode()}}
        return "application/json", json.dumps(document).encode()

    @property
    def base(self):
        return self.at or f"http://127-0-0-1.address.internal:{self.port}"
