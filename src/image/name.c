/* SPDX-License-Identifier: Apache-2.0 */
/* image/name.c - names of images. */
#include "image/name.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

#define DEFAULT_REGISTRY "docker.io"
#define DEFAULT_FOLDER   "library/"
#define ID_DIGITS        64
#define TAG_FORM \
    "a tag has up to 128 letters, digits, '_', '.', '-' and begins with none of the last two"

/* The C library's classes follow the locale; these do not. */
static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return is_lower(c) || (c >= 'A' && c <= 'Z');
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f');
}

static bool all_hex(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!is_hex(text[i]))
            return false;
    return true;
}

/* Between two letters or digits: one '.', one or two '_', any number of '-'. */
static bool is_separator(const char *text, size_t len)
{
    if (len == 1)
        return text[0] == '.' || text[0] == '_' || text[0] == '-';
    if (len == 2 && text[0] == '_')
        return text[1] == '_';
    for (size_t i = 0; i < len; i++)
        if (text[i] != '-')
            return false;
    return len > 0;
}

static bool component_is_valid(const char *text, size_t len)
{
    size_t from = 0; /* of the present separator */

    if (len == 0 || !(is_lower(text[0]) || is_digit(text[0])))
        return false;
    for (size_t i = 1; i < len; i++) {
        if (!is_lower(text[i]) && !is_digit(text[i])) {
            from = from ? from : i;
            continue;
        }
        if (from && !is_separator(text + from, i - from))
            return false;
        from = 0;
    }
    return from == 0;
}

static bool repository_is_valid(const char *text)
{
    for (;;) {
        size_t len = strcspn(text, "/");

        if (!component_is_valid(text, len))
            return false;
        if (!text[len])
            return true;
        text += len + 1;
    }
}

static bool label_is_valid(const char *text, size_t len)
{
    if (len == 0 || text[0] == '-' || text[len - 1] == '-')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_letter(text[i]) && !is_digit(text[i]) && text[i] != '-')
            return false;
    return true;
}

static bool port_is_valid(const char *text)
{
    size_t len = strspn(text, "0123456789");

    return len > 0 && len <= 5 && text[len] == '\0';
}

static bool registry_is_valid(const char *text)
{
    size_t len;

    if (text[0] == '[') {
        len = strspn(text + 1, "0123456789abcdefABCDEF:") + 1;
        if (len < 3 || text[len] != ']')
            return false;
        text += len + 1;
        return *text == '\0' || (*text == ':' && port_is_valid(text + 1));
    }
    for (;;) {
        len = strcspn(text, ".:");
        if (!label_is_valid(text, len))
            return false;
        text += len;
        if (*text != '.')
            return *text == '\0' || port_is_valid(text + 1);
        text++;
    }
}

static bool tag_is_valid(const char *text)
{
    size_t len = strlen(text);

    if (len == 0 || len > IMAGE_TAG_MAX || text[0] == '.' || text[0] == '-')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_letter(text[i]) && !is_digit(text[i]) && !strchr("_.-", text[i]))
            return false;
    return true;
}

static bool digest_is_valid(const char *text)
{
    static const struct {
        const char *algorithm;
        size_t n_digits;
    } known[] = { { "sha256:", 64 }, { "sha512:", 128 } };

    for (size_t i = 0; i < N_ELEMENTS(known); i++) {
        size_t len = strlen(known[i].algorithm);

        if (strncmp(text, known[i].algorithm, len) == 0)
            return strlen(text + len) == known[i].n_digits &&
                   all_hex(text + len, strlen(text + len));
    }
    return false;
}

/* A first part is a registry when it cannot be a folder of the default one. */
static bool begins_with_registry(const char *text, size_t slash)
{
    bool has_capital = false;

    for (size_t i = 0; i < slash; i++) {
        if (text[i] == '.' || text[i] == ':' || text[i] == '[')
            return true;
        has_capital |= is_letter(text[i]) && !is_lower(text[i]);
    }
    return has_capital || (slash == strlen("localhost") && memcmp(text, "localhost", slash) == 0);
}

/* As it was written, but for what would end the line or steer a terminal: a Dockerfile may name it.
 */
static int bad(struct gb_err *err, const char *text, const char *why)
{
    char shown[81];
    size_t n = 0;

    for (; text[n] && n < sizeof(shown) - 1; n++)
        shown[n] = (char)((unsigned char)text[n] < ' ' || text[n] == 0x7f ? '?' : text[n]);
    shown[n] = '\0';
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "'%s' is no name of an image: %s", shown, why);
}

/* Cuts tag and digest off; text is a copy. */
static const char *cut_tail(char *text, struct image_name *name)
{
    char *at = strchr(text, '@');
    char *slash;
    char *colon;

    if (at) {
        *at = '\0';
        if (!digest_is_valid(at + 1))
            return "the digest is not sha256 or sha512 with all its digits";
        (void)snprintf(name->digest, sizeof(name->digest), "%s", at + 1);
    }
    slash = strrchr(text, '/');
    colon = strchr(slash ? slash : text, ':');
    if (colon) {
        *colon = '\0';
        if (!tag_is_valid(colon + 1))
            return TAG_FORM;
        (void)snprintf(name->tag, sizeof(name->tag), "%s", colon + 1);
    }
    return NULL;
}

static const char *cut_name(const char *text, struct image_name *name)
{
    size_t slash = strcspn(text, "/");
    bool has_registry = text[slash] == '/' && begins_with_registry(text, slash);
    const char *repository = has_registry ? text + slash + 1 : text;
    const char *folder = "";
    int n;

    if (has_registry)
        (void)snprintf(name->registry, sizeof(name->registry), "%.*s", (int)slash, text);
    else
        (void)snprintf(name->registry, sizeof(name->registry), DEFAULT_REGISTRY);
    if (!registry_is_valid(name->registry))
        return "the registry before the first '/' is no host name";
    if (strcmp(name->registry, DEFAULT_REGISTRY) == 0 && !strchr(repository, '/'))
        folder = DEFAULT_FOLDER;
    n = snprintf(name->repository, sizeof(name->repository), "%s%s", folder, repository);
    if (strlen(name->registry) + 1 + (size_t)n > IMAGE_NAME_MAX)
        return "it is longer than 255 characters";
    if (!repository_is_valid(repository))
        return "a repository has small letters and digits, with single '.', '_', '__' or '-' "
               "between them";
    if (!has_registry && strlen(repository) == ID_DIGITS && all_hex(repository, ID_DIGITS))
        return "64 hexadecimal digits are an id";
    return NULL;
}

int image_name_parse(const char *text, struct image_name *ret, struct gb_err *err)
{
    struct image_name name = { 0 };
    char copy[IMAGE_TEXT_SIZE];
    const char *why;

    if (!text[0])
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "the name of the image is empty");
    if (strlen(text) >= sizeof(copy))
        return bad(err, text, "it is too long");
    (void)snprintf(copy, sizeof(copy), "%s", text);
    why = cut_tail(copy, &name);
    if (!why)
        why = cut_name(copy, &name);
    if (why)
        return bad(err, text, why);
    *ret = name;
    return 0;
}

void image_name_complete(struct image_name *name)
{
    if (!name->tag[0] && !name->digest[0])
        (void)snprintf(name->tag, sizeof(name->tag), "latest");
}

static const char *joined(const struct image_name *name, const char *registry,
                          const char *repository, char text[static IMAGE_TEXT_SIZE])
{
    (void)snprintf(text, IMAGE_TEXT_SIZE, "%s%s%s%s%s%s%s", registry, registry[0] ? "/" : "",
                   repository, name->tag[0] ? ":" : "", name->tag, name->digest[0] ? "@" : "",
                   name->digest);
    return text;
}

const char *image_name_text(const struct image_name *name, char text[static IMAGE_TEXT_SIZE])
{
    return joined(name, name->registry, name->repository, text);
}

const char *image_name_short(const struct image_name *name, char text[static IMAGE_TEXT_SIZE])
{
    size_t folder = strlen(DEFAULT_FOLDER);
    const char *rest = name->repository;

    if (strcmp(name->registry, DEFAULT_REGISTRY) != 0)
        return image_name_text(name, text);
    if (strncmp(rest, DEFAULT_FOLDER, folder) == 0 && !strchr(rest + folder, '/'))
        rest += folder;
    /* "a.b/c" would be read as a registry */
    if (begins_with_registry(rest, strcspn(rest, "/")) && strchr(rest, '/'))
        return image_name_text(name, text);
    return joined(name, "", rest, text);
}

/* row: up to and with its last slash. */
static bool is_below(const struct image_name *name, const char *row, size_t len)
{
    char whole[2 * IMAGE_NAME_MAX + 3];

    (void)snprintf(whole, sizeof(whole), "%s/%s", name->registry, name->repository);
    return strncmp(whole, row, len) == 0;
}

bool image_name_is_in(const struct image_name *name, const char *row)
{
    struct image_name allowed = { 0 };
    size_t len = strlen(row);

    if (len > 2 && row[len - 2] == '/' && row[len - 1] == '*')
        return is_below(name, row, len - 1);
    if (image_name_parse(row, &allowed, NULL) < 0)
        return false;
    if (strcmp(name->registry, allowed.registry) != 0 ||
        strcmp(name->repository, allowed.repository) != 0)
        return false;
    return (!allowed.tag[0] || strcmp(name->tag, allowed.tag) == 0) &&
           (!allowed.digest[0] || strcmp(name->digest, allowed.digest) == 0);
}

int image_name_for_build(const char *tag, uint64_t unix_time, struct image_name *ret,
                         struct gb_err *err)
{
    static const char blanks[] = " \t\r\n\v\f";
    char text[IMAGE_TAG_MAX + 2];
    size_t len;
    int r;

    tag += strspn(tag, blanks);
    if (strncmp(tag, IMAGE_AGENT ":", sizeof(IMAGE_AGENT)) == 0)
        tag += sizeof(IMAGE_AGENT);
    else if (!tag[0])
        tag = NULL;
    if (!tag) {
        (void)snprintf(text, sizeof(text), "build-%" PRIu64, unix_time);
    } else {
        len = strlen(tag);
        while (len > 0 && strchr(blanks, tag[len - 1]))
            len--;
        (void)snprintf(text, sizeof(text), "%.*s",
                       len > IMAGE_TAG_MAX ? IMAGE_TAG_MAX + 1 : (int)len, tag);
    }
    /* the tag alone: with a slash in it the whole would be read as a registry with a port */
    if (!tag_is_valid(text))
        return bad(err, tag ? tag : text, TAG_FORM);
    r = image_name_parse(IMAGE_AGENT, ret, err);
    if (r == 0)
        (void)snprintf(ret->tag, sizeof(ret->tag), "%.*s", IMAGE_TAG_MAX, text);
    return r;
}
