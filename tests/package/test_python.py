# SPDX-License-Identifier: Apache-2.0
"""Python packages: real pip installs from local indexes, later boxes only read."""
import os
import re
import socket
import subprocess
import threading

import pytest

from lib import box, host, indexes, pace

SECRET = "hunter2-is-planted"
USE = "import alpha; print(alpha.NAME, alpha.VERSION)"


def run(code=None, *, packages=(), options=(), env=None, **more):
    words = [word for name in packages for word in ("--package", name)]
    return box.run(code, language=None if "argv" in more else "python", options=[*words, *options],
                   host_env=env, **more)


def layers(cache):
    return sorted(os.listdir(cache / "layers"))


def assert_clean(cache):
    """Nothing half: what is there has a manifest, nothing is under way, no lock is of nothing."""
    assert os.listdir(cache / "new") == []
    assert set(os.listdir(cache / "locks")) <= set(layers(cache))
    for name in layers(cache):
        assert (cache / "layers" / name / "manifest.json").exists()


def everything(folder):
    """The bytes of all files below a folder."""
    for root, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(root, name), "rb") as file:
                yield os.path.join(root, name), file.read()


# ---- installing and using ------------------------------------------------------------------------

def test_a_package_is_installed_once_and_then_works_without_its_index(index, cache):
    digest = index.add("alpha", needs=["beta>=1"])
    index.add("beta")
    first = run(USE, packages=["alpha"], env=index.env())
    assert first.verdict == "ok" and first.stdout == "alpha 1.0\n", first
    assert first.install["cached"] is False and first.install["failure"] is None
    named = {package["name"]: package for package in first.packages}
    assert set(named) == {"alpha", "beta"}
    assert named["alpha"] == {"name": "alpha", "version": "1.0", "kind": "python", "sha256": digest}
    index.close()
    second = run(USE, packages=["Alpha"], env=index.env())
    assert second.verdict == "ok" and second.install == {"cached": True, "ms": 0, "failure": None}
    assert second.packages == first.packages
    assert_clean(cache)


def test_packages_are_found_in_isolated_mode_and_stand_behind_the_standard_library(index):
    index.add("alpha", more={"json.py": b"raise SystemExit('shadowed')\n"})
    code = "import json, sys, alpha; print(json.dumps(sys.path.count('/opt/packages/python')))"
    for flags in ((), ("-I",), ("-E",), ("-s",)):
        done = run(argv=["python3", *flags, "-c", code], packages=["alpha"], env=index.env())
        assert done.stdout == "1\n", (flags, done)


def test_programs_of_packages_are_on_the_path(index):
    index.add("alpha", text="def main():\n    print('from a program')\n", scripts=["alpha-tool"])
    done = run(argv=["alpha-tool"], packages=["alpha"], env=index.env())
    assert done.stdout == "from a program\n", done


def test_compiled_code_is_used_though_nothing_can_be_written(index):
    index.add("alpha")
    done = run("import alpha; print(alpha.__cached__); import os; print(os.path.exists(alpha.__cached__));"
               "open('/opt/packages/python/x', 'w')", packages=["alpha"], env=index.env())
    lines = done.stdout.split()
    assert lines[0].startswith("/opt/packages/python/alpha/__pycache__/") and lines[1] == "True", done
    assert done.exit_code == 1 and "Read-only file system" in done.stderr, done


def test_the_box_that_runs_has_no_network(index):
    index.add("alpha")
    code = f"import alpha, socket; socket.create_connection(('127-0-0-1.address.internal', {index.port}))"
    done = run(code, packages=["alpha"], env=index.env())
    assert done.exit_code == 1 and "gaierror" in done.stderr, done


def test_pip_in_the_box_is_content_with_what_is_there_and_fails_at_once_otherwise(index):
    index.add("alpha", needs=["beta"])
    index.add("beta")
    code = ("import os, subprocess, sys, time\n"
            "def took(*words):\n"
            "    start = time.monotonic()\n"
            "    done = subprocess.run(words, capture_output=True, text=True)\n"
            f"    print(done.returncode, time.monotonic() - start < {pace.within(1)}, done.stdout[-300:], done.stderr[-300:])\n"
            "took(sys.executable, '-m', 'pip', 'install', 'alpha', 'beta')\n"
            "took('pip', 'install', 'alpha')\n"
            "took(sys.executable, '-m', 'pip', 'install', 'gamma')\n"
            "print(os.system('pip list | grep alpha'))\n")
    done = run(code, packages=["alpha"], env=index.env())
    assert re.search(r"^0 True .*Requirement already satisfied: alpha.*^0 True.*^1 True.*No matching distribution",
                     done.stdout, re.M | re.S), done
    assert re.search(r"^alpha +1.0$", done.stdout, re.M), done


def test_pip_without_packages_fails_at_once_too():
    done = run(argv=["python3", "-m", "pip", "install", "gamma"])
    assert done.exit_code == 1 and "No matching distribution" in done.stderr, done
    assert done.seconds < pace.within(1), done


def test_what_pip_would_install_unasked_is_told_with_the_option(index):
    """S3-06"""
    index.add("alpha")
    code = "import os\nos.system('pip install -q alpha')\nimport alpha\n"
    done = run(code, env=index.env())
    assert done.exit_code == 1 and done.packages is None and not index.asked, done
    assert len(done.notes) == 1 and "alpha" in done.notes[0] and "--auto-packages" in done.notes[0], done
    plain = run(code, env=index.env(), as_json=False)
    assert b"--auto-packages" in plain.err, plain
    calm = run("import os\nos.system('pip install -q pip')", env=index.env())
    assert calm.verdict == "ok" and calm.notes is None, calm


def test_with_a_network_too_pip_is_content_with_what_is_there(index):
    index.add("alpha")
    done = run(argv=["pip", "install", "alpha"], packages=["alpha"], options=["--net", "example.org"], env=index.env())
    assert done.exit_code == 0 and "already satisfied" in done.stdout, done


def test_two_sets_are_two_layers(index, cache):
    index.add("alpha")
    index.add("beta")
    run("1", packages=["alpha"], env=index.env())
    run("1", packages=["alpha", "beta"], env=index.env())
    again = run("1", packages=["beta", "Alpha"], env=index.env())
    assert again.install["cached"] is True and len(layers(cache)) == 2


def test_a_requirements_file_with_hashes(index, place):
    digest = index.add("alpha")
    path = place.cwd / "req.txt"
    path.write_text(f"# wanted\nalpha==1.0 \\\n  --hash=sha256:{digest}\n")
    good = run(USE, options=["--requirements", path], env=index.env())
    assert good.stdout == "alpha 1.0\n", good
    path.write_text(f"alpha==1.0 --hash=sha256:{'0' * 64}\n")
    bad = run(USE, options=["--requirements", path], env=index.env())
    assert bad.install["failure"] == "hash_mismatch" and bad.returncode == 125, bad


def test_an_ordinary_user_has_a_cache_of_its_own(index, host_user, place):
    index.add("alpha")
    os.environ["GLOVEBOX_CACHE_DIR"] = str(place.home / "cache")
    for cached in (False, True):
        done = run(USE, packages=["alpha"], env=index.env(), as_user=host_user)
        assert done.stdout == "alpha 1.0\n" and done.install["cached"] is cached, done


# ---- what packages may do ------------------------------------------------------------------------

def test_build_steps_run_in_the_install_box_only(index, place):
    marker = place.base / "escaped"
    index.offer("gamma", *indexes.sdist("gamma", "2.0", (
        "import os, sys\n"
        f"try:\n    open({str(marker)!r}, 'w')\nexcept OSError:\n    pass\n"
        "print('HOME', os.environ.get('HOME'), os.getuid(), file=sys.stderr)\n"
        "from setuptools import setup\nsetup(name='gamma', version='2.0', py_modules=['gamma'])\n")))
    done = run("import gamma; print(gamma.NAME)", packages=["gamma"], env=index.env())
    assert done.stdout == "gamma\n", done
    assert not marker.exists()


def test_a_build_step_reaches_the_index_alone(index, place):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        index.offer("gamma", *indexes.sdist("gamma", "2.0", (
            "import socket\n"
            f"for host in ('127-0-0-1.address.internal', '127.0.0.1', 'example.org'):\n"
            f"    try:\n        socket.create_connection((host, {port}), 3).sendall(b'x')\n"
            "    except OSError:\n        pass\n"
            "from setuptools import setup\nsetup(name='gamma', version='2.0', py_modules=['gamma'])\n")))
        done = run("import gamma", packages=["gamma"], env=index.env())
        assert done.verdict == "ok", done
        other.setblocking(False)
        with pytest.raises(BlockingIOError):
            other.accept()


# ---- credentials ---------------------------------------------------------------------------------

def test_credentials_of_the_index_are_seen_by_nobody(index, cache):
    index.login = f"user:{SECRET}"
    index.add("alpha")
    look = ("import alpha, os\nprint(sorted(os.environ.items()))\n"
            "for top in ('/opt', '/tmp', '/etc/python3.11', '/home', '/workspace'):\n"
            "    for root, _, names in os.walk(top):\n"
            "        for name in names:\n"
            "            try:\n"
            "                with open(os.path.join(root, name), 'rb') as file:\n"
            f"                    if b'hunter2' + b'-is-planted' in file.read(1 << 20): print('LEAK', root, name)\n"
            "            except OSError: pass\n")
    done = run(look, packages=["alpha"], env=index.env(login=index.login))
    assert done.verdict == "ok" and "LEAK" not in done.stdout, done
    assert SECRET.encode() not in done.out + done.err
    assert not [path for path, data in everything(cache) if SECRET.encode() in data]


def test_no_code_of_a_package_runs_near_credentials(index, cache):
    index.login = f"user:{SECRET}"
    index.offer("gamma", *indexes.sdist("gamma", "2.0", (
        "import os\nraise SystemExit(repr(os.environ))\n")))
    done = run("1", packages=["gamma"], env=index.env(login=index.login))
    assert done.returncode == 125 and SECRET.encode() not in done.out + done.err, done
    assert index.fetched("gamma") == 0
    assert layers(cache) == []


def test_wrong_credentials_are_told_without_them(index):
    index.login = "user:right"
    index.add("alpha")
    done = run("1", packages=["alpha"], env=index.env(login=f"user:{SECRET}"))
    assert done.install["failure"] == "credentials" and done.returncode == 125, done
    assert SECRET.encode() not in done.out + done.err


def test_a_proxy_and_an_index_beside_it(index, cache):
    """I07: what is behind the proxy goes through it, with credentials that nobody sees; what is near does not."""
    index.login = f"user:{SECRET}"
    index.add("alpha", needs=["beta"])
    with indexes.PythonIndex() as near:
        near.add("beta")
        env = {"PIP_CONFIG_FILE": "/dev/null", "PIP_INDEX_URL": "http://packages.test/simple",
               "PIP_TRUSTED_HOST": "packages.test", "PIP_EXTRA_INDEX_URL": near.url(),
               "HTTP_PROXY": f"http://{index.login}@127.0.0.1:{index.port}"}
        done = run("import alpha, beta, os; print(alpha.NAME, beta.NAME, os.environ)", packages=["alpha"], env=env)
        assert done.stdout.startswith("alpha beta "), done
        assert near.fetched("beta") == 1
    assert index.asked and all(path.startswith("http://packages.test:80/") for path in index.asked), index.asked
    assert SECRET.encode() not in done.out + done.err and "PROXY" not in done.stdout
    assert not [path for path, data in everything(cache) if SECRET.encode() in data]


@pytest.mark.parametrize("place_of", ["file", "variable"])
def test_credentials_of_a_configuration_file_are_seen_by_nobody(index, cache, place, place_of):
    """I07: also not in the arguments of any process of the host."""
    index.login = f"user:{SECRET}"
    index.add("alpha")
    index.gate = threading.Event()
    config = place.home / "own.conf"
    config.write_text(f"[global]\nindex-url = {index.url(index.login)}\n")
    env = {"PIP_CONFIG_FILE": str(config)} if place_of == "file" else index.env(login=index.login)
    words = box.command("import alpha; print(open('/proc/self/environ').read())", language="python",
                        options=["--package", "alpha"])
    process = subprocess.Popen(words, env=box.environment(env), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        assert host.until(lambda: index.fetched("alpha") == 1, 30)
        seen = host_arguments()
        assert b"glovebox" in seen and SECRET.encode() not in seen
    finally:
        index.gate.set()
        out = process.communicate(timeout=60)[0]
    assert process.returncode == 0 and SECRET.encode() not in out, out
    assert not [path for path, data in everything(cache) if SECRET.encode() in data]


def host_arguments():
    """The arguments of every process there is; one that has gone has none."""
    seen = b""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                seen += file.read()
        except OSError:
            pass
    return seen


# ---- hostile archives ----------------------------------------------------------------------------

def test_an_archive_that_leads_out_of_its_place_changes_nothing(index, cache, place):
    """S03: paths with .. and absolute ones; the host and other layers stay as they are."""
    marker = place.base / "escaped"
    for more in ({"../../../../escaped": b"x"}, {f"{marker}": b"x"}):
        index.files.clear(), index.projects.clear()
        index.add("alpha", more=more)
        done = run("print('ran')", packages=["alpha"], env=index.env())
        assert not marker.exists()
        if done.returncode:
            assert done.install["failure"] and layers(cache) == [], done
        for name in layers(cache):
            assert set(os.listdir(cache / "layers" / name)) <= {"etc", "manifest.json", "tree"}
    assert_clean(cache)


def test_what_a_package_does_at_start_happens_in_the_box(index, place):
    """S03: a .pth file runs code when Python starts: in boxes that asked for it, and nowhere else."""
    marker = place.base / "escaped"
    index.add("alpha", more={"start.pth": f"import os, sys; sys.stderr.write('pth ' + str(os.getuid())); "
                                          f"os.path.exists({str(place.base)!r}) and open({str(marker)!r}, 'w')\n".encode()})
    done = run("import alpha; print(alpha.NAME)", packages=["alpha"], env=index.env())
    assert done.stdout == "alpha\n" and "pth 1000" in done.stderr, done
    assert not marker.exists()
    assert "pth" not in run("1", env=index.env()).stderr


# ---- failures ------------------------------------------------------------------------------------

@pytest.mark.parametrize("wish, failure", [
    ("nosuch", "no_such_package"), ("alpha>9", "no_version"), ("conflicted", "conflict")])
def test_what_the_index_lacks_is_told(index, cache, wish, failure):
    index.add("alpha")
    index.add("alpha", "2.0")
    index.add("one", needs=["alpha<2"])
    index.add("conflicted", needs=["alpha>=2", "one"])
    done = run("print('ran')", packages=[wish], env=index.env())
    assert done.install["failure"] == failure and done.returncode == 125, done
    assert done.verdict == "sandbox_error" and done.error["remedy"] and done.install["log"], done
    assert layers(cache) == []
    assert_clean(cache)


def test_an_index_that_is_gone_is_told(index):
    index.close()
    done = run("1", packages=["alpha"], env=index.env())
    assert done.install["failure"] == "unreachable", done


def test_a_machine_without_a_network_is_told(index):
    """An index of this machine's own needs none."""
    words = ["unshare", "-n", *box.command("1", language="python", options=["--package", "alpha"])]
    env = {"PIP_CONFIG_FILE": "/dev/null", "PIP_INDEX_URL": "https://packages.test/simple"}
    done = box.run_words(words, host_env=env)
    assert done.install["failure"] == "offline" and "no network" in done.error["message"], done
    assert "connect it" in done.error["remedy"]
    index.close()
    done = box.run_words(words, host_env=index.env())
    assert done.install["failure"] == "unreachable", done


@pytest.mark.parametrize("way, host", [
    ("ip address add 192.0.2.1/24 dev lo", "192.0.2.9"), ("ip -6 route add default dev lo", "packages.test")])
def test_a_net_without_a_way_out_and_one_of_the_sixth_version_are_networks(way, host):
    words = ["unshare", "-n", "sh", "-c", f'ip link set lo up && {way} && exec "$@"', "sh",
             *box.command("1", language="python", options=["--package", "alpha"])]
    done = box.run_words(words, host_env={"PIP_CONFIG_FILE": "/dev/null", "PIP_INDEX_URL": f"https://{host}/simple"})
    assert done.install["failure"] == "unreachable", done


def test_an_index_that_lies_about_hashes_is_told(index, cache):
    index.add("alpha")
    index.lies = True
    done = run("1", packages=["alpha"], env=index.env())
    assert done.install["failure"] == "hash_mismatch", done
    assert layers(cache) == []


def test_an_index_that_leads_elsewhere_is_told_with_the_host(index):
    index.add("alpha")
    index.links["alpha"] = "http://files.elsewhere.test:1234/files"
    done = run("1", packages=["alpha"], env=index.env())
    assert done.install["failure"] == "not_allowed", done
    assert "files.elsewhere.test" in done.error["message"] and "packages.hosts" in done.error["remedy"]


@pytest.mark.parametrize("deny", ["127.0.0.1", "full"])
def test_an_index_that_the_operator_denies_is_not_reached(index, cache, deny):
    index.add("alpha")
    done = run("1", packages=["alpha"], env={**index.env(), "GLOVEBOX_NET_DENY": deny})
    assert done.install["failure"] == "denied" and "net.deny" in done.error["remedy"], done
    assert index.asked == [] and layers(cache) == []


def test_an_index_that_keeps_one_waiting_is_given_up(index, cache):
    index.add("alpha")
    index.gate = threading.Event()
    done = run("1", packages=["alpha"], env={**index.env(), "GLOVEBOX_PACKAGES_TIMEOUT": "4s"})
    assert done.install["failure"] == "timeout", done
    assert layers(cache) == []
    assert_clean(cache)


def test_packages_that_do_not_fit_are_told(index, cache):
    index.add("alpha", more={"alpha/data": os.urandom(24 << 20)})
    done = run("1", packages=["alpha"], env={**index.env(), "GLOVEBOX_PACKAGES_DISK": "16m"})
    assert done.install["failure"] == "disk_full", done
    assert layers(cache) == []


def test_the_last_words_of_the_installer_are_shown_without_json(index):
    index.add("alpha")
    done = run("1", packages=["nosuch"], env=index.env(), as_json=False)
    text = done.err.decode()
    assert "glovebox: installing nosuch\n" in text and "ERROR: No matching distribution" in text, done
    assert "no such package" in text and done.returncode == 125


@pytest.mark.parametrize("options", [
    ["--package", "-r"], ["--package", "a;id"], ["--package", "a @ https://evil/x.whl"], ["--package", "../x"],
    ["--package", ""], ["--package", "a$(id)"], ["--npm", "user/repo"], ["--npm", "a@npm:b"], ["--npm", "A"],
    ["--requirements", "/nonexistent"], ["--requirements", "/dev/zero"], ["--package-json", "/etc/hostname"]])
def test_what_is_no_package_is_a_mistake_of_the_caller(options, index, cache):
    done = box.run("1", language="python", options=options, host_env=index.env(), as_json=False)
    assert done.returncode == 2 and done.out == b"", done
    assert done.err.startswith(b"glovebox: ") and len(done.err.splitlines()) <= 2, done
    assert not index.asked and not cache.exists()


# ---- what the code says --------------------------------------------------------------------------

def test_imports_and_pip_in_the_code_are_found_beforehand(index):
    index.add("alpha")
    index.add("beta")
    code = ("import os, json\nimport alpha\n"
            "print(os.system('pip install -q beta'))\nimport beta\nprint(alpha.NAME, beta.NAME)\n")
    done = run(code, options=["--auto-packages"], env=index.env())
    assert done.stdout == "0\nalpha beta\n", done
    plain = run("import json; print(1)", options=["--auto-packages"], env=index.env())
    assert plain.stdout == "1\n" and plain.packages is None, plain


def test_a_program_that_imports_too_much_is_told_so_before_anything_is_begun(index, cache):
    done = run("".join(f"import module{n}\n" for n in range(501)), options=["--auto-packages"], env=index.env())
    assert done.returncode == 2 and b"imports: more than 500 packages" in done.err, done
    assert index.asked == [] and not (cache / "layers").exists()


def test_pip_in_the_code_is_found_with_any_option_for_packages(index):
    """S3-06: imports are found with --auto-packages only."""
    index.add("alpha")
    index.add("beta")
    code = "import subprocess, sys\nsubprocess.check_call([sys.executable, '-m', 'pip', 'install', 'beta'])\n" \
           "import alpha, beta\nprint(alpha.NAME, beta.NAME)\n"
    done = run(code, packages=["alpha"], env=index.env())
    assert done.stdout.endswith("alpha beta\n"), done


@pytest.mark.parametrize("line", ["!pip install -q alpha", "%pip install -q 'alpha>=1'", "!{sys.executable} -m pip install -q alpha"])
def test_lines_of_a_notebook_run(index, place, line):
    """S3-06: and the lines behind them keep their numbers."""
    index.add("alpha")
    code = f"import sys\nif True:\n    {line}\nimport alpha\nprint(alpha.NAME, sys._getframe().f_lineno)\n"
    done = run(code, options=["--auto-packages"], env=index.env())
    assert done.verdict == "ok" and done.stdout == "alpha 5\n", done
    path = place.cwd / "cells.py"
    path.write_text(code)
    done = run(path=path, options=["--auto-packages"], env=index.env())
    assert done.stdout == "alpha 5\n" and path.read_text() == code, done


def test_a_module_of_the_callers_own_is_no_package(index, place):
    """S03: whoever offers a package of that name gets nothing run."""
    for name in ("utils", "inner", "deep", "main", "alpha"):
        index.add(name, text=f"raise SystemExit('a stranger: {name}')")
    index.add("beta")
    project = place.cwd / "project"
    (project / "tools").mkdir(parents=True)
    (project / "src" / "deep").mkdir(parents=True)
    (project / "src" / "deep" / "__init__.py").write_text("NAME = 'own'\n")
    (project / "utils.py").write_text("NAME = 'own'\n")
    (project / "tools" / "inner.py").write_text("NAME = 'own'\n")
    main = project / "tools" / "main.py"
    main.write_text("import sys; sys.path.append('/workspace/src')\n"
                    "import beta, deep, inner, main, utils\nprint(beta.NAME, deep.NAME, inner.NAME, utils.NAME)\n")
    done = run(path=main, options=["--auto-packages", "--workspace", project], env=index.env())
    assert "beta own own own" in done.stdout, done
    assert [package["name"] for package in done.packages] == ["beta"], done
    done = run("import utils, alpha; print(utils.NAME, alpha.N)",
               options=["--auto-packages", "--file", project / "utils.py", "--file",
                        f"{make(place, 'x.py', 'N = 1')}:/workspace/alpha.py"], env=index.env())
    assert done.stdout == "own 1\n" and done.packages is None, done
    assert not [path for path in index.asked if "beta" not in path]


def make(place, name, text):
    path = place.cwd / name
    path.write_text(text)
    return path


def test_what_the_python_of_a_toolchain_has_is_not_missing(index, other_python):
    for name in ("homemade", "yaml", "alpha"):
        index.add(name)
    done = run("import homemade, alpha; print(homemade.NAME, alpha.NAME)", env=index.env(),
               options=["--auto-packages", "--toolchain", other_python])
    assert done.stdout == "homemade alpha\n", done
    assert [package["name"] for package in done.packages] == ["alpha"], done


# ---- the real index ------------------------------------------------------------------------------

def test_a_package_of_the_real_index(real_index):
    done = run("import requests; print(requests.__name__)", packages=["requests"], env=real_index, outer=200)
    assert done.stdout == "requests\n", done
    assert all(re.fullmatch("[0-9a-f]{64}", package["sha256"]) for package in done.packages)


PANDAS = ("import requests, numpy, pandas; print(pandas.DataFrame({'a': numpy.arange(3)}).a.sum())",
          ["requests", "numpy>=1.26", "pandas"])
IDNA = ("import idna; print(3)", ["idna"])


@pytest.mark.parametrize("code, names", [IDNA, PANDAS][:pace.count(1, 2)], ids=["small", "large"][:pace.count(1, 2)])
def test_the_second_use_of_the_real_index_is_none(real_index, code, names):
    """Large packages in a proof."""
    for cached in (False, True):
        done = run(code, packages=names, env=real_index, outer=400)
        assert done.stdout == "3\n" and done.install["cached"] is cached, done
