/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_conf.c - settings files that come with somebody's repository: YAML and .env.
 *
 * The first byte chooses the reader: 'y' a file of ours, 's' one section of another program's,
 * anything else .env.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "conf/dotenv.h"
#include "conf/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_yaml(const char *text, size_t len, const char *section)
{
    struct conf_yaml yaml = { 0 };
    struct gb_err err = { 0 };
    int r = conf_yaml_parse(&yaml, "f", text, len, section, &err);

    assert((r < 0) == (err.msg[0] != '\0'));
    assert(yaml.n_entries <= YAML_ENTRIES_MAX);
    for (size_t i = 0; i < yaml.n_entries && r == 0; i++) {
        assert(yaml.entries[i].key && yaml.entries[i].line > 0);
        assert(!yaml.entries[i].text != !yaml.entries[i].items);
        if (section)
            assert(strncmp(yaml.entries[i].key, section, strlen(section)) == 0);
    }
    conf_yaml_clear(&yaml);
}

static void check_dotenv(const char *text, size_t len)
{
    static char home[] = "HOME=/home/me";
    char *const env[] = { home, NULL };
    struct dotenv dotenv = { 0 };
    struct gb_err err = { 0 };
    int r = dotenv_parse(&dotenv, "f", text, len, env, &err);

    assert((r < 0) == (err.msg[0] != '\0'));
    assert(dotenv.n_lines <= DOTENV_LINES_MAX);
    for (size_t i = 0; i < dotenv.n_lines && r == 0; i++)
        assert(dotenv.lines[i].name[0] && dotenv.lines[i].value);
    dotenv_clear(&dotenv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;

    if (size == 0)
        return 0;
    if (*text == 'y')
        check_yaml(text + 1, size - 1, NULL);
    else if (*text == 's')
        check_yaml(text + 1, size - 1, "tools.code_execution");
    else
        check_dotenv(text + 1, size - 1);
    return 0;
}
