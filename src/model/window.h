/* SPDX-License-Identifier: Apache-2.0 */
/* model/window.h - how many tokens a model takes in, prompt and answer together.
 *
 *    what the server tells of it  >  windows.def  >  the provider's row
 *
 * and never more than the user says.  What servers tell is hostile: it is bounded. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct gb_err;
struct http_client;
struct provider;

#define WINDOW_MIN 1024 /* a server that tells less is not believed: nothing could be asked */
#define WINDOW_MAX 100000000ULL

/* Without asking anybody. */
uint64_t window_known(const struct provider *provider, const char *model);

struct window_place {
    const struct provider *provider;
    const char *base_url;
    const char *model;
    uint64_t said; /* by the user; 0: nothing */
    const char *const *headers;
    const char *ca_file;
    const char *proxy;
    int cancel_fd;
};

/* Asks.  1 and the tokens where the server tells them, 0 where it does not; -ECANCELED. */
int window_ask(struct http_client *client, const struct window_place *place, uint64_t *ret,
               struct gb_err *err);

/* Of what Ollama tells about a model: as many as were said, else as the model's own file says, else
 * as the row has; never more than the model was made for.  0: it is no such answer. */
uint64_t window_of_show(const char *text, size_t len, uint64_t said, uint64_t usual);
