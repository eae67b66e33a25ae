/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_image_name.c - names of images: what is read is written and reads the same. */
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "image/name.h"
#include "must.h"

static void check_error(const struct gb_err *err)
{
    must(err->msg[0]);
    for (const char *c = err->msg; *c; c++)
        must(*c >= ' ' && *c < 0x7f);
}

static void check_text(const char *text, const struct image_name *name)
{
    struct image_name again;

    must(strlen(text) < IMAGE_TEXT_SIZE);
    must(image_name_parse(text, &again, NULL) == 0);
    must(memcmp(name, &again, sizeof(again)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *text = text_copy(data, size);
    char written[IMAGE_TEXT_SIZE];
    struct image_name name;
    struct gb_err err = { 0 };

    if (!text)
        return 0;
    if (image_name_for_build(text, 7, &name, NULL) == 0)
        must(strcmp(name.repository, "library/" IMAGE_AGENT) == 0 && name.tag[0]);
    if (image_name_parse(text, &name, &err) < 0) {
        check_error(&err);
        return 0;
    }
    check_text(image_name_text(&name, written), &name);
    check_text(image_name_short(&name, written), &name);
    must(image_name_is_in(&name, written));
    return 0;
}
