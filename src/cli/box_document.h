/* SPDX-License-Identifier: Apache-2.0 */
/* cli/box_document.h - a box that lives on as a JSON document. */
#pragma once

struct box_news;
struct json_writer;
struct kept;
struct settings;

/* An object without a key: of a list, or of its own. */
void box_document_put(struct json_writer *w, const struct settings *settings,
                      const struct kept *kept, const struct box_news *news);
