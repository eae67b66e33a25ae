/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_dockerfile.c - a Dockerfile of anybody's.
 *
 * What is read is written again and reads the same; what is built then has the same findings as
 * what was checked.
 */
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "image/dockerfile.h"
#include "image/dockerfile_args.h"
#include "image/dockerfile_check.h"
#include "must.h"

static void check_words(char **a, char **b)
{
    for (; *a && *b; a++, b++)
        must(strcmp(*a, *b) == 0);
    must(!*a && !*b);
}

static void check_same(const struct dockerfile *a, const struct dockerfile *b)
{
    must(a->n == b->n && a->escape == b->escape);
    for (size_t i = 0; i < a->n; i++) {
        const struct dockerfile_item *x = &a->items[i];
        const struct dockerfile_item *y = &b->items[i];

        must(x->op == y->op && x->is_trigger == y->is_trigger && x->is_json == y->is_json);
        must(strcmp(x->text, y->text) == 0 && x->n_docs == y->n_docs);
        check_words(x->flags, y->flags);
        check_words(x->words, y->words);
        for (size_t n = 0; n < x->n_docs; n++)
            must(strcmp(x->docs[n].text, y->docs[n].text) == 0 &&
                 strcmp(x->docs[n].name, y->docs[n].name) == 0);
    }
}

static size_t n_findings(const struct dockerfile *file)
{
    static const char *const bases[] = { "python", "a/*", NULL };
    struct dockerfile_policy policy = { .bases = bases };
    struct dockerfile_findings found;

    must(dockerfile_check(file, &policy, &found) == (found.n == 0));
    for (size_t i = 0; i < found.n; i++)
        must(found.items[i].message[0] &&
             memchr(found.items[i].message, '\0', sizeof(found.items[i].message)));
    return found.n + found.n_more;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct dockerfile_arg given[] = { { "V", "3" }, { "W", "x y" } };
    cleanup_dockerfile struct dockerfile file = { 0 };
    cleanup_dockerfile struct dockerfile again = { 0 };
    cleanup_buf struct buf text = BUF_INIT(4 * DOCKERFILE_MAX);
    struct gb_err err = { 0 };
    int r = dockerfile_parse((const char *)data, size, &file, &err);

    must((r < 0) == (err.msg[0] != '\0'));
    if (r < 0 || dockerfile_resolve(&file, given, 2, NULL) < 0)
        return 0;
    must(dockerfile_write(&file, &text) == 0);
    if (text.len > DOCKERFILE_MAX)
        return 0;
    r = dockerfile_parse(text.data, text.len, &again, &err);
    must(r == 0 || r == -EFBIG); /* a long value may have made a line too long */
    if (r < 0)
        return 0;
    check_same(&file, &again);
    /* but for the directive, which is not passed on */
    must(n_findings(&again) <= n_findings(&file) &&
         n_findings(&again) + (file.syntax != NULL) >= n_findings(&file));
    return 0;
}
