/* SPDX-License-Identifier: Apache-2.0 */
/* engine/refusal.c - what the engine says when it does not do something. */
#include "engine/refusal.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "json/value.h"

#define BODY_MAX (1 << 20)

/* ---- its words ------------------------------------------------------------------------------ */

void refusal_line(const char *text, size_t len, char line[static REFUSAL_MAX])
{
    size_t used = 0;

    while (len > 0 && isspace((unsigned char)text[len - 1]))
        len--;
    for (size_t i = 0; i < len && used + 1 < REFUSAL_MAX; i++) {
        unsigned char c = (unsigned char)text[i];

        line[used] = text[i];
        if (c == '\n' || c == '\r' || c == '\t')
            line[used] = ' ';
        else if (c < ' ' || c == 0x7f)
            line[used] = '?';
        used++;
    }
    line[used] = '\0';
}

void refusal_words(const char *body, size_t len, char words[static REFUSAL_MAX])
{
    cleanup_json struct json_value *json = NULL;
    size_t said_len = 0;
    const char *said;

    words[0] = '\0';
    if (json_value_parse(body, len, BODY_MAX, &json, NULL) == 0) {
        said = json_str(json_get(json, "message"), &said_len);
        if (said)
            refusal_line(said, said_len, words);
    } else if (len > 0 && body[0] != '<' && body[0] != '{') { /* a page of HTML says nothing */
        refusal_line(body, len, words);
    }
}

/* ---- versions ------------------------------------------------------------------------------- */

unsigned refusal_api_of(const char *text)
{
    unsigned minor = 0;

    if (strncmp(text, "1.", 2) != 0)
        return 0;
    for (const char *c = text + 2; isdigit((unsigned char)*c) && minor < 1000; c++)
        minor = minor * 10 + (unsigned)(*c - '0');
    return minor;
}

unsigned refusal_max_api(const char *words)
{
    static const char said[] = "Maximum supported API version is ";
    const char *at = strstr(words, said);

    return at && strstr(words, "too new") ? refusal_api_of(at + strlen(said)) : 0;
}

/* ---- what it means -------------------------------------------------------------------------- */

#define LOG_IN      "docker login, or give the registry's credentials"
#define ENGINE_LOGS "the engine's own log says more: journalctl -u docker"
#define NO_SPACE    "make room where the engine keeps its data: docker system prune"

/* What no status stands for. */
enum {
    STEP_FAILED = 1,
    REGISTRY_LOST,
    DIGEST_BROKEN,
};

static const struct meaning {
    int status;
    int code;
    enum gb_blame blame;
    const char *what;
    const char *remedy;
} meanings[] = {
    { 400, -EINVAL, GB_BLAME_CALLER, "the engine refuses this request", NULL },
    { 401, -EACCES, GB_BLAME_CALLER, "the engine wants a log-in", LOG_IN },
    { 403, -EACCES, GB_BLAME_CALLER, "the engine forbids this", NULL },
    { 404, -ENOENT, GB_BLAME_CALLER, "the engine does not know it", NULL },
    { 409, -EBUSY, GB_BLAME_CALLER, "the engine has a conflict", NULL },
    { 501, -EINVAL, GB_BLAME_PEER, "the engine cannot do this", NULL },
    { STEP_FAILED, -EREMOTEIO, GB_BLAME_CALLER, "a step of the build failed", NULL },
    { REGISTRY_LOST, -EHOSTUNREACH, GB_BLAME_HOST, "the engine cannot reach the registry",
      "look at the registry's address, and at the engine's network and proxy" },
    { DIGEST_BROKEN, -EILSEQ, GB_BLAME_PEER, "what the registry sent is not what its digest says",
      "its copy is damaged or was exchanged: push it again, or take another tag" },
    { 503, -EREMOTEIO, GB_BLAME_PEER, "the engine is not ready", ENGINE_LOGS },
    { 0, -EREMOTEIO, GB_BLAME_PEER, "the engine failed", ENGINE_LOGS },
};

static const struct meaning *meaning_of(int status)
{
    const struct meaning *meaning = meanings;

    while (meaning->status != status && meaning->status != 0)
        meaning++;
    return meaning;
}

/* Engines tell many things by 500 or inside of a stream; only their sentence tells them apart. */
static const struct {
    const char *said;
    int status; /* what it should have been */
    const char *remedy;
} sentences[] = {
    /* first: what follows may be words of the program that failed */
    { "returned a non-zero code: ", STEP_FAILED, NULL },
    { "building at STEP ", STEP_FAILED, NULL },
    { "verification failed for digest", DIGEST_BROKEN, NULL },
    { "igest did not match", DIGEST_BROKEN, NULL },
    { "does not match provided manifest digest", DIGEST_BROKEN, NULL },
    { "unexpected commit digest", DIGEST_BROKEN, NULL },
    { "unauthorized", 401, LOG_IN },
    { "401 Unauthorized", 401, LOG_IN },
    { "authentication required", 401, LOG_IN },
    { "no basic auth credentials", 401, LOG_IN },
    { "access to the resource is denied", 401, LOG_IN },
    { "access denied", 401, LOG_IN },
    { "manifest unknown", 404, NULL },
    { "name unknown", 404, NULL },
    { "No such image", 404, NULL },
    { "no such image", 404, NULL },
    { "is already in use", 409, NULL },
    { "container state improper", 409, NULL },
    { "no space left on device", 500, NO_SPACE },
    { "dial tcp", REGISTRY_LOST, NULL },
    { "net/http: ", REGISTRY_LOST, NULL },
};

static int tell(const struct meaning *meaning, const char *words, const char *remedy,
                struct gb_err *err)
{
    (void)gb_fail(err, meaning->code, meaning->blame, "%s%s%s", meaning->what, words[0] ? ": " : "",
                  words);
    if (err && remedy)
        gb_add_remedy(err, remedy);
    return meaning->code;
}

static int tell_status(int status, const char *words, const char *missing_remedy,
                       struct gb_err *err)
{
    const struct meaning *meaning = meaning_of(status);

    return tell(meaning, words, status == 404 && missing_remedy ? missing_remedy : meaning->remedy,
                err);
}

int refusal_of_words(const char *words, const char *missing_remedy, struct gb_err *err)
{
    for (size_t i = 0; i < N_ELEMENTS(sentences); i++) {
        const char *remedy = sentences[i].remedy;

        if (!strstr(words, sentences[i].said))
            continue;
        if (sentences[i].status == 404)
            remedy = missing_remedy;
        else if (!remedy)
            remedy = meaning_of(sentences[i].status)->remedy;
        return tell(meaning_of(sentences[i].status), words, remedy, err);
    }
    return tell_status(500, words, NULL, err);
}

int refusal_of_status(int status, const char *words, const char *missing_remedy, struct gb_err *err)
{
    if (status == 400 && strstr(words, "API version"))
        return gb_fail(err, -EPROTONOSUPPORT, GB_BLAME_HOST,
                       "no version of the API is common to the engine and glovebox: %s" GB_REMEDY
                       "update the one that is older; unset DOCKER_API_VERSION",
                       words);
    if (status == 400 && strstr(words, "HTTP request to an HTTPS server"))
        return gb_fail(err, -EPROTO, GB_BLAME_HOST,
                       "the engine speaks TLS only: %s" GB_REMEDY
                       "set DOCKER_TLS_VERIFY=1, and DOCKER_CERT_PATH to the folder of ca.pem, "
                       "cert.pem and key.pem",
                       words);
    return status >= 500 && status != 501 && status != 503
               ? refusal_of_words(words, missing_remedy, err)
               : tell_status(status, words, missing_remedy, err);
}
