# SPDX-License-Identifier: Apache-2.0
"""Python packages where boxes have uv: it installs instead of pip, from the same indexes and with the same reports."""
import re
import shutil
import tempfile
import zipfile
from pathlib import Path

import pytest
from test_python import SECRET, USE, assert_clean, everything, layers, run

from lib import indexes, testbed

INSTALLER = "import pathlib; print(pathlib.Path('/opt/packages/python/alpha-1.0.dist-info/INSTALLER').read_text().strip())"


@pytest.fixture(scope="module")
def uv():
    """A tree with the real uv, which boxes are shown."""
    folder = Path(tempfile.mkdtemp(prefix="glovebox-test-", dir="/opt"))
    try:
        folder.chmod(0o755)
        (folder / "bin").mkdir(mode=0o755)
        (wheel,) = testbed.directory("wheels").glob("uv-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (name,) = [name for name in archive.namelist() if name.endswith(".data/scripts/uv")]
            (folder / "bin/uv").write_bytes(archive.read(name))
        (folder / "bin/uv").chmod(0o755)
        yield ["--toolchain", str(folder)]
    finally:
        shutil.rmtree(folder)


def test_uv_installs_where_boxes_have_it_and_pip_elsewhere(index, cache, uv):
    digest = index.add("alpha", needs=["beta>=1"])
    index.add("beta")
    first = run(INSTALLER, packages=["alpha"], options=uv, env=index.env())
    assert first.stdout == "uv\n", first
    named = {package["name"]: package for package in first.packages}
    assert set(named) == {"alpha", "beta"}
    assert named["alpha"] == {"name": "alpha", "version": "1.0", "kind": "python", "sha256": digest}
    assert run(INSTALLER, packages=["alpha"], env=index.env()).stdout == "pip\n"
    index.close()
    second = run(USE, packages=["alpha"], options=uv, env=index.env())
    assert second.stdout == "alpha 1.0\n" and second.install["cached"] is True
    assert second.packages == first.packages
    assert_clean(cache)


def test_the_hash_is_that_of_the_file_which_was_taken(index, uv):
    name, data = indexes.wheel("alpha")
    right = index.offer("alpha", name, data)
    index.offer("alpha", name.replace("py3-none-any", "cp27-cp27mu-manylinux1_x86_64"), data + b" ")
    index.offer("alpha", *indexes.sdist("alpha", "1.0", ""))
    done = run(USE, packages=["alpha"], options=uv, env=index.env())
    assert [package["sha256"] for package in done.packages] == [right], done


@pytest.mark.parametrize("wish, failure", [
    ("nosuch", "no_such_package"), ("alpha>9", "no_version"), ("conflicted", "conflict"),
    ("broken", "build_failed")])
def test_what_the_index_lacks_is_told(index, cache, uv, wish, failure):
    index.add("alpha")
    index.add("alpha", "2.0")
    index.add("one", needs=["alpha<2"])
    index.add("conflicted", needs=["alpha>=2", "one"])
    index.offer("broken", *indexes.sdist("broken", "1.0", "raise SystemExit('no')\n"))
    done = run("print('ran')", packages=[wish], options=uv, env=index.env())
    assert done.install["failure"] == failure and done.returncode == 125, done
    assert done.error["remedy"] and done.install["log"].startswith("uv "), done
    assert layers(cache) == []
    assert_clean(cache)


def test_indexes_that_fail_are_told(index, cache, uv):
    index.add("alpha")
    index.lies = True
    done = run("1", packages=["alpha"], options=uv, env=index.env())
    assert done.install["failure"] == "hash_mismatch", done
    index.lies, index.links["alpha"] = False, "http://files.elsewhere.test:1234/files"
    done = run("1", packages=["alpha"], options=uv, env=index.env())
    assert done.install["failure"] == "not_allowed" and "files.elsewhere.test" in done.error["message"], done
    index.links.clear()
    index.close()
    done = run("1", packages=["alpha"], options=uv, env=index.env())
    assert done.install["failure"] == "unreachable", done
    assert layers(cache) == []


def test_a_requirements_file_with_hashes(index, cache, place, uv):
    digest = index.add("alpha", needs=["beta"])
    other = index.add("beta")
    file = place.cwd / "requirements.txt"
    for text, failure in ((f"alpha==1.0 --hash=sha256:{digest}\nbeta==1.0 --hash=sha256:{other}\n", None),
                          (f"alpha==1.0 --hash=sha256:{other}\nbeta==1.0 --hash=sha256:{other}\n", "hash_mismatch"),
                          (f"alpha==1.0 --hash=sha256:{digest}\n", "failed")):
        file.write_text(text)
        done = run(USE, options=[*uv, "--requirements", str(file)], env=index.env())
        assert done.install["failure"] == failure, done
        assert done.stdout == ("" if failure else "alpha 1.0\n")


def test_credentials_are_used_and_seen_by_nobody(index, cache, uv):
    index.login = f"user:{SECRET}"
    index.add("alpha")
    index.offer("gamma", *indexes.sdist("gamma", "2.0", "import os\nraise SystemExit(repr(os.environ))\n"))
    done = run("import alpha, os; print(alpha.NAME, os.environ)", packages=["alpha"], options=uv,
               env=index.env(login=index.login))
    assert done.stdout.startswith("alpha ") and SECRET.encode() not in done.out + done.err, done
    built = run("1", packages=["gamma"], options=uv, env=index.env(login=index.login))
    assert built.install["failure"] == "needs_build" and SECRET.encode() not in built.out + built.err, built
    wrong = run("1", packages=["alpha>=1"], options=uv, env=index.env(login=f"user:not-{SECRET}"))
    assert wrong.install["failure"] == "credentials" and SECRET.encode() not in wrong.out + wrong.err, wrong
    assert not [path for path, data in everything(cache) if SECRET.encode() in data]


@pytest.mark.parametrize("login", [None, f"user:{SECRET}"])
@pytest.mark.parametrize("field", ["Name", "Version"])
def test_names_and_versions_that_are_none_reach_no_requirements(index, cache, uv, field, login):
    """A wheel may bring what looks like another package: its name would be a line that fetches and builds."""
    index.login = login
    index.offer("gamma", *indexes.sdist("gamma", "2.0", "import setuptools\nsetuptools.setup(name='gamma', version='2.0')\n"))
    said = {"Name": "gamma", "Version": "2.0"}
    said[field] += " # more"
    text = "".join(f"{key}: {value}\n" for key, value in said.items()).encode()
    index.offer("alpha", *indexes.wheel("alpha", more={"alpha-1.0.data/purelib/gamma-2.0.dist-info/METADATA": text}))
    done = run(USE, packages=["alpha"], options=uv, env=index.env(login=login))
    assert done.install["failure"] == "failed" and done.returncode == 125, done
    assert f"a {field.lower()} that is none" in done.install["log"], done
    assert not any("gamma" in path for path in index.asked) and layers(cache) == []


@pytest.fixture
def uv_without_locks(uv):
    """A uv that installs, and fails when it is asked for hashes; it says with which words that was."""
    folder = Path(tempfile.mkdtemp(prefix="glovebox-test-", dir="/opt"))
    try:
        folder.chmod(0o755)
        (folder / "bin").mkdir(mode=0o755)
        (folder / "bin/uv").write_text('#!/bin/sh\nif [ "$2" = compile ]; then echo "asked with $*"; exit 3; fi >&2\n'
                                       f'exec {uv[1]}/bin/uv "$@"\n')
        (folder / "bin/uv").chmod(0o755)
        yield ["--toolchain", str(folder), *uv]
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("login", [None, f"user:{SECRET}"])
def test_without_the_hashes_of_what_was_installed_nothing_is(index, cache, uv_without_locks, login):
    """Where credentials are in the box nothing may be built for them either."""
    index.login = login
    index.add("alpha")
    done = run(USE, packages=["alpha"], options=uv_without_locks, env=index.env(login=login))
    assert done.returncode == 125 and done.install["failure"] == "failed" and layers(cache) == [], done
    assert "uv did not tell the hashes" in done.install["log"], done
    asked = done.install["log"].partition("asked with pip compile ")[2].splitlines()[0]
    assert ("--only-binary :all:" in asked) is (login is not None), asked


def test_a_proxy_and_an_index_beside_it(index, cache, uv):
    index.login = f"user:{SECRET}"
    index.add("alpha", needs=["beta"])
    with indexes.PythonIndex() as near:
        near.add("beta")
        env = {"PIP_CONFIG_FILE": "/dev/null", "PIP_INDEX_URL": "http://packages.test/simple",
               "PIP_TRUSTED_HOST": "packages.test", "PIP_EXTRA_INDEX_URL": near.url(),
               "HTTP_PROXY": f"http://{index.login}@127.0.0.1:{index.port}"}
        done = run("import alpha, beta; print(alpha.NAME, beta.NAME)", packages=["alpha"], options=uv, env=env)
        assert done.stdout == "alpha beta\n" and near.fetched("beta"), done
    assert index.asked and all(path.startswith("http://packages.test") for path in index.asked), index.asked
    assert not [path for path, data in everything(cache) if SECRET.encode() in data]


def test_a_package_of_the_real_index(real_index, uv):
    """Its certificate is signed by who is configured, or by whom this machine trusts."""
    done = run("import requests; print(requests.__name__)", packages=["requests"], options=uv, env=real_index, outer=200)
    assert done.stdout == "requests\n", done
    assert all(re.fullmatch("[0-9a-f]{64}", package["sha256"]) for package in done.packages)
