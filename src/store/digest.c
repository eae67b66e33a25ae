/* SPDX-License-Identifier: Apache-2.0 */
/* store/digest.c - SHA-256, by libcrypto. */
#include "store/digest.h"

#include <errno.h>
#include <string.h>

#include "base/dl.h"
#include "base/err.h"

static const char hex[] = "0123456789abcdef";

/* As <openssl/evp.h> has them; its types are opaque to us. */
static struct {
    const void *(*sha256)(void);
    int (*digest)(const void *, size_t, unsigned char *, unsigned *, const void *, void *);
} fn;

static const struct dl_symbol symbols[] = {
    DL_SYMBOL(fn.sha256, "EVP_sha256"),
    DL_SYMBOL(fn.digest, "EVP_Digest"),
    { 0 },
};

static struct dl library = DL_INIT("libcrypto.so.3", "libssl3", symbols);

int digest_of(const void *bytes, size_t len, char ret[static DIGEST_SIZE], struct gb_err *err)
{
    unsigned char raw[64]; /* EVP_MAX_MD_SIZE */
    unsigned n = 0;
    int r = dl_open(&library, err);

    if (r < 0)
        return r;
    if (fn.digest(len > 0 ? bytes : "", len, raw, &n, fn.sha256(), NULL) != 1 || n != 32)
        return gb_fail(err, -EIO, GB_BLAME_HOST, "libcrypto makes no SHA-256");
    for (size_t i = 0; i < n; i++) {
        ret[2 * i] = hex[raw[i] >> 4];
        ret[2 * i + 1] = hex[raw[i] & 15];
    }
    ret[DIGEST_SIZE - 1] = '\0';
    return 0;
}

bool digest_is_valid(const char *text)
{
    return strlen(text) == DIGEST_SIZE - 1 && strspn(text, hex) == DIGEST_SIZE - 1;
}
