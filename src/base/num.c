/* SPDX-License-Identifier: Apache-2.0 */
/* base/num.c - numbers, sizes and durations that people write. */
#include "base/num.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A decimal as written: whole part, and the fraction as frac / scale with at most nine digits. */
struct decimal {
    uint64_t whole;
    uint64_t frac;
    uint64_t scale;
};

static int parse_digits(const char **text, uint64_t *ret)
{
    const char *p = *text;
    uint64_t value = 0;

    if (!isdigit((unsigned char)*p))
        return -EINVAL;
    for (; isdigit((unsigned char)*p); p++) {
        uint64_t digit = (uint64_t)(*p - '0');

        if (value > (UINT64_MAX - digit) / 10)
            return -ERANGE;
        value = value * 10 + digit;
    }
    *text = p;
    *ret = value;
    return 0;
}

static int parse_decimal(const char **text, struct decimal *ret)
{
    struct decimal dec = { .scale = 1 };
    int r = parse_digits(text, &dec.whole);

    if (r < 0)
        return r;
    if (**text == '.') {
        const char *p = *text + 1;

        if (!isdigit((unsigned char)*p))
            return -EINVAL;
        for (; isdigit((unsigned char)*p); p++) {
            if (dec.scale >= 1000000000)
                return -EINVAL;
            dec.frac = dec.frac * 10 + (uint64_t)(*p - '0');
            dec.scale *= 10;
        }
        *text = p;
    }
    *ret = dec;
    return 0;
}

/* dec × unit, rounded up; 0 and overflow are -ERANGE. */
static int decimal_times(const struct decimal *dec, uint64_t unit, uint64_t *ret)
{
    unsigned __int128 value = (unsigned __int128)dec->whole * unit;

    value += ((unsigned __int128)dec->frac * unit + dec->scale - 1) / dec->scale;
    if (value == 0 || value > INT64_MAX)
        return -ERANGE;
    *ret = (uint64_t)value;
    return 0;
}

int num_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret)
{
    uint64_t value;
    int r = parse_digits(&text, &value);

    if (r < 0)
        return r;
    if (*text)
        return -EINVAL;
    if (value < min || value > max)
        return -ERANGE;
    *ret = value;
    return 0;
}

static int size_unit(const char *suffix, uint64_t *ret)
{
    static const char letters[] = "kmgt";
    const char *at;

    if (!*suffix || strcasecmp(suffix, "b") == 0) {
        *ret = 1;
        return 0;
    }
    at = strchr(letters, tolower((unsigned char)*suffix));
    if (!at || !*at)
        return -EINVAL;
    suffix++;
    if (*suffix && strcasecmp(suffix, "b") != 0 && strcasecmp(suffix, "ib") != 0)
        return -EINVAL;
    *ret = 1ULL << (10 * (at - letters + 1));
    return 0;
}

int num_parse_size(const char *text, uint64_t *ret_bytes)
{
    struct decimal dec;
    uint64_t unit;
    int r = parse_decimal(&text, &dec);

    if (r < 0)
        return r;
    r = size_unit(text, &unit);
    if (r < 0)
        return r;
    return decimal_times(&dec, unit, ret_bytes);
}

int num_parse_duration(const char *text, uint64_t *ret_ms)
{
    static const struct {
        const char *suffix;
        uint64_t ms;
    } units[] = {
        { "", 1000 }, { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 },
    };
    struct decimal dec;
    int r = parse_decimal(&text, &dec);

    if (r < 0)
        return r;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(text, units[i].suffix) == 0)
            return decimal_times(&dec, units[i].ms, ret_ms);
    return -EINVAL;
}

int num_parse_milli(const char *text, uint64_t *ret_milli)
{
    struct decimal dec;
    int r = parse_decimal(&text, &dec);

    if (r < 0)
        return r;
    return *text ? -EINVAL : decimal_times(&dec, 1000, ret_milli);
}

const char *num_size_text(uint64_t bytes, char text[static NUM_TEXT_MAX])
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    unsigned __int128 scaled = (unsigned __int128)bytes * 10;
    size_t unit = 0;

    while (scaled >= 10240 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        scaled /= 1024;
        unit++;
    }
    if (scaled % 10)
        (void)snprintf(text, NUM_TEXT_MAX, "%llu.%llu %s", (unsigned long long)(scaled / 10),
                       (unsigned long long)(scaled % 10), units[unit]);
    else
        (void)snprintf(text, NUM_TEXT_MAX, "%llu %s", (unsigned long long)(scaled / 10),
                       units[unit]);
    return text;
}
