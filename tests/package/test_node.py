# SPDX-License-Identifier: Apache-2.0
"""Packages of npm's: real npm installs from local registries, later boxes only read."""
import json
import os

import pytest

from lib import box, pace

SECRET = "tok-hunter2-planted"


def run(code=None, *, packages=(), options=(), env=None, **more):
    words = [word for name in packages for word in ("--npm", name)]
    return box.run(code, language=None if "argv" in more else "javascript", options=[*words, *options],
                   host_env=env, **more)


def test_require_and_import_find_packages_and_the_second_time_no_registry(registry):
    registry.add("alpha", dependencies={"@scope/beta": "^1"})
    registry.add("@scope/beta", files={"index.js": "module.exports = 'beta'\n"})
    code = "console.log(require('alpha'), require('@scope/beta'))"
    first = run(code, packages=["alpha"], env=registry.env())
    assert first.stdout == "alpha beta\n" and first.install["cached"] is False, first
    named = {package["name"]: package for package in first.packages}
    assert set(named) == {"alpha", "@scope/beta"}
    assert named["alpha"]["integrity"].startswith("sha512-") and named["alpha"]["kind"] == "node"
    registry.close()
    second = run("import alpha from 'alpha'; console.log(alpha, (await import('@scope/beta')).default)",
                 packages=["alpha"], env=registry.env())
    assert second.stdout == "alpha beta\n" and second.install["cached"] is True, second


def test_programs_of_packages_are_on_the_path(registry):
    registry.add("alpha", bin={"alpha-tool": "cli.js"},
                 files={"cli.js": "#!/usr/bin/env node\nconsole.log(process.argv.slice(2).join())\n"})
    done = run(argv=["alpha-tool", "a b", "c"], packages=["alpha"], env=registry.env())
    assert done.stdout == "a b,c\n", done


def test_install_scripts_run_in_the_install_box_only(registry, place):
    marker = place.base / "escaped"
    registry.add("alpha", scripts={"install": f"touch {marker}; id -u > made"},
                 files={"index.js": "module.exports = require('fs').readFileSync(__dirname + '/made', 'utf8')"})
    done = run("process.stdout.write(require('alpha'))", packages=["alpha"], env=registry.env())
    assert done.stdout == "1000\n" and not marker.exists(), done


@pytest.mark.parametrize("wish, failure", [("nosuch", "no_such_package"), ("alpha@^9", "no_version")])
def test_what_the_registry_lacks_is_told(registry, wish, failure):
    registry.add("alpha")
    done = run("1", packages=[wish], env=registry.env())
    assert done.install["failure"] == failure and done.returncode == 125, done


def test_a_registry_that_lies_about_hashes_is_told(registry):
    registry.add("alpha")
    registry.lies = True
    done = run("1", packages=["alpha"], env=registry.env())
    assert done.install["failure"] == "hash_mismatch", done


def test_a_token_is_seen_by_nobody_and_scripts_do_not_run_near_it(registry, place, cache):
    registry.login = SECRET
    registry.add("alpha", scripts={"install": "cat $npm_config_userconfig > stolen"})
    (place.home / ".npmrc").write_text(f"registry=http://127.0.0.1:{registry.port}/\n"
                                       f"//127.0.0.1:{registry.port}/:_authToken={SECRET}\n")
    code = "console.log(require('alpha'), require('fs').existsSync('/node_modules/alpha/stolen'))"
    done = run(code, packages=["alpha"])
    assert done.stdout == "alpha false\n", done
    assert SECRET.encode() not in done.out + done.err
    for root, _, names in os.walk(cache):
        for name in names:
            with open(os.path.join(root, name), "rb") as file:
                assert SECRET.encode() not in file.read(), (root, name)


def test_dependencies_of_a_package_json(registry, place):
    registry.add("alpha")
    path = place.cwd / "package.json"
    path.write_text(json.dumps({"dependencies": {"alpha": "^1"}, "scripts": {"install": "exit 1"}}))
    done = run("console.log(require('alpha'))", options=["--package-json", path], env=registry.env())
    assert done.stdout == "alpha\n", done


def test_what_the_code_requires_is_found_beforehand(registry):
    registry.add("alpha")
    done = run("console.log(require('fs') && require('alpha'))", options=["--auto-packages"], env=registry.env())
    assert done.stdout == "alpha\n", done


def test_a_tree_of_very_many_files_is_a_layer_as_any_other(registry):
    """As frameworks bring them; the most that a layer may have is asked for in a proof, and one more."""
    sizes = pace.count(check=[12_000], proof=[60_000, 200_001])
    for size in sizes:
        registry.add(f"many{size}", files={"index.js": "module.exports = require('fs').readdirSync(__dirname + '/d0').length\n",
                                           **{f"d{i % 100}/{i}.js": "" for i in range(size)}})
        done = run(f"console.log(require('many{size}'))", packages=[f"many{size}"], env=registry.env(), outer=400)
        if size < 200_000:
            assert done.stdout == f"{size // 100}\n", done
        else:
            assert done.returncode == 125 and "more than 200000 files" in done.error["message"], done
            assert "fewer packages" in done.error["remedy"], done


def test_left_pad_of_the_real_registry(real_index):
    done = run("console.log(require('left-pad')('x', 3, '-'))", packages=["left-pad"], env=real_index, outer=200)
    assert done.stdout == "--x\n", done
