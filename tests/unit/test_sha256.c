/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_sha256.c - the SHA-256 of a text: known ones, and libcrypto's word on others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sha256.h"
#include "store/digest.h"

#include <cmocka.h>

static void test_texts_of_the_standard(void **state)
{
    static const struct {
        const char *text;
        const char *hex;
    } rows[] = {
        { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        char hex[SHA256_HEX_SIZE];

        sha256_hex(rows[i].text, strlen(rows[i].text), hex);
        assert_string_equal(hex, rows[i].hex);
    }
}

static void test_every_length_is_as_libcrypto_has_it(void **state)
{
    uint8_t bytes[300];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 7 + 3);
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        char ours[SHA256_HEX_SIZE];
        char theirs[DIGEST_SIZE];

        sha256_hex(bytes, len, ours);
        assert_int_equal(digest_of(bytes, len, theirs, NULL), 0);
        assert_string_equal(ours, theirs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_of_the_standard),
        cmocka_unit_test(test_every_length_is_as_libcrypto_has_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
