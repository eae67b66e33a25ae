/* SPDX-License-Identifier: Apache-2.0 */
/* package/diagnosis.c - why an installer failed, told by its own words. */
#include "package/diagnosis.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"

static const struct package_diagnosis reasons[] = {
#define REASON(name, code, text, remedy) { -(code), name, text, remedy },
#include "package/diagnosis.def"
#undef REASON
};

static const struct {
    enum package_kind kind;
    const char *words;
    const char *also;
    const char *name;
} rows[] = {
#define ROW(kind, words, also, name) { kind, words, also, name },
#include "package/diagnosis.def"
#undef ROW
};

const struct package_diagnosis *diagnosis_named(const char *name)
{
    for (size_t i = 0; i < N_ELEMENTS(reasons); i++)
        if (strcmp(reasons[i].name, name) == 0)
            return &reasons[i];
    return NULL;
}

bool diagnosis_is_about_set(const char *name)
{
    static const char *const names[] = { "hash_mismatch",   "conflict",    "no_version",
                                         "no_such_package", "needs_build", "build_failed" };

    for (size_t i = 0; name && i < N_ELEMENTS(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool says(const char *output, size_t len, const char *words)
{
    return !words || !*words || (len && memmem(output, len, words, strlen(words)));
}

const struct package_diagnosis *diagnosis_of(enum package_kind kind, const char *output, size_t len)
{
    for (size_t i = 0; i < N_ELEMENTS(rows); i++)
        if (rows[i].kind == kind && says(output, len, rows[i].words) &&
            says(output, len, rows[i].also))
            return diagnosis_named(rows[i].name);
    return diagnosis_named("failed");
}
