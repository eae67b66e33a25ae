/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_package.c - names of packages, files that list them, configurations, addresses of
 * indexes, reports and code.
 *
 * The first byte chooses the reader.  What a reader of names lets through, it lets through again,
 * unchanged, and nothing in it means anything to a shell or is an option.
 */
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "must.h"
#include "package/config_text.h"
#include "package/imports.h"
#include "package/index.h"
#include "package/manifest.h"
#include "package/npm_name.h"
#include "package/requirement.h"
#include "package/set.h"

static void check_requirement(const char *text, size_t len)
{
    struct requirement once;
    struct requirement twice;
    struct gb_err err = { 0 };

    if (requirement_parse(text, len, &once, &err) < 0) {
        must(err.blame == GB_BLAME_CALLER && err.msg[0]);
        return;
    }
    must(once.text[0] != '-' && !strpbrk(once.text, "\n\r\\$`|&#@:/"));
    must(requirement_parse(once.text, strlen(once.text), &twice, NULL) == 0);
    must(strcmp(once.name, twice.name) == 0);
}

static void check_npm(const char *text, size_t len)
{
    struct npm_name name;

    if (npm_name_parse(text, len, &name, NULL) < 0)
        return;
    must(name.name[0] != '-' && !strpbrk(name.name, "\n \\$`;&\"':"));
    must(name.range[0] && !strpbrk(name.range, "\n\\$`;&\"':/@"));
}

static void check_set(enum package_kind kind, const char *text, size_t len)
{
    struct package_set set = { .kind = kind };
    cleanup_buf struct buf out = BUF_INIT(16u << 20);
    struct package_set again = { .kind = kind };

    if (package_set_read(&set, "file", text, len, &(struct gb_err){ 0 }) == 0) {
        must(package_set_write(&set, &out) == 0);
        must(package_set_read(&again, "file", out.data ? out.data : "", out.len,
                              &(struct gb_err){ 0 }) == 0);
        must(again.n == set.n);
    }
    package_set_clear(&set);
    package_set_clear(&again);
}

static int row(void *user, const char *section, const char *key, const char *value)
{
    size_t *n = user;

    must(section && key[0] && value);
    return ++*n > 1000 ? -1 : 0;
}

static int found(void *user, const char *text, size_t len)
{
    struct package_set *set = user;
    size_t n = set->n;

    must(len <= REQUIREMENT_TEXT_MAX && !memchr(text, '\n', len));
    if (package_set_add(set, text, len, &(struct gb_err){ 0 }) == 0)
        must(set->n <= n + 1 && set->items[0].name[0] != '-');
    return 0;
}

static void check_imports(enum package_kind kind, const char *code, size_t len)
{
    struct package_set set = { .kind = kind };

    cleanup_buf struct buf plain = BUF_INIT(16u << 20);

    must(imports_find(kind, code, len, NULL, found, &set) == 0);
    must(imports_plain_python(code, len, &plain) >= 0);
    package_set_clear(&set);
}

/* What is shown of an address is one itself, the same one, and has no credentials.  What a box
 * writes is an address, too. */
static void check_url(const char *text, size_t len)
{
    cleanup_free char *copy = calloc(len + 1, 1); /* the bytes have no end of their own */
    cleanup_with(index_url_clear) struct index_url once = { 0 };
    cleanup_with(index_url_clear) struct index_url twice = { 0 };
    cleanup_buf struct buf inside = BUF_INIT(16u << 10);
    struct gb_err err = { 0 };

    must(copy != NULL);
    memcpy(copy, text, len);
    if (index_url_parse(copy, &once, &err) < 0) {
        must(err.blame == GB_BLAME_CALLER && err.msg[0]);
        return;
    }
    must(once.host[0] && once.port && strncmp(once.clean, "http", 4) == 0);
    must(!strpbrk(once.clean, " \n\r\t") && strcmp(once.whole, copy) == 0);
    must(index_url_parse(once.clean, &twice, NULL) == 0);
    must(!twice.has_credentials && strcmp(twice.host, once.host) == 0 && twice.port == once.port);
    must(strcmp(twice.clean, once.clean) == 0 && twice.is_loopback == once.is_loopback);
    must(index_url_in_box(&once, &inside) == 0);
}

static void check_report(enum package_kind kind, const char *text, size_t len)
{
    struct manifest manifest = { 0 };

    (void)manifest_take_report(kind, text, len, &manifest, &(struct gb_err){ 0 });
    manifest_clear(&manifest);
}

static void check_manifest(const char *text, size_t len)
{
    struct manifest manifest = { 0 };
    cleanup_buf struct buf out = BUF_INIT(16u << 20);

    if (manifest_read(text, len, &manifest, &(struct gb_err){ 0 }) == 0)
        must(manifest_write(&manifest, &out) == 0);
    manifest_clear(&manifest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data + 1;
    size_t n = 0;

    if (size == 0)
        return 0;
    size--;
    switch (data[0]) {
    case 'r':
        check_requirement(text, size);
        break;
    case 'n':
        check_npm(text, size);
        break;
    case 'f':
        check_set(PACKAGE_PYTHON, text, size);
        break;
    case 'j':
        check_set(PACKAGE_NODE, text, size);
        break;
    case 'p':
        (void)config_text_pip(text, size, row, &n);
        break;
    case 'c':
        (void)config_text_npm(text, size, row, &n);
        break;
    case 'u':
        check_url(text, size);
        break;
    case 'i':
        check_imports(PACKAGE_PYTHON, text, size);
        break;
    case 's':
        check_imports(PACKAGE_NODE, text, size);
        break;
    case 'm':
        check_manifest(text, size);
        break;
    case 'R':
        check_report(PACKAGE_PYTHON, text, size);
        break;
    case 'L':
        check_report(PACKAGE_NODE, text, size);
        break;
    default:
        break;
    }
    return 0;
}
