/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_proxy.c - what a program says to the proxy of its box.
 *
 * Whatever is read as a request names one clean target; the head that goes on is one whole head,
 * and, asked of another proxy in absolute form, it would be for the same target.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "glove/proxy_http.h"
#include "glove/proxy_socks.h"
#include "must.h"

static void must_be_clean(const struct proxy_target *target)
{
    must(target->port > 0);
    must(strlen(target->name) <= DNS_NAME_MAX);
    must(target->name[strspn(target->name, "abcdefghijklmnopqrstuvwxyz0123456789-_.")] == '\0');
    must(target->name[0] == '\0' || target->address == 0);
    must(target->address >> 24 != 127);
}

/* The head that was written, with its target put back into the first line. */
static void must_read_again(const struct http_request *first)
{
    struct http_request again;
    char text[TARGET_TEXT_MAX];
    size_t method = strcspn(first->head, " ") + 1;
    size_t room = first->len + TARGET_TEXT_MAX + 16;
    char *head = malloc(room);
    int status;
    int len;

    must(head != NULL);
    len = snprintf(head, room, "%.*shttp://%s%.*s", (int)method, first->head,
                   target_text(&first->target, text), (int)(first->len - method),
                   first->head + method);
    must(len > 0 && http_head_end(head, 0, (size_t)len) == (size_t)len);
    status = len <= HTTP_HEAD_MAX ? http_request_read(head, (size_t)len, &again) : 431;
    must(status == 0 || status == 431); /* it has two fields more */
    if (status == 0) {
        must(target_is_same_host(&again.target, &first->target));
        must(again.len == first->len && memcmp(again.head, first->head, again.len) == 0);
    }
    free(head);
}

static void try_http(const char *bytes, size_t size)
{
    struct http_request request;
    size_t end = http_head_end(bytes, 0, size < HTTP_HEAD_MAX ? size : HTTP_HEAD_MAX);
    int status = end ? http_request_read(bytes, end, &request) : -1;

    if (status > 0)
        must(status >= 400 && status < 600);
    if (status != 0)
        return;
    must_be_clean(&request.target);
    if (!request.is_tunnel) {
        must(http_head_end(request.head, 0, request.len) == request.len);
        must_read_again(&request);
    }
}

static void try_socks(const uint8_t *bytes, size_t size)
{
    struct proxy_target target;
    size_t len = socks_greeting_len(bytes, size);

    if (len > 0 && len <= size)
        (void)socks_greets(bytes, len);
    len = socks_request_len(bytes, size);
    if (len > 0 && len <= size && socks_request(bytes, len, &target) == SOCKS_OK)
        must_be_clean(&target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_http((const char *)data, size);
    try_socks(data, size);
    return 0;
}
