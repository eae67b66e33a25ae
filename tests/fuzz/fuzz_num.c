/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_num.c - any text as a number, a size, a duration, and as a list of walls.
 *
 * A number is accepted only if it is written with nothing but the characters that its kind has,
 * is never 0 where 0 is invalid, and a whole number is the one that was written. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/num.h"
#include "box/walls.h"
#include "must.h"

#define UNTOUCHED 0x5555555555555555u

static void check_whole(const char *text)
{
    uint64_t value = UNTOUCHED;
    char again[24];
    int r = num_parse_u64(text, 0, UINT64_MAX, &value);

    must(r == 0 || r == -EINVAL || r == -ERANGE);
    must(r == 0 || value == UNTOUCHED);
    if (r < 0)
        return;
    must(strspn(text, "0123456789") == strlen(text));
    while (text[0] == '0' && text[1])
        text++;
    (void)snprintf(again, sizeof(again), "%" PRIu64, value);
    must(strcmp(text, again) == 0);
}

static void check_unit(int (*parse)(const char *, uint64_t *), const char *text,
                       const char *characters)
{
    uint64_t value = UNTOUCHED;
    int r = parse(text, &value);

    must(r == 0 || r == -EINVAL || r == -ERANGE);
    must(r == 0 || value == UNTOUCHED);
    must(r < 0 || (value > 0 && value <= INT64_MAX));
    must(r < 0 || strspn(text, characters) == strlen(text));
    if (r == 0)
        must(strlen(num_size_text(value, (char[NUM_TEXT_MAX]){ 0 })) < NUM_TEXT_MAX - 1);
}

static void check_walls(const char *text)
{
    char shown[WALLS_TEXT_MAX];
    wall_set walls, again;

    if (walls_parse(text, &walls, NULL) < 0)
        return;
    must(walls <= WALLS_ALL);
    must(walls_parse(walls_text(walls, shown), &again, NULL) == 0 && again == walls);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[256];

    if (size >= sizeof(text))
        size = sizeof(text) - 1;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    check_whole(text);
    check_unit(num_parse_size, text, "0123456789.kKmMgGtTiIbB");
    check_unit(num_parse_duration, text, "0123456789.msh");
    check_unit(num_parse_milli, text, "0123456789.");
    check_walls(text);
    return 0;
}
