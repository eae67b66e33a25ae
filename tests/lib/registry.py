# SPDX-License-Identifier: Apache-2.0
"""A real registry of images (Debian's docker-registry) in the network of a private engine."""
import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from lib import engines, host

REGISTRY = "/usr/bin/docker-registry"
START_WITHIN = 60
USER, PASSWORD = "somebody", "the password"
SALTED = "$2b$05$RvDZKWSsiaYqeJ5XUh2Rd.JjOYxTTly1pGvaG3XJ1.qQs2AGI6cXy"  # bcrypt of it

CONFIG = """\
version: 0.1
log: {{level: warn}}
storage: {{filesystem: {{rootdirectory: {base}/data}}, delete: {{enabled: true}}}}
http: {{addr: "127.0.0.1:{port}"}}
"""
AUTH = "auth: {{htpasswd: {{realm: tests, path: {base}/htpasswd}}}}\n"


def credentials(password=PASSWORD):
    """What docker's config.json has for a server."""
    return {"auth": base64.b64encode(f"{USER}:{password}".encode()).decode()}


class Registry:
    def __init__(self, engine, base, port, has_auth):
        self.engine, self.base, self.port, self.has_auth = engine, Path(base), port, has_auth

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def push(self, image, name):
        """Puts an image of the engine's into the registry; its name there.  The engine keeps none
        of that name."""
        whole = f"{self.address}/{name}"
        repository, tag = whole.rsplit(":", 1)
        login = {"username": USER, "password": PASSWORD} if self.has_auth else {}
        header = {"X-Registry-Auth": base64.urlsafe_b64encode(json.dumps(login).encode()).decode()}
        status, _ = self.engine.ask("POST", f"/images/{image}/tag?repo={repository}&tag={tag}")
        assert status == 201, image
        status, data = self.engine.ask("POST", f"/images/{repository}/push?tag={tag}", b"", header)
        assert status == 200 and b"errorDetail" not in data, data
        self.forget(whole)
        return whole

    def forget(self, name):
        self.engine.ask("DELETE", f"/images/{name}?force=1")

    def blobs(self):
        """Files of layers, configurations and manifests."""
        return set(self.base.glob("data/docker/registry/v2/blobs/sha256/*/*/data"))

    def sent(self, digest):
        """How often a blob went out, by the registry's own log."""
        asked = f"/blobs/sha256:{digest} "
        return sum("GET " in line and asked in line for line in host.read(self.base / "log").splitlines())


@contextlib.contextmanager
def running(engine, port, has_auth=False):
    """In the engine's own network: no other can reach it, and no port of the machine is taken."""
    if not os.path.exists(REGISTRY):
        raise engines.Missing(f"{REGISTRY} is not installed")
    base = tempfile.mkdtemp(prefix="gbregistry-", dir="/var/tmp")
    process = None
    try:
        text = CONFIG + (AUTH if has_auth else "")
        Path(base, "config.yml").write_text(text.format(base=base, port=port))
        Path(base, "htpasswd").write_text(f"{USER}:{SALTED}\n")
        inside = engine.init.pid
        with open(f"{base}/log", "wb") as log:
            process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", "nsenter", f"--net=/proc/{inside}/ns/net",
                 REGISTRY, "serve", f"{base}/config.yml"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        listening = f"0100007F:{port:04X} 00000000:0000 0A"
        ready = host.until(lambda: listening in host.read(f"/proc/{process.pid}/net/tcp")
                           or process.poll() is not None, START_WITHIN)
        assert ready and process.poll() is None, host.read(f"{base}/log")[-2000:]
        yield Registry(engine, base, port, has_auth)
    finally:
        if process:
            process.kill()
            process.wait()
        shutil.rmtree(base)
