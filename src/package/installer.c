/* SPDX-License-Identifier: Apache-2.0 */
/* package/installer.c - the programs that install packages in a box. */
#include "package/installer.h"

#include <stddef.h>

#include "package/install.h"

#define REPORT "report.json"

/* Of the names in package/installer.h, whole: they stand in lists of words. */
#define REPORT_PATH       "/tmp/glovebox-packages/report.json"
#define PIP_LOG_PATH      "/tmp/glovebox-packages/pip.log"
#define REQUIREMENTS_PATH "/tmp/glovebox-packages/requirements.txt"

#define STRS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* Programs of the packages find each other without links, which a layer has none of: each gets a
 * small script of the name that npm would have linked. */
static const char node_programs[] =
    "const fs = require('fs'), path = require('path'), [dir] = process.argv.slice(1);\n"
    "const root = dir + '/node_modules', out = dir + '/bin';\n"
    "const wanted = JSON.parse(fs.readFileSync(dir + '/package.json')).dependencies;\n"
    "for (const name of Object.keys(wanted)) {\n"
    "  const home = path.join(root, name);\n"
    "  const { bin } = JSON.parse(fs.readFileSync(path.join(home, 'package.json')));\n"
    "  const list = typeof bin === 'string' ? { [name.split('/').pop()]: bin } : bin || {};\n"
    "  for (const [program, file] of Object.entries(list)) {\n"
    "    const target = path.join(home, file);\n"
    "    if (!/^[\\w.-]+$/.test(program) || !/^[\\w@.\\/-]+$/.test(target)) continue;\n"
    "    fs.mkdirSync(out, { recursive: true });\n"
    "    fs.writeFileSync(path.join(out, program), `#!/bin/sh\\nexec node '${target}' \"$@\"\\n`,\n"
    "      { mode: 0o755 });\n"
    "  }\n"
    "}\n";

/* uv reports versions and no hashes.  The index has those of all files of a version (a lock file
 * lists them), and what is installed says which of them it came in: a wheel's tags are written down
 * with it; where none fits it was built from the source.  Told in pip's form.  Names and versions
 * are what packages say: one that is none could be any line of a requirements file. */
static const char uv_report[] =
    "import glob, itertools, json, os, re, subprocess, sys\n"
    "place, target, *guard = sys.argv[1:]\n"
    "found = {}\n"
    "def checked(what, pattern, text):\n"
    "    if not re.fullmatch(pattern, text):\n"
    "        sys.exit(f'what was installed has a {what} that is none: {ascii(text[:100])}')\n"
    "    return text\n"
    "for info in glob.glob(target + '/*.dist-info'):\n"
    "    with open(info + '/METADATA', encoding='utf-8', errors='replace') as file:\n"
    "        head = dict(re.findall(r'^(Name|Version): *(.*?)\\s*$', file.read(), re.M)[:2])\n"
    "    tags = set()\n"
    "    if os.path.exists(info + '/WHEEL'):\n"
    "        with open(info + '/WHEEL', encoding='utf-8', errors='replace') as file:\n"
    "            tags = set(re.findall(r'^Tag: *(.*?)\\s*$', file.read(), re.M))\n"
    "    found[checked('name', '[A-Za-z0-9][A-Za-z0-9._-]*', head.get('Name', '')),\n"
    "          checked('version', '[A-Za-z0-9][A-Za-z0-9._+!-]*', head.get('Version', ''))] = tags\n"
    "pins = place + '/pins.txt'\n"
    "with open(pins, 'w') as file:\n"
    "    file.writelines(f'{name}=={version}\\n' for name, version in sorted(found))\n"
    "lock = subprocess.run(['uv', 'pip', 'compile', '--quiet', '--no-deps', '--no-header',\n"
    "                       '--python', sys.executable, '--format', 'pylock.toml', *guard, pins],\n"
    "                      stdout=subprocess.PIPE)\n"
    "if lock.returncode:\n"
    "    sys.exit('uv did not tell the hashes of what it installed')\n"
    "def plain(name):\n"
    "    return re.sub('[-_.]+', '-', name).lower()\n"
    "def tags_of(file):\n"
    "    parts = (part.split('.') for part in file[:-4].split('-')[-3:])\n"
    "    return {'-'.join(tag) for tag in itertools.product(*parts)}\n"
    "hashes = {}\n"
    "tags = {plain(name): tags for (name, _), tags in found.items()}\n"
    "for block in lock.stdout.decode(errors='replace').split('[[packages]]')[1:]:\n"
    "    name = re.search(r'^name = \"(.*)\"$', block, re.M)\n"
    "    name = plain(name[1]) if name else ''\n"
    "    for url, digest in re.findall(\n"
    "            r'url = \"([^\"]+)\"[^{}]*hashes = \\{[^{}]*sha256 = \"([0-9a-f]{64})\"', block):\n"
    "        file = url.split('#')[0].rsplit('/', 1)[-1]\n"
    "        if file.endswith('.whl') and tags_of(file) & tags.get(name, set()):\n"
    "            hashes[name] = digest\n"
    "        elif not file.endswith('.whl'):\n"
    "            hashes.setdefault(name, digest)\n"
    "with open(place + '/" REPORT "', 'w') as file:\n"
    "    json.dump({'install': [\n"
    "        {'metadata': {'name': name, 'version': version}, 'download_info': {'archive_info':\n"
    "            {'hashes': {'sha256': hashes[plain(name)]} if plain(name) in hashes else {}}}}\n"
    "        for name, version in sorted(found)]}, file)\n";

/* Compiled afterwards, so that what is compiled holds without the times of files, which do not
 * travel. */
#define PYTHON_FINISH                                                                 \
    STRS("python3", "-I", "-m", "compileall", "-q", "-j", "2", "--invalidation-mode", \
         "unchecked-hash", INSTALL_PYTHON_DIR)

const struct installer installer_pip = {
    .name = "pip",
    .dir = INSTALL_PYTHON_DIR,
    .report_dir = INSTALL_PLACE,
    .report = REPORT,
    /* Isolated: what is being installed is not imported by pip. */
    .install = STRS("python3", "-I", "-m", "pip", "install", "--no-input", "--no-cache-dir",
                    "--no-compile", "--no-warn-script-location", "--progress-bar", "off",
                    "--target", INSTALL_PYTHON_DIR, "--report", REPORT_PATH, "--log", PIP_LOG_PATH,
                    "-r", REQUIREMENTS_PATH),
    .guard = STRS("--only-binary", ":all:"),
    .finish = PYTHON_FINISH,
};

const struct installer installer_uv = {
    .name = "uv",
    .dir = INSTALL_PYTHON_DIR,
    .report_dir = INSTALL_PLACE,
    .report = REPORT,
    .probe = STRS("uv", "--version"),
    .install = STRS("uv", "pip", "install", "--python", "python3", "--no-progress", "--link-mode",
                    "copy", "--target", INSTALL_PYTHON_DIR, "-r", REQUIREMENTS_PATH),
    .guard = STRS("--only-binary", ":all:"),
    .hashes = STRS("--require-hashes"),
    .tell = STRS("python3", "-I", "-c", uv_report, INSTALL_PLACE, INSTALL_PYTHON_DIR),
    .finish = PYTHON_FINISH,
};

const struct installer installer_npm = {
    .name = "npm",
    .dir = INSTALL_NODE_DIR,
    .report_dir = INSTALL_NODE_DIR,
    .report = "package-lock.json",
    .install = STRS("npm", "install", "--prefix", INSTALL_NODE_DIR, "--no-audit", "--no-fund",
                    "--no-update-notifier", "--no-bin-links", "--omit=dev", "--no-progress",
                    "--loglevel=http"),
    .guard = STRS("--ignore-scripts"),
    .finish = STRS("node", "-e", node_programs, "--", INSTALL_NODE_DIR),
};

const struct installer *const *installers_of(enum package_kind kind)
{
    static const struct installer *const python[] = { &installer_uv, &installer_pip, NULL };
    static const struct installer *const node[] = { &installer_npm, NULL };

    return kind == PACKAGE_PYTHON ? python : node;
}
