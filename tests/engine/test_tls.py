# SPDX-License-Identifier: Apache-2.0
"""An engine behind TLS: a real Docker that asks for certificates, and those that it does not get."""
import json
import shutil
import subprocess
import types

import pytest
from conftest import IMAGE, drive

from lib import engines, host

ADDRESS = "tcp://127.0.0.1:2376"
EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
SERVER = "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n"
CLIENT = "extendedKeyUsage=clientAuth\n"


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


class Authority:
    """A CA with what it signs, each pair in a folder as docker's client wants it."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        openssl("req", "-x509", *EC, "-days", "2", "-subj", f"/CN=CA of {folder.name}",
                "-keyout", folder / "ca-key.pem", "-out", folder / "ca.pem")

    def sign(self, name, extensions, days=2):
        folder = self.folder / name
        folder.mkdir()
        (folder / "extensions").write_text(extensions)
        openssl("req", *EC, "-subj", f"/CN={name}", "-keyout", folder / "key.pem",
                "-out", folder / "request.pem")
        openssl("x509", "-req", "-in", folder / "request.pem", "-CA", self.folder / "ca.pem",
                "-CAkey", self.folder / "ca-key.pem", "-CAcreateserial", "-days", days,
                "-extfile", folder / "extensions", "-out", folder / "cert.pem")
        shutil.copy(self.folder / "ca.pem", folder)
        return folder


def behind_tls(authority, server):
    return engines.docker("--tlsverify", "--tlscacert", str(authority.folder / "ca.pem"),
                          "--tlscert", str(server / "cert.pem"), "--tlskey",
                          str(server / "key.pem"), "--host", ADDRESS)


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    """The engine, who signed its certificate, and somebody else who signs."""
    folder = tmp_path_factory.mktemp("tls")
    ours, other = Authority(folder / "ours"), Authority(folder / "other")
    with behind_tls(ours, ours.sign("server", SERVER)) as engine:
        engine.import_busybox(IMAGE)
        yield types.SimpleNamespace(engine=engine, ours=ours, other=other, folder=folder,
                                    good=ours.sign("client", CLIENT))


def ask(engine, *words, data=b"", **keys):
    """The driver in the network of the engine, where its port is."""
    inside = engine.init.pid
    return drive([*(f"{name}={value}" for name, value in keys.items()), *words], data,
                 before=["nsenter", f"--net=/proc/{inside}/ns/net", "--"])


def by_environment(tls, certificates, *words, data=b""):
    return ask(tls.engine, *words, data=data, docker_host=ADDRESS, tls_verify=1,
               cert_path=certificates)


def test_an_engine_behind_tls_is_used_like_any_other(tls):
    made = by_environment(tls, tls.good, "create", "-", IMAGE, "/bin/sh", "-c", "cat; exit 7")
    assert made.ok, made
    try:
        # What is attached is a connection of its own, and its end of input goes through TLS too.
        said = by_environment(tls, tls.good, "attach", made.id, data=b"through TLS\n" * 50000)
        assert said.ok and said.out == b"through TLS\n" * 50000
        assert host.until(lambda: by_environment(tls, tls.good, "inspect", made.id).exit_code == 7, within=20)
    finally:
        assert by_environment(tls, tls.good, "rm", made.id).ok


def test_a_context_brings_its_certificates(tls, place):
    config = place.base / "docker"
    docker = ["docker", "--config", str(config), "context", "create", "far", "--docker",
              f"host={ADDRESS},ca={tls.good}/ca.pem,cert={tls.good}/cert.pem,key={tls.good}/key.pem"]
    subprocess.run(docker, check=True, capture_output=True)
    found = ask(tls.engine, "ping", context="far", config_dir=config)
    assert found.ok and found.api >= 41, found
    (config / "config.json").write_text(json.dumps({"currentContext": "far"}))
    assert ask(tls.engine, "ping", config_dir=config).ok
    for key in config.glob("contexts/tls/*/docker/key.pem"):
        key.unlink()
    found = ask(tls.engine, "ping", config_dir=config)
    assert found.error == "ENOKEY" and "only one of cert.pem and key.pem" in found.msg


def folder_with(tls, name, files):
    folder = tls.folder / name
    folder.mkdir()
    for at, source in files.items():
        shutil.copy(source, folder / at)
    return folder


def wrong_ca(tls):
    return folder_with(tls, "wrong-ca", {"ca.pem": tls.other.folder / "ca.pem",
                                         "cert.pem": tls.good / "cert.pem",
                                         "key.pem": tls.good / "key.pem"})


def no_certificate(tls):
    return folder_with(tls, "no-certificate", {"ca.pem": tls.good / "ca.pem"})


def expired(tls):
    return tls.ours.sign("expired", CLIENT, days=-1)


def signed_by_another(tls):
    folder = tls.other.sign("stranger", CLIENT)
    shutil.copy(tls.good / "ca.pem", folder)
    return folder


def key_of_another(tls):
    return folder_with(tls, "wrong-key", {"ca.pem": tls.good / "ca.pem",
                                          "cert.pem": tls.good / "cert.pem",
                                          "key.pem": tls.other.folder / "ca-key.pem"})


def empty(tls):
    return folder_with(tls, "empty", {})


REFUSED = {
    wrong_ca: ("EKEYREJECTED", "is not trusted", "ca.pem"),
    no_certificate: ("ENOKEY", "wants a certificate of ours, and there is none", "cert.pem and key"),
    expired: ("EKEYEXPIRED", "our certificate, which is not valid today", "renew"),
    signed_by_another: ("ENOKEY", "does not accept our certificate", "--tlscacert"),
    key_of_another: ("ENOKEY", "our certificate or its key cannot be used", "cert.pem and key"),
    empty: ("ENOKEY", "has neither ca.pem nor cert.pem", "unset DOCKER_TLS_VERIFY"),
}


@pytest.mark.parametrize("certificates", REFUSED, ids=lambda made: made.__name__)
def test_certificates_that_do_not_fit_are_told_apart(tls, certificates):
    error, words, remedy = REFUSED[certificates]
    found = by_environment(tls, certificates(tls), "ping")
    assert found.error == error and words in found.msg and remedy in found.remedy, found


def test_an_engine_whose_certificate_has_expired_is_not_trusted(tls):
    with behind_tls(tls.ours, tls.ours.sign("old-server", SERVER, days=-1)) as engine:
        found = ask(engine, "ping", docker_host=ADDRESS, tls_verify=1, cert_path=tls.good)
    assert found.error == "EKEYEXPIRED" and "certificate has expired" in found.msg
    assert "clock" in found.remedy


def test_plain_http_to_an_engine_behind_tls_is_told(tls):
    found = ask(tls.engine, "ping", docker_host=ADDRESS)
    assert found.error == "EPROTO" and "DOCKER_TLS_VERIFY=1" in found.remedy, found


def test_tls_to_an_engine_without_it_is_told(tls):
    plain = "tcp://127.0.0.1:2375"
    with engines.docker("--host", plain, "--tls=false") as engine:
        assert ask(engine, "ping", docker_host=plain).ok
        found = ask(engine, "ping", docker_host=plain, tls_verify=1, cert_path=tls.good)
    assert found.error == "EPROTO" and "unset DOCKER_TLS_VERIFY" in found.remedy, found
