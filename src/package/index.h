/* SPDX-License-Identifier: Apache-2.0 */
/* package/index.h - where packages come from: addresses, certificates and credentials of an index.
 *
 * Filled from the host's own configuration of pip and npm (conf/indexes.h).  Credentials are in
 * `whole`, in `proxy` and in `npm_lines` alone; everything that is shown or remembered is made of
 * the other members, or goes through index_mask().
 *
 * Where an index has credentials, or is reached through a proxy that would reach more, no code of a
 * package runs in the box that installs (index_is_guarded()).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/policy.h"
#include "package/set.h"

struct buf;
struct gb_err;

#define INDEX_URLS_MAX    16
#define INDEX_URL_MAX     2000
#define INDEX_SECRETS_MAX 64

struct index_url {
    char *clean;                 /* without credentials */
    char *whole;                 /* as it was configured */
    char host[NET_NAME_MAX + 1]; /* a name, or an address */
    uint16_t port;
    bool is_loopback;     /* of this machine: a box is given a name that stands for it */
    bool has_credentials; /* in the address itself */
    bool is_direct;       /* reached without the proxy */
};

/* The owner starts it as `= { .kind = … }` and owes an index_clear(). */
struct package_index {
    enum package_kind kind;
    struct index_url urls[INDEX_URLS_MAX]; /* the index first; others behind it */
    size_t n_urls;
    struct index_url proxy; /* clean NULL: none */
    char *ca_file;          /* certificates to trust; NULL: those of the machine */
    char *trusted_hosts;    /* python: reached without certificates, with blanks between; NULL */
    char *npm_lines;        /* node: lines of an .npmrc, of scopes and credentials; NULL */
    bool has_credentials;   /* in any of these, also such as are too short to be told apart */
    char *secrets[INDEX_SECRETS_MAX];
    size_t n_secrets;
};

void index_clear(struct package_index *index);

/* http:// or https:// with a host.  Blames the caller; the text of an error has no credentials. */
int index_url_parse(const char *text, struct index_url *ret, struct gb_err *err);
void index_url_clear(struct index_url *url);

/* Adds an address; what is secret in it is remembered. */
int index_add_url(struct package_index *index, const char *text, struct gb_err *err);
int index_set_proxy(struct package_index *index, const char *text, struct gb_err *err);

/* Remembers what nobody may see.  What is shorter than four bytes cannot be taken out of a text; it
 * is guarded all the same. */
int index_add_secret(struct package_index *index, const char *secret);

/* Has this machine no way to it, nor to anything but itself? */
bool index_is_offline(const struct package_index *index);

bool index_is_guarded(const struct package_index *index);

/* The usual index of its kind, where nothing was configured. */
int index_use_default(struct package_index *index, struct gb_err *err);

/* As a box must write it: with credentials, and with the name that stands for this machine. */
int index_url_in_box(const struct index_url *url, struct buf *ret);

/* Hosts of it, as a box must write them, that are reached without the proxy; with commas. */
int index_direct_in_box(const struct package_index *index, struct buf *ret);

/* What a box that installs may reach: the index, hosts that it is known to lead to, and `more`, the
 * operator's own (rules of egress/policy.h, or NULL).  Looks names up: a private address is allowed
 * when the index's own name stands for it. */
int index_policy(const struct package_index *index, const char *more, struct net_policy *ret,
                 struct gb_err *err);

/* Appends text with every secret replaced. */
int index_mask(const struct package_index *index, const char *text, size_t len, struct buf *ret);

/* Does any secret occur in it? */
bool index_leaks(const struct package_index *index, const void *bytes, size_t len);
