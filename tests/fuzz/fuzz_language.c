/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_language.c - any bytes as a source.
 *
 * What a source makes of itself (its language, the name of its file, the class to start) goes into
 * paths and commands: it must be one component of a path and one short word. */
#include <string.h>

#include "base/path.h"
#include "box/limits.h"
#include "must.h"
#include "run/java_source.h"
#include "run/language.h"

static void check_steps(const struct language *language, const char *name, const void *code,
                        size_t len)
{
    const struct limits limits = limits_default();
    struct language_step steps[2];
    char path[PATH_MAX];
    struct language_source source = { .path = path, .out = "/tmp/.out", .code = code, .len = len };
    size_t n = 0;

    (void)snprintf(path, sizeof(path), "/workspace/%s", name);
    must(language_steps(language, &source, &limits, steps, &n, NULL) == 0);
    must(n == (language->compile ? 2u : 1u));
    language_steps_clear(steps);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct java_source java;

    (void)language_by_shebang(data, size);
    for (size_t i = 0; language_at(i); i++) {
        char name[NAME_MAX + 1];

        if (!language_at(i)->namer)
            continue;
        language_file_name(language_at(i), data, size, name);
        must(path_is_below(name) && !strchr(name, '/') && name[0] != '-');
        must(language_by_path(name) == language_at(i));
        check_steps(language_at(i), name, data, size);
    }
    java_source_read(data, size, &java);
    must(strlen(java.main_class) < sizeof(java.main_class));
    must(java.main_class[0] != '-');
    return 0;
}
