# SPDX-License-Identifier: Apache-2.0
"""Environments in containers that have a network, ports of the host, and their image's command."""
import json
import os
import subprocess

import pytest
from conftest import BASE

from lib import debian, engines, host, indexes, place as places

PORT = "18080"
ADDRESS = f"http://127.0.0.1:{PORT}/"


@pytest.fixture
def service(tools, engine):
    """The tools on that engine; no container stays."""
    tools.environment |= {"DOCKER_HOST": engine.host, "GLOVEBOX_BACKEND": "docker"}
    tools.engine = engine
    yield tools
    for image in tools.do("list_agent_images").get("images", []):
        tools.call("delete_image", image=image["id"], force=True)
    assert host.until(lambda: engine.containers() == [], within=30)


def built(service, forget, dockerfile, tag="server"):
    path = service.do("prepare_build_context",
                      files={"Dockerfile": f"FROM {BASE}\n{dockerfile}", "index.html": "served\n"})
    forget(path["context_id"])
    return service.do("build_image_from_context", tag=tag, **path)["tag"]


def glovebox(service, *words):
    return service.words(*words, binary=places.binary())


def image_log(service, made, **request):
    return service.do("get_container_logs", container_id=made.container_id, **request)["log"]


SERVER = ('COPY index.html /srv/www/index.html\nENV WHO=image KEPT=yes\nWORKDIR /srv/www\n'
          'CMD ["sh", "-c", "echo $WHO $KEPT; pwd; id -u; exec httpd -f -p 3000"]\n')


def test_the_images_own_command_is_reached_on_a_port_of_the_host(service, forget):
    """S2-07 … S2-09: its directory, its variables, a port of 127.0.0.1, gone with the environment."""
    image = built(service, forget, SERVER)
    with service.made(image=image, network=True, port_bindings={"3000": PORT}, use_image_cmd=True,
                      env_vars={"WHO": "request"}) as made:
        assert host.until(lambda: engines.fetch(service.engine, ADDRESS), within=30)
        assert engines.fetch(service.engine, ADDRESS) == "served\n"
        ports = service.engine.containers()[0]["Ports"]
        assert [(port["IP"], port["PublicPort"]) for port in ports] == [("127.0.0.1", int(PORT))]
        log = image_log(service, made)
        assert (log["running"], log["exit_code"], log["verdict"]) == (True, -1, "running")
        assert host.until(lambda: image_log(service, made)["stdout"] == "request yes\n/srv/www\n1000\n", within=30), log
        # Other runs beside it, and neither ends the other.
        run = service.run(made, "a.sh", "wget -q -O - http://127.0.0.1:3000/; pwd")
        assert run["stdout"] == "served\n/workspace\n"
        assert image_log(service, made) == run
        assert image_log(service, made, image_cmd=True)["running"] is True
        assert engines.fetch(service.engine, ADDRESS) == "served\n"
        service.do("cleanup_env", container_id=made.container_id, delete_workspace=True)
        assert engines.fetch(service.engine, ADDRESS) is None
        assert service.engine.containers() == []


def test_the_image_command_is_a_run_with_a_log_and_an_end(service, forget):
    image = built(service, forget, 'CMD ["sh", "-c", "echo 1; echo 2; echo bad >&2; exit 3"]\n')
    with service.made(image=image, use_image_cmd=True) as made:
        assert host.until(lambda: not image_log(service, made)["running"], within=30)
        log = image_log(service, made, tail_lines=1)
        assert (log["exit_code"], log["stdout"], log["stderr"]) == (3, "2\n", "bad\n")
        assert (log["timed_out"], log["truncated"]) == (False, False)
        runs = json.loads(glovebox(service, "box", "runs", made.container_id, "--json").out)["runs"]
        assert [run["exit_code"] for run in runs] == [3]
        assert service.run(made, "a.sh", "echo still here")["stdout"] == "still here\n"


def test_the_image_command_is_killed_and_signalled_as_any_run(service, forget):
    image = built(service, forget,
                  'CMD ["sh", "-c", "trap \'echo told\' USR1; echo up; while :; do sleep 0.1; done"]\n')
    with service.made(image=image, use_image_cmd=True) as made:
        assert host.until(lambda: image_log(service, made)["stdout"] == "up\n", within=30)
        run = json.loads(glovebox(service, "box", "runs", made.container_id, "--json").out)["runs"][0]
        done = glovebox(service, "box", "kill", "-s", "USR1", made.container_id, run["id"])
        assert done.code == 0, done
        assert host.until(lambda: "told" in image_log(service, made)["stdout"], within=30)
        assert glovebox(service, "box", "kill", made.container_id, run["id"]).code == 0
        log = image_log(service, made)
        assert (log["running"], log["verdict"]) == (False, "cancelled")


def test_the_limits_hold_for_the_image_command(service, forget):
    image = built(service, forget, 'CMD ["sh", "-c", "while :; do :; done"]\n')
    with service.made(image=image, use_image_cmd=True, ttl_sec=600) as made:
        listed = service.engine.get(f"/containers/{service.engine.containers()[0]['Id']}/json")
        assert listed["HostConfig"]["NanoCpus"] == 500_000_000
        assert image_log(service, made)["running"] is True


def test_an_image_command_that_cannot_be_started_is_told_by_its_log(service, forget):
    image = built(service, forget, 'CMD ["no-such-program"]\n')
    with service.made(image=image, use_image_cmd=True) as made:
        assert host.until(lambda: not image_log(service, made)["running"], within=30)
        log = image_log(service, made)
        assert log["exit_code"] == 127 and "no-such-program" in log["stderr"]


def test_an_image_without_a_command(service):
    error = service.fails("create_runtime_env", image=BASE, use_image_cmd=True)
    assert error == f"use_image_cmd: image '{BASE}' has no command"
    assert service.leftovers() == [] and service.boxes() == []


def test_an_environment_without_the_command_has_no_log_of_it(service):
    with service.made(image=BASE) as made:
        assert service.fails("get_container_logs", container_id=made.container_id, image_cmd=True) \
            == "the environment was made without use_image_cmd"


def test_kill_9_of_who_does_the_image_command_ends_it_and_nothing_else(service, forget):
    image = built(service, forget, 'CMD ["sleep", "1000"]\n')
    with service.made(image=image, use_image_cmd=True) as made:
        doer = lambda: [p for p in host.descendants(os.getpid()) if p.comm == "glovebox-run"]
        assert host.until(doer, within=30)
        os.kill(doer()[0].pid, 9)
        assert host.until(lambda: not image_log(service, made)["running"], within=30)
        assert image_log(service, made)["verdict"] == "lost"
        assert service.run(made, "a.sh", "echo alive")["stdout"] == "alive\n"


def test_a_network_is_the_engines_bridge_and_the_receipt_says_so(service):
    """S2-08"""
    look = "ls /sys/class/net 2>/dev/null; cat /proc/net/dev"
    with service.made(image=BASE) as closed, service.made(image=BASE, network=True) as opened:
        assert "eth0" not in service.run(closed, "a.sh", look)["stdout"]
        assert "eth0" in service.run(opened, "a.sh", look)["stdout"]
        for made, net in ((closed, "none"), (opened, "bridge")):
            record = json.loads((service.base / "state" / "boxes" / made.container_id / "box.json")
                                .read_text())
            assert record["net"] == net
            assert (" net " in f" {record['walls'].replace(',', ' ')} ") == (net == "none")


def test_a_server_that_was_executed_is_reached_too(service):
    """Without use_image_cmd: whatever listens while it runs."""
    with service.made(image=BASE, network=True, port_bindings={"3000/tcp": PORT}) as made:
        code = "echo from the box > index.html; httpd -f -p 3000"
        request = {"container_id": made.container_id, "filename": "a.sh", "code_content": code}
        running = subprocess.Popen([str(service.link), "execute_code_block", json.dumps(request)],
                                   env={**os.environ, **service.environment},
                                   stdout=subprocess.DEVNULL)
        try:
            assert host.until(lambda: engines.fetch(service.engine, ADDRESS), within=30)
            assert engines.fetch(service.engine, ADDRESS) == "from the box\n"
        finally:
            running.terminate()
            running.wait(30)


def test_ports_need_the_loopback_and_udp_a_network(service):
    assert "UDP" in service.fails("create_runtime_env", image=BASE, port_bindings={"53/udp": PORT})
    for address in ("0.0.0.0", "10.0.0.1", "255.255.255.255"):
        error = service.fails("create_runtime_env", image=BASE, network=True,
                              port_bindings={"3000": f"{address}:{PORT}"})
        assert "loopback" in error
    for value in ("127.0.0.1:", ":80", "127.1:80", "::1:80", "localhost:80", "127.0.0.1:80:80"):
        error = service.fails("create_runtime_env", image=BASE, network=True,
                              port_bindings={"3000": value})
        assert "no two ports" in error
    many = {str(port): str(port) for port in range(1000, 1100)}
    assert "at most" in service.fails("create_runtime_env", image=BASE, network=True,
                                      port_bindings=many)
    assert service.leftovers() == [] and service.boxes() == []


def test_a_port_that_is_taken_makes_no_environment(service):
    """S2-11"""
    ports = {"image": BASE, "network": True, "port_bindings": {"3000": f"127.0.0.2:{PORT}"}}
    with service.made(**ports):
        kept = service.boxes()
        assert "allocated" in service.fails("create_runtime_env", **ports)
        assert service.boxes() == kept and len(service.engine.containers()) == 1


@pytest.mark.parametrize("network", [False, True])
def test_S2_10_dependencies_are_installed_for_the_image(service, network):
    """By its own pip, in a container that reaches the index only, whatever network it will have."""
    debian.import_python(service.engine, "python:tools")
    with indexes.PythonIndex() as index:
        index.add("alpha")
        service.environment |= {**index.env(), "GLOVEBOX_CACHE_DIR": str(service.base / "cache")}
        with service.made(image="python:tools", network=network, dependencies=["alpha"]) as made:
            assert [package["name"] for package in made.packages] == ["alpha"]
            assert service.run(made, "a.py", "import alpha; print(alpha.VERSION)")["stdout"] == "1.0\n"


def test_S2_10_an_image_that_cannot_install_is_an_error(service):
    with indexes.PythonIndex() as index:
        service.environment |= {**index.env(), "GLOVEBOX_CACHE_DIR": str(service.base / "cache")}
        code, answer = service.call("create_runtime_env", image=BASE, dependencies=["alpha"])
    assert code == 1 and answer["install"]["failure"] == "no_installer", answer


def test_the_default_image_is_used_or_its_pull_is_offered(service):
    """S2-07: no image means python:3.11-slim."""
    code, answer = service.call("create_runtime_env")
    assert code == 1 and "python:3.11-slim" in answer["error"]
    assert answer["remedy"] == 'fetch it first: pull_image {"image": "python:3.11-slim"}'
    assert service.leftovers() == [] and service.boxes() == []
    assert service.engine.ask(
        "POST", f"/images/{BASE}/tag?repo=python&tag=3.11-slim")[0] == 201
    try:
        with service.made() as made:
            assert service.run(made, "a.sh", "echo used")["stdout"] == "used\n"
            assert service.engine.containers()[0]["Image"] == "python:3.11-slim"
        with service.made(image=BASE):
            assert service.engine.containers()[0]["Image"] == BASE
    finally:
        service.engine.ask("DELETE", "/images/python:3.11-slim")
    assert "images of its engine only" in service.fails("create_runtime_env", image="host")
