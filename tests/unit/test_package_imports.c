/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_package_imports.c - which packages a program's text asks for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "package/imports.h"

#include <cmocka.h>

static int add(void *user, const char *text, size_t len)
{
    struct buf *list = user;

    (void)buf_printf(list, "%s%.*s", list->len ? " " : "", (int)len, text);
    return 0;
}

static bool is_here(void *user, const char *module)
{
    (void)user;
    return strcmp(module, "here") == 0;
}

static void expect(enum package_kind kind, const char *code, const char *names)
{
    cleanup_buf struct buf list = BUF_INIT(65536);

    assert_int_equal(imports_find(kind, code, strlen(code), is_here, add, &list), 0);
    if (strcmp(list.data ? list.data : "", names) != 0)
        fail_msg("%s\nfound '%s', not '%s'", code, list.data ? list.data : "", names);
}

static void test_imports_of_python(void **state)
{
    static const struct {
        const char *code;
        const char *names;
    } rows[] = {
        { "import requests", "requests" },
        { "import os, sys, json", "" },
        { "import numpy as np, pandas as pd\n", "numpy pandas" },
        { "import matplotlib.pyplot as plt", "matplotlib" },
        { "from bs4 import BeautifulSoup", "beautifulsoup4" },
        { "from PIL import Image\nimport cv2, sklearn.svm, yaml", "pillow opencv-python-headless "
                                                                  "scikit-learn pyyaml" },
        { "from . import x\nfrom .y import z\nfrom ..a import b", "" },
        { "try: import tqdm\nexcept ImportError: pass", "tqdm" },
        { "if 1:\n\timport attr; import rich", "attrs rich" },
        { "import here, there", "there" },
        { "# import no\nx = 'import no'\n\"\"\"\nimport no\n\"\"\"\nimport yes", "yes" },
        { "s = \"it's\" ; import yes", "yes" },
        { "important = 1\nfrom_x = 2\n", "" },
        { "from x", "" },
        { "import \\\n  wrapped", "wrapped" },
        { "", "" },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++)
        expect(PACKAGE_PYTHON, rows[i].code, rows[i].names);
}

static void test_pip_in_the_code_itself(void **state)
{
    static const struct {
        const char *code;
        const char *names;
    } rows[] = {
        { "!pip install requests", "requests" },
        { "%pip install -q a 'b'", "a b" },
        { "  !python3 -m pip install a  # why", "a" },
        { "!{sys.executable} -m pip install a", "a" },
        { "!ls pip install a", "" },
        { "x = 5\n%pip install a\n", "a" },
        { "x %pip install a", "" },
        { "import os\nos.system('pip install requests numpy>=1.26')", "requests numpy>=1.26" },
        { "os.system(\"pip3 install a\"); print(\"b\")", "a" },
        { "os.system(\"pip install 'numpy>=1.26' \\\"rich\\\"\")", "numpy>=1.26 rich" },
        { "os.system('cd x && sudo pip install a; pip3.11 install b | tee log')", "a b" },
        { "os.system('echo pip install a')", "" },
        { "os.system(f'{sys.executable} -m pip install a')", "a" },
        { "os.system(sys.executable + ' -m pip install a')", "a" },
        { "os.system('''pip install a\npip install b''')", "a b" },
        { "subprocess.run(['pip', 'install', 'a', \"b==1\"], check=True)", "a b==1" },
        { "subprocess.run(['pip', 'install', 'a'], cwd='b')", "a" },
        { "subprocess.run(('pip', 'install',\n  # 'c'\n 'a'))", "a" },
        { "subprocess.run('pip install a'.split())", "a" },
        { "subprocess.run(['bash', '-c', 'pip install a'])", "a" },
        { "subprocess.run(['echo', 'pip', 'install', 'a'])", "" },
        { "subprocess.run(args, input='pip install a')", "" },
        { "check_call([sys.executable, '-m', 'pip', 'install', '-q', 'a'])", "a" },
        { "subprocess.run([sys.executable, '-m', 'pip', 'install', name])", "" },
        { "subprocess.run([sys.executable, '-m', 'pip', 'install', name, 'a'])", "a" },
        { "subprocess.run('pip install -r req.txt && echo x', shell=True)", "" },
        { "subprocess.run('pip install --target lib a --upgrade-strategy eager', shell=True)",
          "a" },
        { "subprocess.run(['pip', 'install', '-t', 'lib', 'a', '--timeout', '5'])", "a" },
        { "subprocess.run(['pip', 'install', '--target=lib', 'a'])", "a" },
        { "# pip install no", "" },
        { "pipe.install('x')", "" },
        { "print('pip list')", "" },
        { "print('pip install requests to use this')", "" },
        { "\"\"\"Needs:\n  pip install no\n!pip install no\n\"\"\"", "" },
        { "raise SystemExit('run: pip install no')", "" },
        { "session.run('pip install no')", "" },
        { "os.system('pip install", "" },
        { "os.system('", "" },
        { "os.system(", "" },
        { "os.system", "" },
        { "!", "" },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++)
        expect(PACKAGE_PYTHON, rows[i].code, rows[i].names);
}

static void test_imports_of_javascript(void **state)
{
    static const struct {
        const char *code;
        const char *names;
    } rows[] = {
        { "const x = require('left-pad')", "left-pad" },
        { "import _ from \"lodash/fp\"", "lodash" },
        { "import 'side-effect'", "side-effect" },
        { "import { a,\n b } from '@scope/name/deep'", "@scope/name" },
        { "const m = await import('dyn')", "dyn" },
        { "require('fs'); require('node:fs'); require('./x'); require('/x'); require('../x')", "" },
        { "// require('no')\n/* require('no') */ const s = \"require('no')\"", "" },
        { "x.require('no')", "" },
        { "const u = 'http://x' // y\nrequire('yes')", "yes" },
        { "export * from 'again'", "again" },
        { "require(`t`)", "" },
        { "require('http://x')", "" },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++)
        expect(PACKAGE_NODE, rows[i].code, rows[i].names);
}

static void test_lines_of_a_notebook_become_python(void **state)
{
    static const struct {
        const char *code;
        const char *plain; /* NULL: it stays */
    } rows[] = {
        { "!pip install a", "__import__('subprocess').run('pip install a', shell=True)" },
        { "x\n  %pip install 'a\\b'\ny",
          "x\n  __import__('subprocess').run('python3 -m pip install \\'a\\\\b\\'', "
          "shell=True)\ny" },
        { "!{sys.executable} -m pip install a\r\n",
          "__import__('subprocess').run('python3 -m pip install a', shell=True)\r\n" },
        { "!python3 -m pip install a",
          "__import__('subprocess').run('python3 -m pip install a', shell=True)" },
        { "!ls", NULL },
        { "%matplotlib inline", NULL },
        { "s = \"\"\"\n!pip install a\n\"\"\"", NULL },
        { "x = 7 \\\n  % pip", NULL },
        { "total = (100\n    % pip + 1)", NULL },
        { "# !pip install a", NULL },
        { "!pip", NULL },
        { "", NULL },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        cleanup_buf struct buf plain = BUF_INIT(4096);
        int r = imports_plain_python(rows[i].code, strlen(rows[i].code), &plain);

        assert_int_equal(r, rows[i].plain ? 1 : 0);
        if (rows[i].plain)
            assert_string_equal(plain.data, rows[i].plain);
    }
}

/* A call is not read to the end of the program for each that begins in it. */
static void test_calls_in_calls_take_no_time(void **state)
{
    enum {
        CALLS = 1 << 18
    };
    char *code = malloc(4 * CALLS + 1);
    cleanup_buf struct buf list = BUF_INIT(65536);

    (void)state;
    assert_non_null(code);
    for (size_t i = 0; i < CALLS; i++)
        memcpy(code + 4 * i, "run(", 4);
    code[4 * CALLS] = '\0';
    alarm(60); /* it takes a moment, or half an hour */
    assert_int_equal(imports_find(PACKAGE_PYTHON, code, 4 * CALLS, is_here, add, &list), 0);
    alarm(0);
    assert_int_equal(list.len, 0);
    free(code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_in_calls_take_no_time),
        cmocka_unit_test(test_imports_of_python),
        cmocka_unit_test(test_pip_in_the_code_itself),
        cmocka_unit_test(test_imports_of_javascript),
        cmocka_unit_test(test_lines_of_a_notebook_become_python),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
