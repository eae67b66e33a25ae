/* SPDX-License-Identifier: Apache-2.0 */
/* glove/proxy_http.c - requests that HTTP makes of the proxy, and what it is told. */
#include "glove/proxy_http.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "wire/msg.h"

#define STATUS_BAD       400
#define STATUS_FORBIDDEN 403
#define STATUS_TOO_LARGE 431
#define STATUS_NO_SERVER 502
#define STATUS_TOO_LATE  504

#define HTTP_PORT   80
#define METHOD_MAX  32
#define DIGITS_MAX  18 /* of a body's length */
#define WHY_MAX     80
#define SCHEME      "http://"
#define LAST_FIELDS "Connection: close\r\n\r\n"

struct piece {
    const char *at;
    size_t len;
};

struct field {
    struct piece name;
    struct piece value;
};

struct head {
    struct piece method;
    struct piece target;
    bool is_old; /* HTTP/1.0 */
    size_t n_fields;
    struct field fields[HTTP_FIELDS_MAX];
};

/* ---- lines ---------------------------------------------------------------------------------- */

/* A line that is empty ends a head whether its end is a right one or not: what is wrong with it is
 * for http_request_read() to say. */
size_t http_head_end(const char *bytes, size_t from, size_t len)
{
    for (size_t i = from > 2 ? from - 2 : 0; i + 1 < len; i++) {
        if (bytes[i] != '\n')
            continue;
        if (bytes[i + 1] == '\n')
            return i + 2;
        if (i + 2 < len && bytes[i + 1] == '\r' && bytes[i + 2] == '\n')
            return i + 3;
    }
    return 0;
}

static bool has_control(struct piece line)
{
    for (size_t i = 0; i < line.len; i++) {
        unsigned char c = (unsigned char)line.at[i];

        if ((c < ' ' && c != '\t') || c == 0x7f)
            return true;
    }
    return false;
}

static bool next_line(const char **at, const char *end, struct piece *ret)
{
    const char *feed = memchr(*at, '\n', (size_t)(end - *at));

    if (!feed || feed == *at || feed[-1] != '\r')
        return false;
    *ret = (struct piece){ *at, (size_t)(feed - 1 - *at) };
    *at = feed + 1;
    return !has_control(*ret);
}

static bool is_token(struct piece word)
{
    static const char others[] = "!#$%&'*+-.^_`|~";

    for (size_t i = 0; i < word.len; i++) {
        char c = word.at[i];

        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
            (!c || !strchr(others, c)))
            return false;
    }
    return word.len > 0;
}

static bool is_word(struct piece piece, const char *word)
{
    return piece.len == strlen(word) && strncasecmp(piece.at, word, piece.len) == 0;
}

static struct piece trim(struct piece piece)
{
    while (piece.len > 0 && (piece.at[0] == ' ' || piece.at[0] == '\t')) {
        piece.at++;
        piece.len--;
    }
    while (piece.len > 0 && (piece.at[piece.len - 1] == ' ' || piece.at[piece.len - 1] == '\t'))
        piece.len--;
    return piece;
}

/* Cuts at the first such byte; what is before it, and *rest behind it. */
static bool cut(struct piece *rest, char at, struct piece *ret)
{
    const char *found = rest->len > 0 ? memchr(rest->at, at, rest->len) : NULL;

    if (!found)
        return false;
    *ret = (struct piece){ rest->at, (size_t)(found - rest->at) };
    rest->at = found + 1;
    rest->len -= ret->len + 1;
    return true;
}

/* Bytes that stand in a target as they are; a '\\' is a '/' to some, a '#' an end. */
static bool is_plain(struct piece target)
{
    for (size_t i = 0; i < target.len; i++)
        if (target.at[i] <= ' ' || target.at[i] >= 0x7f || strchr("\\#\"<>", target.at[i]))
            return false;
    return target.len > 0;
}

/* One blank between three words, none elsewhere. */
static bool read_request_line(struct piece line, struct head *ret)
{
    if (!cut(&line, ' ', &ret->method) || !cut(&line, ' ', &ret->target))
        return false;
    ret->is_old = line.len == 8 && memcmp(line.at, "HTTP/1.0", 8) == 0;
    return (ret->is_old || (line.len == 8 && memcmp(line.at, "HTTP/1.1", 8) == 0)) &&
           is_token(ret->method) && ret->method.len <= METHOD_MAX && is_plain(ret->target);
}

/* A name that begins with a blank is a folded line; one that ends with one is read by some as
 * another name.  Neither is a token. */
static bool read_field(struct piece line, struct field *ret)
{
    if (!cut(&line, ':', &ret->name) || !is_token(ret->name))
        return false;
    ret->value = trim(line);
    return true;
}

static int read_head(const char *bytes, size_t len, struct head *ret)
{
    const char *at = bytes;
    const char *end = bytes + len;
    struct piece line;

    ret->n_fields = 0;
    if (!next_line(&at, end, &line) || !read_request_line(line, ret))
        return STATUS_BAD;
    for (;;) {
        if (!next_line(&at, end, &line))
            return STATUS_BAD;
        if (line.len == 0)
            return at == end ? 0 : STATUS_BAD;
        if (ret->n_fields == HTTP_FIELDS_MAX)
            return STATUS_TOO_LARGE;
        if (!read_field(line, &ret->fields[ret->n_fields++]))
            return STATUS_BAD;
    }
}

/* ---- fields --------------------------------------------------------------------------------- */

static const struct field *find_field(const struct head *head, const char *name, size_t *ret_n)
{
    const struct field *found = NULL;

    *ret_n = 0;
    for (size_t i = 0; i < head->n_fields; i++) {
        if (!is_word(head->fields[i].name, name))
            continue;
        found = &head->fields[i];
        (*ret_n)++;
    }
    return found;
}

/* The words of every Connection field, with commas between them: is this one of them? */
static bool is_connection_option(const struct head *head, struct piece name)
{
    for (size_t i = 0; i < head->n_fields; i++) {
        struct piece rest = head->fields[i].value;
        struct piece option;

        if (!is_word(head->fields[i].name, "connection"))
            continue;
        while (cut(&rest, ',', &option)) {
            option = trim(option);
            if (option.len == name.len && strncasecmp(option.at, name.at, name.len) == 0)
                return true;
        }
        rest = trim(rest);
        if (rest.len == name.len && strncasecmp(rest.at, name.at, name.len) == 0)
            return true;
    }
    return false;
}

/* Of this connection only, whether Connection says so or not. */
static bool is_of_connection(const struct head *head, struct piece name)
{
    static const char *const names[] = {
        "connection", "proxy-connection", "keep-alive", "proxy-authorization",
        "te",         "upgrade",          "close", /* as the Connection says that goes on */
        "host",                                    /* which is written anew */
    };

    for (size_t i = 0; i < N_ELEMENTS(names); i++)
        if (is_word(name, names[i]))
            return true;
    return is_connection_option(head, name);
}

static bool is_number(struct piece value)
{
    for (size_t i = 0; i < value.len; i++)
        if (value.at[i] < '0' || value.at[i] > '9')
            return false;
    return value.len > 0 && value.len <= DIGITS_MAX;
}

/* A body has one length that everybody sees. */
static bool has_one_body(const struct head *head, bool is_tunnel)
{
    static const char *const needed[] = { "host", "content-length", "transfer-encoding" };
    size_t n_lengths;
    size_t n_codings;
    const struct field *length = find_field(head, "content-length", &n_lengths);
    const struct field *coding = find_field(head, "transfer-encoding", &n_codings);

    for (size_t i = 0; i < N_ELEMENTS(needed); i++)
        if (is_connection_option(head, (struct piece){ needed[i], strlen(needed[i]) }))
            return false;
    if (n_lengths + n_codings > 1 || (is_tunnel && n_lengths + n_codings > 0))
        return false;
    if (coding && (head->is_old || !is_word(coding->value, "chunked")))
        return false;
    return !length || is_number(length->value);
}

/* What the request line says and what Host says is one thing. */
static bool agrees(const struct head *head, const struct http_request *request)
{
    uint16_t port = request->is_tunnel ? request->target.port : HTTP_PORT;
    struct proxy_target said = { 0 };
    size_t n;
    const struct field *host = find_field(head, "host", &n);

    if (n == 0)
        return head->is_old;
    return n == 1 && target_authority(host->value.at, host->value.len, port, &said) == TARGET_OK &&
           said.port == request->target.port && target_is_same_host(&said, &request->target);
}

/* ---- requests ------------------------------------------------------------------------------- */

static bool put(struct http_request *request, const char *bytes, size_t len)
{
    if (len > sizeof(request->head) - request->len)
        return false;
    memcpy(request->head + request->len, bytes, len);
    request->len += len;
    return true;
}

static bool put_text(struct http_request *request, const char *text)
{
    return put(request, text, strlen(text));
}

static bool put_host(struct http_request *request)
{
    char text[TARGET_TEXT_MAX];
    const char *said = target_text(&request->target, text);
    size_t len = strlen(said);

    if (request->target.port == HTTP_PORT)
        len = (size_t)(strchr(said, ':') - said);
    return put_text(request, "Host: ") && put(request, said, len) && put_text(request, "\r\n");
}

/* Told to close, a server ends the connection with its answer: nothing that follows on it is
 * another request. */
static int write_head(const struct head *head, struct piece path, struct http_request *ret)
{
    bool is_written = put(ret, head->method.at, head->method.len) &&
                      put_text(ret, path.len == 0 || path.at[0] != '/' ? " /" : " ") &&
                      put(ret, path.at, path.len) &&
                      put_text(ret, head->is_old ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n") &&
                      put_host(ret);

    for (size_t i = 0; is_written && i < head->n_fields; i++) {
        const struct field *field = &head->fields[i];

        if (!is_of_connection(head, field->name))
            is_written = put(ret, field->name.at, field->name.len) && put_text(ret, ": ") &&
                         put(ret, field->value.at, field->value.len) && put_text(ret, "\r\n");
    }
    return is_written && put_text(ret, LAST_FIELDS) ? 0 : STATUS_TOO_LARGE;
}

static int status_of_target(enum target_answer answer)
{
    if (answer == TARGET_OK)
        return 0;
    return answer == TARGET_NONE ? STATUS_BAD : STATUS_FORBIDDEN;
}

/* Where to, and what is behind it. */
static int read_target(const struct head *head, struct http_request *ret, struct piece *ret_path)
{
    struct piece rest = head->target;
    size_t authority = 0;

    if (ret->is_tunnel)
        return status_of_target(target_authority(rest.at, rest.len, 0, &ret->target));
    if (rest.len < sizeof(SCHEME) || strncasecmp(rest.at, SCHEME, sizeof(SCHEME) - 1) != 0)
        return STATUS_BAD;
    rest.at += sizeof(SCHEME) - 1;
    rest.len -= sizeof(SCHEME) - 1;
    while (authority < rest.len && rest.at[authority] != '/' && rest.at[authority] != '?')
        authority++;
    *ret_path = (struct piece){ rest.at + authority, rest.len - authority };
    return status_of_target(target_authority(rest.at, authority, HTTP_PORT, &ret->target));
}

int http_request_read(const char *bytes, size_t len, struct http_request *ret)
{
    struct head head;
    struct piece path = { 0 };
    int status = read_head(bytes, len, &head);

    ret->len = 0;
    ret->target = (struct proxy_target){ 0 };
    if (status)
        return status;
    ret->is_tunnel = head.method.len == 7 && memcmp(head.method.at, "CONNECT", 7) == 0;
    status = read_target(&head, ret, &path);
    if (status)
        return status;
    if (!agrees(&head, ret) || !has_one_body(&head, ret->is_tunnel))
        return STATUS_BAD;
    return ret->is_tunnel ? 0 : write_head(&head, path, ret);
}

/* ---- answers -------------------------------------------------------------------------------- */

static const struct {
    int status;
    const char *name;
    const char *what;
    const char *why; /* where the host says nothing */
} answers[] = {
    { STATUS_BAD, "Bad Request", "is no request that the proxy of this box can read in one way",
      "" },
    { STATUS_FORBIDDEN, "Forbidden", "was refused", "the network of this box does not allow it" },
    { STATUS_TOO_LARGE, "Request Header Fields Too Large", "has a head that is too large", "" },
    { STATUS_NO_SERVER, "Bad Gateway", "cannot be reached", "" },
    { STATUS_TOO_LATE, "Gateway Timeout", "does not answer", "" },
};

/* The host's words, as far as they are one line of text. */
static const char *words_of(const struct wire_blob *why, char ret[static WHY_MAX + 1])
{
    size_t n = 0;

    while (why && n < why->size && n < WHY_MAX && why->bytes[n] >= ' ' && why->bytes[n] < 0x7f) {
        ret[n] = (char)why->bytes[n];
        n++;
    }
    ret[n] = '\0';
    return ret;
}

size_t http_answer(int status, const struct proxy_target *target, const struct wire_blob *why,
                   char ret[static HTTP_ANSWER_MAX])
{
    char target_words[TARGET_TEXT_MAX] = "that";
    char why_words[WHY_MAX + 1];
    char line[TARGET_TEXT_MAX + WHY_MAX + 128];
    const char *said = words_of(why, why_words);
    size_t i = 0;
    int len;

    while (i + 1 < N_ELEMENTS(answers) && answers[i].status != status)
        i++;
    if (target->name[0] || target->address)
        (void)target_text(target, target_words);
    if (!*said)
        said = answers[i].why;
    (void)snprintf(line, sizeof(line), "glovebox: %s %s%s%s\n", target_words, answers[i].what,
                   *said ? ": " : "", said);
    len = snprintf(ret, HTTP_ANSWER_MAX,
                   "HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n"
                   "Connection: close\r\n\r\n%s",
                   status, answers[i].name, strlen(line), line);
    return len < 0 ? 0 : (size_t)len;
}

int http_status_of(uint32_t error)
{
    if (error == EACCES)
        return STATUS_FORBIDDEN;
    return error == ETIMEDOUT ? STATUS_TOO_LATE : STATUS_NO_SERVER;
}
