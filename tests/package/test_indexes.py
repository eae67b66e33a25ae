# SPDX-License-Identifier: Apache-2.0
"""Indexes that are not as one wishes: slow ones, such as sign with an authority of their own or want a password,
and packages with too much in them."""
import base64
import io
import os
import shutil
import signal
import ssl
import subprocess
import tempfile
import threading
import zipfile

import pytest

from lib import box, host, indexes, net, pace, place as places
from test_python import SECRET, USE, assert_clean, everything, layers, run

NAME = "index.test"
REQUIRE = "console.log(require('alpha'))"


# ---- slow ----------------------------------------------------------------------------------------

@pytest.fixture(params=["pip", "npm"])
def dripping(request, index, registry):
    """An index that answers for a file byte by byte, and is never done; how a package of it is asked for."""
    over = threading.Event()
    server, option = {"pip": (index, "--package"), "npm": (registry, "--npm")}[request.param]

    class Drips(bytes):
        """Long, and sent a byte at a time."""

    def answer(path, plain=server.answer):
        found = plain(path)
        return (found[0], Drips(found[1])) if found and found[0] == "application/octet-stream" else found

    def reply(self, status, kind, data, plain=server.server.RequestHandlerClass.reply):
        if not isinstance(data, Drips):
            return plain(self, status, kind, data)
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        for at in range(len(data)):
            if over.wait(0.05):
                break
            try:
                self.wfile.write(data[at:at + 1])
            except OSError:
                break
        self.close_connection = True
        return None

    server.answer = answer
    server.server.RequestHandlerClass.reply = reply
    index.add("alpha", more={"alpha/data": os.urandom(1 << 16)})
    registry.add("alpha", files={"data": os.urandom(1 << 16).hex()})
    yield server, [option, "alpha"]
    over.set()


def test_an_index_that_drips_is_given_up_in_time_and_named(dripping, cache):
    """Every byte comes soon enough for the installer: only the time of the whole phase ends it."""
    server, options = dripping
    done = run("1", options=options, env={**server.env(), "GLOVEBOX_PACKAGES_TIMEOUT": "4s"})
    assert server.fetched("alpha"), done
    assert done.install["failure"] == "timeout" and done.returncode == 125, done
    assert "packages.timeout" in done.error["message"] + done.error["remedy"], done.error
    assert done.seconds < pace.within(20)
    assert layers(cache) == []
    assert_clean(cache)


# ---- an authority of their own -------------------------------------------------------------------

@pytest.fixture
def authority():
    """A certificate for NAME that signs itself, and its key: files that everybody may read."""
    folder = tempfile.mkdtemp(prefix="gb-authority-")
    os.chmod(folder, 0o755)
    try:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                        "-nodes", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/ca.pem", "-days", "2", "-subj",
                        f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"], check=True, capture_output=True)
        os.chmod(f"{folder}/ca.pem", 0o644)
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def named(place):
    """named(words, env): a command where NAME is this machine."""
    hosts = place.cwd / "hosts"
    hosts.write_text(f"127.0.0.1 localhost {NAME}\n")
    return lambda words, env: box.run_words(net.command(hosts, words), host_env=env)


def secured(server, authority):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{authority}/ca.pem", f"{authority}/key.pem")
    server.server.socket = context.wrap_socket(server.server.socket, server_side=True)
    return f"https://{NAME}:{server.port}"


@pytest.mark.parametrize("way", ["variable", "file"])
def test_pips_own_authority_is_trusted_and_no_other(index, authority, named, cache, place, way):
    at = secured(index, authority)
    index.add("alpha")
    words = box.command(USE, language="python", options=["--package", "alpha"])
    env = {"PIP_INDEX_URL": f"{at}/simple", "PIP_CONFIG_FILE": "/dev/null"}
    without = named(words, env)
    assert without.returncode == 125 and without.install["failure"] == "certificate", without
    assert layers(cache) == []
    if way == "variable":
        env["PIP_CERT"] = f"{authority}/ca.pem"
    else:
        file = place.cwd / "pip.conf"
        file.write_text(f"[global]\nindex-url = {at}/simple\ncert = {authority}/ca.pem\n")
        env = {"PIP_CONFIG_FILE": str(file)}
    done = named(words, env)
    assert done.stdout == "alpha 1.0\n", done


@pytest.mark.parametrize("way", ["variable", "file"])
def test_npms_own_authority_is_trusted_and_no_other(registry, authority, named, cache, place, way):
    at = registry.at = secured(registry, authority)
    registry.add("alpha")
    words = box.command(REQUIRE, language="javascript", options=["--npm", "alpha"])
    env = {}
    if way == "variable":
        env["npm_config_registry"] = f"{at}/"
        without = named(words, env)
        assert without.returncode == 125 and without.install["failure"] == "certificate", without
        assert layers(cache) == []
        env["npm_config_cafile"] = f"{authority}/ca.pem"
    else:
        (place.home / ".npmrc").write_text(f"registry={at}/\ncafile={authority}/ca.pem\n")
    done = named(words, env)
    assert done.stdout == "alpha\n", done


# ---- credentials ---------------------------------------------------------------------------------

@pytest.mark.parametrize("form", ["password", "auth"])
def test_a_password_of_npm_is_seen_by_nobody(registry, place, cache, form):
    """Neither as it is nor as it is written in .npmrc."""
    registry.login = f"me:{SECRET}"
    registry.add("alpha", scripts={"install": "cat $npm_config_userconfig > stolen"})
    at = f"//127.0.0.1:{registry.port}/"
    coded = base64.b64encode(SECRET.encode()).decode()
    both = base64.b64encode(registry.login.encode()).decode()
    lines = {"password": f"{at}:username=me\n{at}:_password={coded}\n", "auth": f"{at}:_auth={both}\n"}
    (place.home / ".npmrc").write_text(f"registry=http:{at}\n{lines[form]}")
    code = ("const fs = require('fs'); console.log(require('alpha'), fs.existsSync('/node_modules/alpha/stolen'), "
            "JSON.stringify(process.env), fs.existsSync(process.env.HOME + '/.npmrc'))")
    done = box.run(code, language="javascript", options=["--npm", "alpha"])
    assert done.stdout.startswith("alpha false") and done.stdout.endswith("false\n"), done
    for secret in (SECRET, coded, both):
        assert secret.encode() not in done.out + done.err
        for path, data in everything(cache):
            assert secret.encode() not in data, path


# ---- what is in packages -------------------------------------------------------------------------

def test_a_link_in_a_wheel_leads_nowhere(index, cache):
    file, data = indexes.wheel("alpha")
    packed = io.BytesIO(data)
    with zipfile.ZipFile(packed, "a") as archive:
        entry = zipfile.ZipInfo("alpha/passwd")
        entry.create_system, entry.external_attr = 3, 0o120777 << 16
        archive.writestr(entry, "/etc/passwd")
    index.offer("alpha", file, packed.getvalue())
    done = run("import alpha, os; p = os.path.dirname(alpha.__file__) + '/passwd'\n"
               "print(os.path.islink(p), open(p).read())", packages=["alpha"], env=index.env())
    assert done.stdout == "False /etc/passwd\n", done
    assert not [path for path in cache.rglob("*") if path.is_symlink()]


def test_what_a_wheel_has_too_many_of_is_kept_or_refused(index, cache):
    """At full counts there are more files than a layer may have: nothing of it is left."""
    files = pace.count(check=500, proof=200_100)
    index.add("alpha", more={f"alpha/d{n // 1000}/f{n}": b"" for n in range(files)})
    done = run(USE, packages=["alpha"], env={**index.env(), "GLOVEBOX_PACKAGES_TIMEOUT": "10m"}, outer=700)
    if files > 200_000:
        assert done.returncode == 125 and done.verdict == "sandbox_error", done
        assert layers(cache) == []
    else:
        assert done.stdout == "alpha 1.0\n", done
    assert_clean(cache)


# ---- ends ----------------------------------------------------------------------------------------

def test_a_spawner_that_is_killed_while_it_installs_leaves_nothing(index, cache):
    """L05"""
    index.add("alpha")
    index.gate = threading.Event()
    words = box.command(USE, language="python", options=["--package", "alpha"])
    process = subprocess.Popen(words, env=box.environment(index.env()), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert host.until(lambda: index.fetched("alpha") == 1, 30)
        os.kill(box.Living(process).spawner, signal.SIGKILL)
        out, err = process.communicate(timeout=60)
    finally:
        index.gate.set()
        if process.poll() is None:
            process.kill()
            process.communicate()
    assert process.returncode == 125 and b"ran" not in out, (out, err)
    assert layers(cache) == []
    assert_clean(cache)
    index.gate = None
    assert run(USE, packages=["alpha"], env=index.env()).stdout == "alpha 1.0\n"


# ---- the Python client ---------------------------------------------------------------------------

def client(index, script):
    env = {**box.environment(index.env()), "PYTHONPATH": str(places.ROOT / "clients/python/src"),
           "GLOVEBOX_BIN": str(places.binary())}
    return subprocess.run(["/usr/bin/python3", "-c", script], env=env, capture_output=True, text=True, check=False)


def test_boxes_of_the_python_client_have_packages(index):
    index.add("alpha")
    done = client(index, f"""
import glovebox
with glovebox.Box.create(packages=['alpha']) as box:
    print(box.run({USE!r}).stdout, end='')
""")
    assert done.stdout == "alpha 1.0\n", done


def test_asyncio_asks_for_packages_too(index):
    index.add("alpha")
    done = client(index, f"""
import asyncio
from glovebox import aio
async def body():
    first = await aio.exec({USE!r}, packages=['alpha'])
    async with await aio.Box.create(packages=['alpha']) as box:
        second = await box.run({USE!r})
    print(first.stdout, second.stdout, sep='', end='')
asyncio.run(body())
""")
    assert done.stdout == "alpha 1.0\nalpha 1.0\n", done
