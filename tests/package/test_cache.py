# SPDX-License-Identifier: Apache-2.0
"""The cache of packages: one installer a set, nothing half visible, nothing in use removed."""
import concurrent.futures
import json
import os
import random
import select
import signal
import subprocess
import threading
import time

import pytest

from lib import box, host, kept, pace, place as places
from test_python import USE, assert_clean, layers, run

KILLS = pace.count(check=5, proof=60)


def cache_command(*words):
    return box.run_words([str(places.binary()), "cache", *words])


def test_parallel_requests_for_one_set_install_once(index, cache):
    index.add("alpha")
    callers = pace.count(check=4, proof=20)
    with concurrent.futures.ThreadPoolExecutor(callers) as pool:
        ends = [pool.submit(run, USE, packages=["alpha"], env=index.env()) for _ in range(callers)]
        results = [end.result() for end in ends]
    assert [result.stdout for result in results] == ["alpha 1.0\n"] * callers, results
    assert index.fetched("alpha") == 1
    assert sorted(result.install["cached"] for result in results) == [False] + [True] * (callers - 1)
    assert_clean(cache)


@pytest.mark.serial
def test_an_installation_killed_at_any_moment_leaves_nothing_half(index, cache):
    index.add("alpha", more={f"alpha/m{n}.py": b"x = 1\n" for n in range(200)})
    words = box.command(USE, language="python", options=["--package", "alpha"])
    for seed in range(KILLS):
        process = subprocess.Popen(words, env=box.environment(index.env()), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            process.wait(random.Random(seed).uniform(0.02, 2.5))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        for name in layers(cache) if cache.exists() else ():
            tree = cache / "layers" / name / "tree" / "alpha"
            assert (cache / "layers" / name / "manifest.json").exists() and (tree / "m199.py").exists()
            assert cache_command("rm", name).returncode == 0
    done = run(USE, packages=["alpha"], env=index.env())
    assert done.stdout == "alpha 1.0\n", done
    assert_clean(cache)
    assert len(layers(cache)) == 1


def killed(words, env, delay):
    """Starts a command and kills it so many seconds later, if it lives as long."""
    process = subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(delay)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()


@pytest.mark.serial
@pytest.mark.parametrize("kind", ["npm", "box create"])
def test_other_installations_killed_at_any_moment_leave_nothing_half(index, registry, cache, kind):
    """L05, L07"""
    files = {f"m{n}.js": "1\n" for n in range(100)}
    registry.add("alpha", files={"index.js": "module.exports = 'alpha'\n", **files})
    index.add("alpha", more={f"alpha/m{n}.py": b"x = 1\n" for n in range(100)})
    env = box.environment(kept.environment({**index.env(), **registry.env()}))
    if kind == "npm":
        words = box.command("console.log(require('alpha'))", language="javascript", options=["--npm", "alpha"])
        last = "tree/node_modules/alpha/m99.js"
    else:
        words, last = kept.words("create", "--package", "alpha"), "tree/alpha/m99.py"
    for seed in range(pace.count(check=3, proof=30)):
        killed(words, env, random.Random(seed).uniform(0.05, 3))
        for name in layers(cache) if cache.exists() else ():
            assert (cache / "layers" / name / "manifest.json").exists() and (cache / "layers" / name / last).exists()
    for made in kept.listed():
        assert kept.call("rm", made["id"]).returncode == 0
    assert host.until(lambda: cache_command("prune", "--all").returncode == 0 and layers(cache) == [], 30)
    done = run(USE, packages=["alpha"], env=index.env())
    assert done.stdout == "alpha 1.0\n", done
    assert_clean(cache)


def test_whoever_waits_for_one_that_is_killed_installs_itself(index, cache):
    """L07; and says both."""
    index.add("alpha")
    index.gate = threading.Event()
    words = box.command(USE, language="python", options=["--package", "alpha"])
    first = subprocess.Popen(words, env=box.environment(index.env()), stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    assert host.until(lambda: index.fetched("alpha") == 1, 30)
    words = box.command(USE, language="python", options=["--package", "alpha"], as_json=False)
    second = subprocess.Popen(words, env=box.environment(index.env()), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
    try:
        assert select.select([second.stderr], [], [], 30)[0]
        first.kill()
        first.wait()
        assert host.until(lambda: index.fetched("alpha") == 2, 30)
        index.gate.set()
        out, err = second.communicate(timeout=60)
        assert second.returncode == 0 and b"alpha 1.0" in out, (out, err)
        assert err.splitlines() == [b"glovebox: waiting for another that installs alpha",
                                    b"glovebox: installing alpha"]
    finally:
        index.gate.set()
        if second.poll() is None:
            second.kill()
            second.communicate()
    assert_clean(cache)


@pytest.mark.serial
def test_a_cache_on_a_full_disk(index, cache, place):
    index.add("alpha", more={"alpha/data": os.urandom(8 << 20)})
    index.add("beta", more={"beta/data": os.urandom(24 << 20)})
    cache.mkdir(mode=0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=700", "none", cache], check=True)
    try:
        small = run(USE, packages=["alpha"], env=index.env())
        assert small.stdout == "alpha 1.0\n", small
        for _ in range(2):
            large = run("1", packages=["beta"], env=index.env())
            assert large.returncode == 125 and "No space left" in large.error["message"], large
            assert large.install["failure"] == "disk_full", large
            assert len(layers(cache)) == 1
            assert_clean(cache)
        assert run(USE, packages=["alpha"], env=index.env()).install["cached"] is True
        subprocess.run(["mount", "-o", "remount,size=128m", cache], check=True)
        again = run("import beta; print(beta.NAME)", packages=["beta"], env=index.env())
        assert again.stdout == "beta\n", again
    finally:
        subprocess.run(["umount", cache], check=True)


def test_nothing_in_use_is_removed(index, cache):
    index.add("alpha")
    run("1", packages=["alpha"], env=index.env())
    key = layers(cache)[0]
    with box.start("import alpha; print('up', flush=True); input(); import alpha.late; print(alpha.late.X)",
                   language="python", options=["--package", "alpha"], host_env=index.env()) as living:
        living.expect(b"up")
        listed = json.loads(cache_command("list", "--json").out)["layers"]
        assert [layer["in_use"] for layer in listed] == [True]
        refused = cache_command("rm", key)
        assert refused.returncode == 2 and b"is in use" in refused.err, refused
        pruned = json.loads(cache_command("prune", "--all", "--json").out)
        assert pruned["removed"] == [] and pruned["in_use"] == 1
        assert layers(cache) == [key]
    assert host.until(lambda: cache_command("rm", key[:12]).returncode == 0, 30)
    assert layers(cache) == []


def test_list_prune_and_rm(index, cache):
    index.add("alpha")
    index.add("beta")
    run("1", packages=["alpha"], env=index.env())
    [alpha] = layers(cache)
    earlier = time.time() - 60  # uses are told apart by whole seconds
    os.utime(cache / "layers" / alpha / "manifest.json", (earlier, earlier))
    run("1", packages=["beta"], env=index.env())
    listed = cache_command("list").out.decode().splitlines()
    assert len(listed) == 2 and "beta" in listed[0] and "alpha" in listed[1], listed
    document = json.loads(cache_command("list", "--json").out)
    assert {layer["packages"][0]["name"] for layer in document["layers"]} == {"alpha", "beta"}
    assert cache_command("prune").returncode == 0 and len(layers(cache)) == 2
    old = next(layer["key"] for layer in document["layers"] if layer["packages"][0]["name"] == "beta")
    os.utime(cache / "layers" / old / "manifest.json", (0, 0))
    assert cache_command("prune", "--older-than", "24h").returncode == 0
    assert old not in layers(cache) and len(layers(cache)) == 1
    assert cache_command("rm", "ffffffff").returncode == 2
    assert cache_command("rm", "ff").returncode == 2
    assert cache_command("rm").returncode == 2
    assert cache_command("prune", "--all", "--older-than", "1h").returncode == 2
    assert cache_command("prune", "--all").returncode == 0 and layers(cache) == []


def test_looking_disturbs_nobody_and_many_can_look(index, cache):
    index.add("alpha")
    run("1", packages=["alpha"], env=index.env())
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        lists = list(pool.map(lambda _: json.loads(cache_command("list", "--json").out), range(48)))
        assert not [entry for document in lists for entry in document["layers"] if entry["in_use"]]
        ends = [pool.submit(cache_command, "list") for _ in range(16)]
        assert cache_command("rm", layers(cache)[0]).returncode == 0
        assert all(end.result().returncode == 0 for end in ends)


def test_a_cache_that_is_full_loses_what_was_not_used_for_longest(index, cache):
    for name in ("alpha", "beta", "gamma"):
        index.add(name, more={f"{name}/data": os.urandom(3 << 20)})
    env = {**index.env(), "GLOVEBOX_PACKAGES_CACHE": "8m"}
    run("1", packages=["alpha"], env=env)
    run("1", packages=["beta"], env=env)
    run("1", packages=["alpha"], env=env)
    with box.start("import alpha; print('up', flush=True); input()", language="python",
                   options=["--package", "alpha"], host_env=env) as living:
        living.expect(b"up")
        assert run("1", packages=["gamma"], env=env).verdict == "ok"
        named = {entry["packages"][0]["name"] for entry in json.loads(cache_command("list", "--json").out)["layers"]}
        assert named == {"alpha", "gamma"}
        small = {**env, "GLOVEBOX_PACKAGES_CACHE": "1m"}
        assert run("import beta; print(beta.NAME)", packages=["beta"], env=small).stdout == "beta\n"
        named = {entry["packages"][0]["name"] for entry in json.loads(cache_command("list", "--json").out)["layers"]}
        assert named == {"alpha", "beta"}


@pytest.mark.parametrize("harm", ["manifest", "basis"])
def test_a_layer_that_somebody_changed_is_refused(index, cache, harm):
    index.add("alpha")
    run("1", packages=["alpha"], env=index.env())
    layer = cache / "layers" / layers(cache)[0]
    manifest = layer / "manifest.json"
    if harm == "manifest":
        manifest.write_text("{}")
    else:
        document = json.loads(manifest.read_text())
        document[harm] = document[harm].replace("a", "b")
        manifest.write_text(json.dumps(document))
    done = run("print('ran')", packages=["alpha"], env=index.env())
    assert done.returncode == 125 and done.verdict == "sandbox_error", done
    assert "cache rm" in done.error["remedy"], done
    assert cache_command("rm", layer.name).returncode == 0


def _counters():
    """Of the installer's own group: what tells whether the kernel killed for memory."""
    return [path for group in kept.run_groups() for name in ("memory.oom_control", "memory.events")
            if os.path.exists(path := f"{group}/{name}")]


def test_an_installation_that_fails_where_nobody_could_count_has_no_reason(index, cache):
    """Whether it was the memory cannot be read any more: a counter is covered in the command's own view of the host."""
    index.add("alpha")
    index.lies = True  # it fails, and would be told as a wrong hash
    index.gate = threading.Event()
    words = box.command(USE, language="python", options=["--package", "alpha"])
    process = subprocess.Popen(["unshare", "-m", *words], env=box.environment(index.env()), stdout=subprocess.PIPE)
    try:
        assert host.until(lambda: index.fetched("alpha") == 1 and _counters(), 30)
        for path in _counters():
            subprocess.run(["nsenter", "-m", "-t", str(process.pid), "mount", "--bind", "/dev/null", path], check=True)
    finally:
        index.gate.set()
        out = process.communicate(timeout=60)[0]
    document = json.loads(out)
    assert process.returncode == 125 and document["verdict"] == "sandbox_error", document
    assert "why installing packages failed is not known" in document["error"]["message"], document
    assert layers(cache) == [] and not (document["install"] or {}).get("failure")


def test_an_installation_is_told_in_lines_of_json(index, cache):
    index.add("alpha")
    index.gate = threading.Event()
    words = box.command(USE, language="python", options=["--jsonl", "--package", "alpha"], as_json=False)
    both = []
    try:
        for awaited in ("installing", "waiting"):
            both.append(subprocess.Popen(words, env=box.environment(index.env()), stdout=subprocess.PIPE))
            told = json.loads(both[-1].stdout.readline())
            assert told == {"event": awaited, "text": "alpha"}
    finally:
        index.gate.set()
        rest = [[json.loads(line) for line in process.communicate(timeout=60)[0].splitlines()] for process in both]
    kinds = [[event["event"] for event in events] for events in rest]
    assert set(kinds[0][:kinds[0].index("begin")]) == {"installer"}, rest
    assert kinds[1][0] == "begin" and "installer" not in kinds[1]
    assert [events[-1]["document"]["stdout"] for events in rest] == ["alpha 1.0\n"] * 2
    assert any("Successfully installed" in event["text"] for event in rest[0] if event["event"] == "installer")


def test_whoever_waits_for_another_can_be_cancelled(index, cache):
    index.add("alpha")
    index.gate = threading.Event()
    words = box.command(USE, language="python", options=["--package", "alpha"])
    both = [subprocess.Popen(words, env=box.environment(index.env()), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE) for _ in range(2)]
    try:
        assert host.until(lambda: index.fetched("alpha") == 1, 30)
        for process in both:
            process.send_signal(signal.SIGINT)
        for process in both:
            process.communicate(timeout=30)
            assert process.returncode != 0
        assert layers(cache) == []
        assert_clean(cache)
    finally:
        for process in both:
            if process.poll() is None:
                process.kill()
                process.communicate()
