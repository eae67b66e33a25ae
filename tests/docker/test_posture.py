# SPDX-License-Identifier: Apache-2.0
"""What a container is: its body, as the engine tells it, and a run in it, as it sees itself."""
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from lib import box, host, posture

GOLDEN = Path(__file__).parent / "golden"
SCRIPT = "echo up; sleep 1000"

# The outer profile, which the glove is under too; a run's own filter allows by name.
DENIED_TO_ALL = {"bpf", "init_module", "kexec_load", "keyctl", "pivot_root", "setns"}

# Of HostConfig; everything that decides what the container may.
ASKED = (
    "AutoRemove", "Binds", "CapAdd", "CapDrop", "CgroupnsMode", "Devices", "DeviceRequests",
    "GroupAdd", "Init", "IpcMode", "Links", "MaskedPaths", "Memory", "MemorySwap", "Mounts",
    "NanoCpus", "NetworkMode", "OomKillDisable", "OomScoreAdj", "PidMode", "PidsLimit",
    "PortBindings", "Privileged", "PublishAllPorts", "ReadonlyPaths", "ReadonlyRootfs",
    "RestartPolicy", "SecurityOpt", "ShmSize", "Sysctls", "Tmpfs", "UTSMode", "Ulimits",
    "UsernsMode", "VolumesFrom",
)


@pytest.fixture
def inspected(docker):
    """What the engine says of a box's container while a program runs in it."""
    process = subprocess.Popen(docker.words(SCRIPT, as_json=False), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, env=box.environment(docker.environment))
    try:
        assert process.stdout.readline() == b"up\n"
        [item] = docker.containers()
        yield docker.engine.get(f"/containers/{item['Id']}/json")
    finally:
        process.terminate()
        process.communicate(timeout=30)


def hosts_of(mount):
    """One file of the glove's volume: newer engines take it as that, older ones by its path."""
    if mount["Type"] == "bind":
        assert re.fullmatch(r"/.+/volumes/glovebox-glove-\w+/_data/g_\w+\.hosts", mount["Source"]), mount
        source = mount["Source"].split("/")[-3]
    else:
        assert mount["VolumeOptions"]["NoCopy"] and mount["VolumeOptions"]["Subpath"].endswith(".hosts"), mount
        source = mount["Source"]
    return {"Source": source, "Target": mount["Target"], "ReadOnly": mount["ReadOnly"]}


def body_of(inspected):
    """The part that is the same every time."""
    config, asked = inspected["Config"], inspected["HostConfig"]
    filters = [option for option in asked["SecurityOpt"] if option.startswith("seccomp=")]
    assert len(filters) == 1
    profile = json.loads(filters[0].removeprefix("seccomp="))
    denied = {name for rule in profile["syscalls"] if rule["action"] == "SCMP_ACT_ERRNO"
              for name in rule["names"]}
    assert DENIED_TO_ALL <= denied, DENIED_TO_ALL - denied
    body = {name: asked.get(name) for name in ASKED}
    body["SecurityOpt"] = [option for option in asked["SecurityOpt"] if option not in filters]
    body["LogConfig"] = asked["LogConfig"]["Type"]
    body["Mounts"] = [mount if mount["Target"] != "/etc/hosts" else hosts_of(mount) for mount in body["Mounts"]]
    for mount in body["Mounts"]:
        assert mount["Source"].startswith("glovebox-glove-")
        mount["Source"] = "glovebox-glove"
    body["RestartPolicy"]["Name"] = body["RestartPolicy"]["Name"] or "no"  # older ones say nothing
    body["PortBindings"] = body["PortBindings"] or None  # newer ones say that there are none
    body["User"], body["Env"], body["Cmd"] = config["User"], config["Env"], config["Cmd"]
    body["Healthcheck"], body["NetworkDisabled"] = config["Healthcheck"], config["NetworkDisabled"]
    body["labels"] = sorted(config["Labels"])
    body["networks"] = sorted(inspected["NetworkSettings"]["Networks"])
    return body


@pytest.mark.docker_only
def test_the_body_of_a_container_is_the_golden_one(inspected):
    """What is read-only there is the engine's choice: newer ones add to it."""
    body = body_of(inspected)
    path = GOLDEN / "body.json"
    if os.environ.get("GLOVEBOX_GOLDEN") == "write":
        path.write_text(json.dumps(body, indent=1, sort_keys=True) + "\n")
    golden = json.loads(path.read_text())
    assert set(golden.pop("ReadonlyPaths")) <= set(body.pop("ReadonlyPaths"))
    assert body == golden


def says(docker, script):
    done = docker.run(script)
    assert done.exit_code == 0, done
    return done.stdout


def test_a_run_has_no_capability_and_no_way_to_get_one(docker):
    text = says(docker, "grep -E '^(Cap|NoNewPrivs|Seccomp:|Uid|Gid|Groups)' /proc/self/status")
    fields = dict(line.split(":", 1) for line in text.splitlines())
    assert {name: int(fields[name], 16) for name in fields if name.startswith("Cap")} == {
        "CapInh": 0, "CapPrm": 0, "CapEff": 0, "CapBnd": 0, "CapAmb": 0}
    assert fields["NoNewPrivs"].strip() == "1" and fields["Seccomp"].strip() == "2"
    assert set(fields["Uid"].split()) == {"1000"} and set(fields["Gid"].split()) == {"1000"}
    assert not fields["Groups"].split()


def test_nothing_but_its_own_places_can_be_written(docker):
    text = says(docker, "for d in / /bin /dev /etc /proc /proc/sys /sys /sys/fs/cgroup/memory /usr"
                        " /.glovebox; do (echo x > $d/f) 2>/dev/null && echo $d; done; :")
    assert text == ""
    text = says(docker, "for f in /.glovebox/*; do (echo x >> $f) 2>/dev/null && echo $f;"
                        " rm -f $f 2>/dev/null && echo removed; done; :")
    assert text == ""


def test_what_is_writable_gives_no_rights(docker):
    mounts = [line.split() for line in says(docker, "cat /proc/mounts").splitlines()]
    for _, target, kind, options, *_ in mounts:
        words = options.split(",")
        if kind == "tmpfs" and "rw" in words and not target.startswith(("/dev", "/proc", "/sys")):
            assert "nosuid" in words and "nodev" in words, (target, options)
    root = next(options for _, target, _, options, *_ in mounts if target == "/")
    assert "ro" in root.split(",")
    glove = next(options for _, target, _, options, *_ in mounts if target == "/.glovebox")
    assert "ro" in glove.split(",")


def test_there_is_no_network_and_no_engine(docker):
    assert says(docker, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '") == "lo\n"
    text = says(docker, f"ls -d {docker.engine.socket} {docker.engine.base} /var/run/docker.sock"
                        " 2>/dev/null; find / -xdev -type s 2>/dev/null; :")
    assert text == ""


def test_its_own_names_are_found(docker):
    """No engine writes them where it makes no network."""
    assert "localhost" in says(docker, "cat /etc/hosts")
    for name in ("localhost", "127.0.0.1", "::1"):
        text = says(docker, f"nc -ll -p 4000 -e echo hi & until nc {name} 4000 </dev/null 2>/dev/null; do usleep 50000; done")
        assert text == "hi\n", (name, text)


@pytest.mark.parametrize(("cpus", "seen"), [("0.5", "0"), ("1", "0"), ("1.5", "0-1"), ("2", "0-1")])
def test_of_the_devices_there_are_the_processors_of_the_box_alone(docker, cpus, seen):
    """As in native boxes; of the rest of /sys/devices not the name is seen, whatever this machine has."""
    text = docker.run("find /sys/devices; cd /sys/devices/system/cpu; cat online possible; for f in online possible new; do"
                      " (echo 9 >$f) 2>/dev/null && echo written; done; rm -f online 2>/dev/null; ls", cpus=cpus).stdout
    files = [f"/sys/devices{name}" for name in ("", "/system", "/system/cpu", "/system/cpu/online", "/system/cpu/possible")]
    lines = text.splitlines()
    assert sorted(lines[:5]) == files and lines[5:] == [seen, seen, "online", "possible"], text


def test_namespaces_are_its_own(docker):
    names = ("cgroup", "ipc", "mnt", "net", "pid", "uts")
    text = says(docker, f"for n in {' '.join(names)}; do readlink /proc/self/ns/$n; done")
    here = [os.readlink(f"/proc/self/ns/{name}") for name in names if f"{name}_ns" != docker.lacks]
    assert len(text.split()) == len(names) and not set(text.split()) & set(here)


# ---- from the host --------------------------------------------------------------------------------

# Of what the kernel says of a process, what is a right and no habit of this host or this engine.
RIGHTS = ("threads", "namespaces", "limits", "oom_score_adj", "environment")


OWN_TYPES = (*posture.OWN_TYPES, "sysfs")


def own_mounts(pid):
    """Mount point -> type and flags; what is masked is the body's affair."""
    found = {}
    for line in host.read(f"/proc/{pid}/mountinfo").splitlines():
        fields, kind = line.split(), line.partition(" - ")[2].split()[0]
        flags = [flag for flag in fields[5].split(",") if flag not in posture.ACCESS_TIMES]
        if not fields[4].startswith(("/proc/", "/sys/")):
            found[fields[4]] = " ".join([kind if kind in OWN_TYPES else "the engine's", *flags])
    return found


def seen(pid):
    """What the host sees of one process of a container."""
    whole = posture.of(pid)
    found = {name: whole[name] for name in RIGHTS}
    found["limits"] = {name: found["limits"][name] for name in
                       ("Max core file size", "Max open files", "Max locked memory", "Max msgqueue size")}
    found["mounts"] = own_mounts(pid)
    found["apparmor"] = host.read(f"/proc/{pid}/attr/current").strip("\0\n") or "none"
    return found


def test_the_host_sees_a_container_as_the_document_says(docker, inspected):
    """docs/internals/posture.md; ids, capabilities and filters on every engine, the rest on that of every check."""
    pids = {process.pid for process in docker.processes()}
    [glove] = [process.pid for process in docker.processes() if process.ppid not in pids]
    [minder] = [process.pid for process in docker.processes() if process.ppid == glove]
    [program] = [process.pid for process in docker.processes() if process.ppid == minder]
    found = {"glove": seen(glove), "minder": seen(minder), "program": seen(program)}
    path = GOLDEN / "posture.json"
    if os.environ.get("GLOVEBOX_GOLDEN") == "write":
        path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    golden = json.loads(path.read_text())
    for side in golden.values():  # this machine may have none, or Docker's own
        assert side.pop("apparmor") in ("none", "unconfined", "docker-default (enforce)")
    for side in found.values():
        assert side.pop("apparmor") in ("none", "unconfined", "docker-default (enforce)")
    differences = posture.compare(found, golden)
    if os.environ.get("GLOVEBOX_DOCKER"):
        differences = [line for line in differences if "/threads" in line.partition(":")[0]]
    assert not differences, "\n".join(differences)
