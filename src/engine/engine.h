/* SPDX-License-Identifier: Apache-2.0 */
/* engine/engine.h - a client of the Docker Engine API, as Docker and Podman speak it.
 *
 * Blocking.  A client belongs to one thread and does one request at a time.  Every call has a
 * deadline.  What the engine answers is hostile: sizes, depths and counts have limits, and its
 * words are shown without control bytes.
 *
 * Errors, the same from every call, each with what helps:
 *    -ECONNREFUSED     there is no engine: not running, not installed, elsewhere
 *    -EACCES           its socket is not for this user; a registry wants a log-in
 *    -ENOENT           no such image, container, volume, path
 *    -EBUSY            a name or image in use, a container in the wrong state
 *    -EINVAL           it refuses the request
 *    -EPROTONOSUPPORT  its API is too old, or too new
 *    -ETIMEDOUT        no answer within the deadline
 *    -EREMOTEIO        it failed, in its own words
 *    -EHOSTUNREACH     it does not reach the registry
 *    -EILSEQ           a registry sent something else than its digest says
 *    -ECONNRESET       it hung up: ended or killed meanwhile
 *    -EBADMSG          what came is not the protocol
 *    -EMSGSIZE         what came is too much
 *    -EKEYREJECTED     its certificate is not of a CA that is known here
 *    -EKEYEXPIRED      its certificate, or ours, is not valid today
 *    -ENOKEY           it wants a certificate of ours, or does not accept it
 *    -ECANCELED, -ENOMEM, and http_do()'s about names
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/target.h"

struct endpoint;
struct engine;
struct gb_err;
struct http_answer;
struct http_request;
struct json_value;

/* 1.N: the newest whose shapes are known here, and the oldest that has what boxes need. */
#define ENGINE_API_MAX 51
#define ENGINE_API_MIN 41

#define ENGINE_CALL_MS    60000
#define ENGINE_ANSWER_MAX (4 << 20)

struct engine_options {
    const struct endpoint *endpoint; /* copied */
    const char *api_version;         /* DOCKER_API_VERSION: "1.41", no negotiation; NULL or "" */
    uint64_t call_ms;                /* of each call that sets none; 0: ENGINE_CALL_MS */
    int cancel_fd;                   /* readable: every call gives up; -1: never */
};

/* Asks whether the engine is there and agrees on a version.  The caller owes engine_free(). */
int engine_open(const struct engine_options *options, struct engine **ret, struct gb_err *err);
void engine_free(struct engine **engine);

#define cleanup_engine cleanup_with(engine_free)

/* How long calls that set no time of their own may take from now on. */
void engine_set_call_ms(struct engine *engine, uint64_t call_ms);

/* From now on no call gives up because of cancel_fd: what was made is to be removed. */
void engine_forget_cancel(struct engine *engine);

/* The same until the fd that is returned is given back: what was begun is removed all the same, and
 * what comes next can be given up again. */
int engine_swap_cancel(struct engine *engine, int cancel_fd);

unsigned engine_api(const struct engine *engine); /* N of 1.N */
bool engine_is_podman(const struct engine *engine);
const struct endpoint *engine_endpoint(const struct engine *engine);

/* ---- for the calls of this folder ---- */

struct engine_call {
    const char *method;
    const struct target *target; /* without the version */
    const struct buf *body;      /* JSON; NULL: none */
    const char *const *headers;  /* besides; NULL-terminated, may be NULL */
    uint64_t total_ms;           /* 0: the client's */
    uint64_t idle_ms;            /* silence; 0: as long as the whole */
    size_t answer_max;           /* 0: ENGINE_ANSWER_MAX */
    const char *missing_remedy;  /* what helps against a 404 */
    bool is_unversioned;
    /* http_request's: what comes and what goes in pieces. */
    int (*data)(void *user, const char *bytes, size_t len);
    ssize_t (*source)(void *user, void *bytes, size_t size);
    void *user;
};

/* 0 when the engine has done it (2xx, 304).  The caller owes http_answer_clear() in any case. */
int engine_ask(struct engine *engine, const struct engine_call *call, struct http_answer *ret,
               struct gb_err *err);

/* The same, and the answer is JSON, the caller's to free.  ret may be NULL. */
int engine_call(struct engine *engine, const struct engine_call *call, struct json_value **ret,
                struct gb_err *err);

/* The body of an answer, which was held to a size already. */
int engine_json(const struct buf *body, struct json_value **ret, struct gb_err *err);

/* The request of a call, for who speaks HTTP by himself; url holds its URL. */
int engine_request(const struct engine *engine, const struct engine_call *call, struct buf *url,
                   struct http_request *ret, struct gb_err *err);

/* An answer that is no success, as an error. */
int engine_refusal(const struct engine_call *call, const struct http_answer *answer,
                   struct gb_err *err);

/* What http_do() failed with, as one of the errors above. */
int engine_lost(const struct engine *engine, int code, struct gb_err *err);

/* An answer that lacks something. */
int engine_garbled(const char *what, struct gb_err *err);
