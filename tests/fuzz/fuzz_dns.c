/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_dns.c - a message to the name server of a box.
 *
 * Whatever is read as a question can be answered within its bounds, has a name that is one, and its
 * answer is no question.
 */
#include <string.h>

#include "glove/dns.h"
#include "must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t answer[DNS_ANSWER_MAX];
    uint32_t address = 0x01020304;
    struct dns_question question;
    struct dns_question again;
    int r = dns_read(data, size, &question);
    size_t len;

    if (r < 0)
        return 0;
    must(question.len <= size && question.len + 16 <= DNS_ANSWER_MAX);
    len = dns_write(data, &question, (enum dns_code)r, r == 0 ? &address : NULL, answer);
    must(len <= sizeof(answer) && dns_read(answer, len, &again) < 0);
    if (r == 0)
        must(question.name[0] && strlen(question.name) <= DNS_NAME_MAX &&
             question.name[strspn(question.name, "abcdefghijklmnopqrstuvwxyz0123456789-_.")] ==
                 '\0');
    return 0;
}
