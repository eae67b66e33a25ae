/* SPDX-License-Identifier: Apache-2.0 */
/* agent/redact.c - finds secrets in their usual disguises.
 *
 * One pass: where a byte can begin a disguise (a table of 256 bits), each secret is tried in each
 * of them.  A matcher decodes on the way, so that mixtures ("%73k-a") are found without a list of
 * all of them.
 */
#include "agent/redact.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

#define ALIGNMENTS 3
#define MARK       "[redacted]"

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

struct secret {
    unsigned char *bytes;
    size_t len;
    char *base64[ALIGNMENTS]; /* the digits that depend on the secret alone */
};

struct redactor {
    struct secret *items;
    size_t n;
    uint8_t starts[32]; /* bytes that may begin one */
};

/* What is left of the text. */
struct rest {
    const char *at;
    const char *end;
};

/* ---- making --------------------------------------------------------------------------------- */

/* The six bits from a bit offset on; past the end they are 0. */
static unsigned six_bits(const struct secret *secret, size_t bit)
{
    size_t byte = bit / 8;
    unsigned pair = (unsigned)secret->bytes[byte] << 8;

    if (byte + 1 < secret->len)
        pair |= secret->bytes[byte + 1];
    return pair >> (10 - bit % 8) & 63;
}

/* The secret stands `before` bytes behind a border of three. */
static char *base64_core(const struct secret *secret, size_t before)
{
    size_t skip = (6 - before * 8 % 6) % 6; /* bits of a digit that other bytes share */
    size_t n = (secret->len * 8 - skip) / 6;
    char *text = malloc(n + 1);

    if (!text)
        return NULL;
    for (size_t i = 0; i < n; i++)
        text[i] = base64_digits[six_bits(secret, skip + i * 6)];
    text[n] = '\0';
    return text;
}

static void add_start(struct redactor *redactor, unsigned char c)
{
    redactor->starts[c >> 3] |= (uint8_t)(1U << (c & 7));
}

static bool may_start(const struct redactor *redactor, unsigned char c)
{
    return redactor->starts[c >> 3] >> (c & 7) & 1;
}

static void add_starts(struct redactor *redactor, const struct secret *secret)
{
    static const char hex[] = "0123456789abcdef0123456789ABCDEF";

    add_start(redactor, secret->bytes[0]);
    add_start(redactor, '%');
    add_start(redactor, '\\');
    add_start(redactor, (unsigned char)hex[secret->bytes[0] >> 4]);
    add_start(redactor, (unsigned char)hex[16 + (secret->bytes[0] >> 4)]);
    if (secret->bytes[0] == ' ')
        add_start(redactor, '+');
    for (size_t i = 0; i < ALIGNMENTS; i++) {
        char c = secret->base64[i][0];

        add_start(redactor, (unsigned char)c);
        if (c == '+' || c == '/')
            add_start(redactor, c == '+' ? '-' : '_');
    }
}

static int add_secret(struct redactor *redactor, const char *text)
{
    struct secret *secret = &redactor->items[redactor->n++];

    secret->len = strlen(text);
    secret->bytes = (unsigned char *)strdup(text);
    if (!secret->bytes)
        return -ENOMEM;
    for (size_t i = 0; i < ALIGNMENTS; i++) {
        secret->base64[i] = base64_core(secret, i);
        if (!secret->base64[i])
            return -ENOMEM;
    }
    add_starts(redactor, secret);
    return 0;
}

int redactor_new(const char *const *secrets, struct redactor **ret)
{
    cleanup_redactor struct redactor *redactor = calloc(1, sizeof(*redactor));
    size_t n = 0;

    while (secrets && secrets[n])
        n++;
    if (!redactor || !(redactor->items = calloc(n + 1, sizeof(*redactor->items))))
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        int r = strlen(secrets[i]) >= REDACT_MIN ? add_secret(redactor, secrets[i]) : 0;

        if (r < 0)
            return r;
    }
    *ret = take_ptr(redactor);
    return 0;
}

static void wipe(void *text, size_t len)
{
    if (text)
        explicit_bzero(text, len);
    free(text);
}

void redactor_free(struct redactor **redactor)
{
    struct redactor *it = *redactor;

    *redactor = NULL;
    if (!it)
        return;
    for (size_t i = 0; i < it->n; i++) {
        wipe(it->items[i].bytes, it->items[i].len);
        for (size_t k = 0; k < ALIGNMENTS; k++)
            wipe(it->items[i].base64[k],
                 it->items[i].base64[k] ? strlen(it->items[i].base64[k]) : 0);
    }
    free(it->items);
    free(it);
}

/* ---- decoding ------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that n hex digits make, -1 when they do not. */
static int hex_value(struct rest rest, size_t skip, size_t n)
{
    int value = 0;

    if ((size_t)(rest.end - rest.at) < skip + n)
        return -1;
    for (size_t i = skip; i < skip + n; i++) {
        if (hex_digit(rest.at[i]) < 0 || value > 0xf)
            return -1;
        value = value << 4 | hex_digit(rest.at[i]);
    }
    return value;
}

static bool begins(struct rest rest, const char *text)
{
    size_t len = strlen(text);

    return (size_t)(rest.end - rest.at) >= len && memcmp(rest.at, text, len) == 0;
}

/* How many bytes of the text stand for this one, plainly, for a URL or in JSON; 0: they do not. */
static size_t text_byte(struct rest rest, unsigned char byte)
{
    unsigned char c;

    if (rest.at == rest.end)
        return 0;
    c = (unsigned char)*rest.at;
    if (c == '%' && hex_value(rest, 1, 2) == byte)
        return 3;
    if (begins(rest, "\\u") && hex_value(rest, 2, 4) == byte)
        return 6;
    if (c == '\\' && rest.end - rest.at > 1 && (unsigned char)rest.at[1] == byte &&
        strchr("\"\\/'", byte))
        return 2;
    return c == byte || (byte == ' ' && c == '+');
}

/* Separators of a dump between two bytes. */
static size_t hex_gap(struct rest rest)
{
    size_t n = 0;

    while (rest.at + n < rest.end && n < 3 && strchr(" :,-\t\r\n", rest.at[n]) && rest.at[n])
        n++;
    rest.at += n;
    return begins(rest, "\\x") || begins(rest, "0x") ? n + 2 : n;
}

static size_t base64_gap(struct rest rest)
{
    size_t n = 0;

    while (rest.at + n < rest.end && (rest.at[n] == '\r' || rest.at[n] == '\n'))
        n++;
    rest.at += n;
    return begins(rest, "\\n") ? n + 2 : n;
}

static size_t base64_byte(struct rest rest, char digit)
{
    if (rest.at == rest.end)
        return 0;
    if (*rest.at == digit || (digit == '+' && *rest.at == '-') || (digit == '/' && *rest.at == '_'))
        return 1;
    return *rest.at == '%' && hex_value(rest, 1, 2) == digit ? 3 : 0;
}

/* ---- matching ------------------------------------------------------------------------------- */

/* Each returns how long the disguised secret is that begins here; 0: none does. */
static size_t match_text(const struct secret *secret, struct rest rest)
{
    const char *begin = rest.at;

    for (size_t i = 0; i < secret->len; i++) {
        size_t n = text_byte(rest, secret->bytes[i]);

        if (n == 0)
            return 0;
        rest.at += n;
    }
    return (size_t)(rest.at - begin);
}

static size_t match_hex(const struct secret *secret, struct rest rest)
{
    const char *begin = rest.at;

    for (size_t i = 0; i < secret->len; i++) {
        if (i > 0)
            rest.at += hex_gap(rest);
        if (hex_value(rest, 0, 2) != secret->bytes[i])
            return 0;
        rest.at += 2;
    }
    return (size_t)(rest.at - begin);
}

static size_t match_base64(const char *core, struct rest rest)
{
    const char *begin = rest.at;

    for (; *core; core++) {
        size_t n;

        if (rest.at > begin)
            rest.at += base64_gap(rest);
        n = base64_byte(rest, *core);
        if (n == 0)
            return 0;
        rest.at += n;
    }
    return (size_t)(rest.at - begin);
}

static size_t longer(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t match_any(const struct redactor *redactor, struct rest rest)
{
    size_t most = 0;

    for (size_t i = 0; i < redactor->n; i++) {
        const struct secret *secret = &redactor->items[i];

        most = longer(most, match_text(secret, rest));
        most = longer(most, match_hex(secret, rest));
        for (size_t k = 0; k < ALIGNMENTS; k++)
            most = longer(most, match_base64(secret->base64[k], rest));
    }
    return most;
}

/* The next secret: its length, and *rest moved to where it begins; 0 and the end without one. */
static size_t find(const struct redactor *redactor, struct rest *rest)
{
    for (; rest->at < rest->end; rest->at++) {
        size_t len = may_start(redactor, (unsigned char)*rest->at) ? match_any(redactor, *rest) : 0;

        if (len > 0)
            return len;
    }
    return 0;
}

int redact(const struct redactor *redactor, const void *bytes, size_t len, struct buf *ret)
{
    struct rest rest = { bytes, (const char *)bytes + len };

    if (!redactor || redactor->n == 0) {
        (void)buf_add(ret, bytes, len);
        return buf_error(ret);
    }
    while (rest.at < rest.end) {
        const char *begin = rest.at;
        size_t found = find(redactor, &rest);

        (void)buf_add(ret, begin, (size_t)(rest.at - begin));
        if (found > 0)
            (void)buf_puts(ret, MARK);
        rest.at += found;
    }
    return buf_error(ret);
}

bool redact_finds(const struct redactor *redactor, const void *bytes, size_t len)
{
    struct rest rest = { bytes, (const char *)bytes + len };

    return redactor && find(redactor, &rest) > 0;
}
