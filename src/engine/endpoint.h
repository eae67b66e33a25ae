/* SPDX-License-Identifier: Apache-2.0 */
/* engine/endpoint.h - where the engine is, by the rules that docker's own client has.
 *
 * What the environment says comes in a struct.  Read here are only docker's own files, below the
 * directory that is given: config.json and its contexts.  First match wins: what the caller names,
 * DOCKER_HOST, DOCKER_CONTEXT, the current context, then the usual sockets, Podman's last.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

struct gb_err;

#define ENDPOINT_URL_MAX    320
#define ENDPOINT_SOCKET_MAX 108

/* NULL and "" mean that it is not set. */
struct endpoint_hints {
    const char *host;        /* the caller's own choice, as DOCKER_HOST would name it */
    const char *docker_host; /* DOCKER_HOST */
    const char *context;     /* DOCKER_CONTEXT */
    const char *config_dir;  /* DOCKER_CONFIG, else ~/.docker */
    const char *tls_verify;  /* DOCKER_TLS_VERIFY: tcp means TLS */
    const char *cert_path;   /* DOCKER_CERT_PATH: ca.pem, cert.pem, key.pem; else config_dir */
    const char *home;        /* HOME */
    const char *runtime_dir; /* XDG_RUNTIME_DIR */
    const char *run_dir;     /* where the system's sockets are; else /var/run */
};

struct endpoint {
    char socket[ENDPOINT_SOCKET_MAX]; /* "": none, the URL says all */
    char url[ENDPOINT_URL_MAX];       /* without a slash at its end */
    char ca_file[PATH_MAX];           /* "": the system's */
    char cert_file[PATH_MAX];         /* "": none */
    char key_file[PATH_MAX];
    bool is_unverified; /* a context says so (SkipTLSVerify) */
    char shown[160];    /* for people: the address, and who named it */
};

/* Nobody is asked whether an engine answers there, but of several usual sockets the first that
 * takes connections counts, else the first that exists, else docker's.  -EINVAL: an address that is
 * none; -EPROTONOSUPPORT: of a kind that is not spoken (ssh); -ENOENT: no such context; -ENOKEY: no
 * certificates where they are said to be. */
int endpoint_find(const struct endpoint_hints *hints, struct endpoint *ret, struct gb_err *err);
