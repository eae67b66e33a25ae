/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_dockerfile_check.c - what a Dockerfile may not ask for is found, with its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "image/dockerfile.h"
#include "image/dockerfile_args.h"
#include "image/dockerfile_check.h"

#include <cmocka.h>

static const char *const bases[] = { "python", "docker.io/library/alpine:3", "r.io/ok/*", NULL };
static const struct dockerfile_policy classic = { .bases = bases };
static const struct dockerfile_policy any_base = { 0 };
static const struct dockerfile_policy trigger = { .bases = bases, .is_trigger = true };

static bool check(const char *text, const struct dockerfile_policy *policy,
                  struct dockerfile_findings *ret)
{
    cleanup_dockerfile struct dockerfile file = { 0 };
    struct gb_err err = { 0 };

    if (dockerfile_parse(text, strlen(text), &file, &err) < 0 ||
        dockerfile_resolve(&file, NULL, 0, &err) < 0)
        fail_msg("%s: %s", text, err.msg);
    return dockerfile_check(&file, policy, ret);
}

static void what_is_allowed_passes(void **state)
{
    static const struct {
        const char *text;
        const struct dockerfile_policy *policy;
    } rows[] = {
        { "FROM python:3\nWORKDIR /a\nCOPY . .\nRUN x\nCMD [\"y\"]", &classic },
        { "ARG V=3\nFROM python:$V AS b\nFROM alpine:3\nCOPY --from=B /x /x\nCOPY --from=0 /y /",
          &classic },
        { "FROM scratch\nCOPY --chown=1:1 a /", &classic },
        { "FROM python AS a\nFROM A AS b\nFROM a", &classic },
        { "FROM --platform=linux/amd64 python", &classic },
        { "FROM --platform=$BUILDPLATFORM python", &classic },
        { "FROM r.io/ok/x@sha256:"
          "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
          &classic },
        { "FROM python\nHEALTHCHECK --interval=5s CMD x --fail", &classic },
        { "FROM python\nADD a.tar ./$V /x/$Y/ /dst", &classic },
        { "# syntax=docker/dockerfile:1.4\nFROM python", &classic },
        { "FROM any.host/x\nADD x /", &any_base },
        { "FROM python\nONBUILD RUN x", &classic },
        { "COPY . /app", &trigger },
        { "FROM python\n# /var/run/docker.sock --privileged\nRUN x", &classic },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        struct dockerfile_findings found;

        if (!check(rows[i].text, rows[i].policy, &found))
            fail_msg("%s: %s: %s", rows[i].text, found.items[0].rule, found.items[0].message);
        assert_int_equal(found.n, 0);
    }
}

static void what_is_not_allowed_is_found(void **state)
{
    static const struct {
        const char *text;
        const char *rule;
        unsigned line;
        const struct dockerfile_policy *policy; /* NULL: classic */
    } rows[] = {
        { "RUN x", "order", 1, NULL },
        { "ARG a", "order", 1, NULL },
        { "ONBUILD ARG a\nFROM python", "order", 1, NULL },
        { "FROM python", "order", 1, &trigger },
        { "FROM python\nRUN --foo x", "flag", 2, NULL },
        { "FROM python\nRUN --device=x y", "flag", 2, NULL },
        { "FROM python\nENV --a b", "flag", 2, NULL },
        { "FROM --mount=x python", "flag", 1, NULL },
        { "FROM evil", "base_image", 1, NULL },
        { "FROM alpine", "base_image", 1, NULL },
        { "FROM evil.io/library/python", "base_image", 1, NULL },
        { "ARG X=evil\nFROM $X", "base_image", 2, NULL },
        { "FROM Python", "base_image", 1, &any_base },
        { "FROM python AS", "base_image", 1, NULL },
        { "FROM python x y", "base_image", 1, NULL },
        { "FROM python AS a b", "base_image", 1, NULL },
        { "FROM python AS 0", "base_image", 1, NULL },
        { "FROM python AS a\nFROM python AS A", "base_image", 2, NULL },
        { "FROM b\nFROM python AS b", "base_image", 1, NULL },
        { "FROM --platform=$X python", "platform", 1, NULL },
        { "FROM --platform python", "platform", 1, NULL },
        { "FROM python\nCOPY --from=evil /a /", "copy_from", 2, NULL },
        { "FROM python\nCOPY --from=$X /a /", "copy_from", 2, NULL },
        { "FROM python\nCOPY --from=0 /a /", "copy_from", 2, NULL },
        { "FROM python AS evil\nCOPY --from=evil /a /", "copy_from", 2, NULL },
        { "FROM python\nONBUILD COPY --from=evil /a /", "copy_from", 2, NULL },
        { "COPY --from=evil /a /", "copy_from", 1, &trigger },
        { "FROM python\nADD http://169.254.169.254/x /", "remote_add", 2, NULL },
        { "FROM python\nADD HTTPS://h/x /", "remote_add", 2, NULL },
        { "FROM python\nADD [\"a\", \"\\u0068ttp://h/x\", \"/\"]", "remote_add", 2, NULL },
        { "FROM python\nADD git@h:x /", "remote_add", 2, NULL },
        { "FROM python\nADD github.com/a/b /", "remote_add", 2, NULL },
        { "FROM python\nENV U=http://h\nADD $U /", "remote_add", 3, NULL },
        { "FROM python\nADD ${U} /", "remote_add", 2, NULL },
        { "FROM python\nADD h$U /", "remote_add", 2, NULL },
        { "FROM python\nONBUILD ADD http://h/x /", "remote_add", 2, NULL },
        { "FROM python\nRUN --network=host x", "run_network", 2, NULL },
        { "FROM python\nRUN --network=none --network=host x", "run_network", 2, NULL },
        { "FROM python\nRUN --network x", "run_network", 2, NULL },
        { "FROM python\nRUN --security=insecure x", "run_security", 2, NULL },
        { "FROM python\nRUN --mount=type=cache,target=/c x", "mount", 2, NULL },
        { "FROM python\nRUN --mount=TYPE=secret x", "mount", 2, NULL },
        { "FROM python\nRUN --mount=type=bind,type=ssh x", "mount", 2, NULL },
        { "FROM python\nRUN --mount=from=evil,target=/c x", "mount", 2, NULL },
        { "FROM python\nRUN --mount=type=$T x", "mount", 2, NULL },
        { "FROM python\nRUN --mount=sharing=x x", "mount", 2, NULL },
        { "FROM python\nRUN --mount=type=bind x", "new_form", 2, NULL },
        { "FROM python\nRUN --mount=type=bind,from=r.io/ok/y,target=/y x", "new_form", 2, NULL },
        { "FROM python\nRUN <<E\nE\n", "new_form", 2, NULL },
        { "FROM python\nCOPY --link a b", "new_form", 2, NULL },
        { "FROM python\nVOLUME /var/run/Docker.sock", "engine_socket", 2, NULL },
        { "FROM python\nRUN x -v /var/run/docker.\\\nsock:/s", "engine_socket", 2, NULL },
        { "FROM python\nCMD [\"-v\", \"/run/docker\\u002esock\"]", "engine_socket", 2, NULL },
        { "FROM python\nRUN <<E\ndocker.sock\nE\n", "engine_socket", 2, NULL },
        { "FROM python\nRUN docker run --Privileged x", "privileged", 2, NULL },
        { "FROM python\nLABEL privileged true", "privileged", 2, NULL },
        { "# syntax=evil/frontend\nFROM python", "frontend", 1, NULL },
        { "# syntax=docker/dockerfile:1-labs\nFROM python", "frontend", 1, NULL },
        { "# syntax=evil.io/docker/dockerfile:1\nFROM python", "frontend", 1, NULL },
        { "#!/x\n# syntax=evil\nFROM python", "frontend", 2, NULL },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        struct dockerfile_findings found;

        if (check(rows[i].text, rows[i].policy ? rows[i].policy : &classic, &found))
            fail_msg("passed: %s", rows[i].text);
        if (strcmp(found.items[0].rule, rows[i].rule) != 0)
            fail_msg("%s: %s, not %s", rows[i].text, found.items[0].rule, rows[i].rule);
        assert_int_equal(found.items[0].line, rows[i].line);
        assert_true(found.items[0].message[0] && found.items[0].remedy[0]);
    }
}

static void findings_are_counted_beyond_their_room(void **state)
{
    char text[4096] = "FROM python\n";
    struct dockerfile_findings found;
    size_t len = strlen(text);

    (void)state;
    for (int i = 0; i < DOCKERFILE_FINDINGS_MAX + 5; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "RUN --foo x\n");
    assert_false(check(text, &classic, &found));
    assert_int_equal(found.n + found.n_more, 2 * (DOCKERFILE_FINDINGS_MAX + 5));
    assert_int_equal(found.n, DOCKERFILE_FINDINGS_MAX);
    assert_int_equal(found.items[1].line, 2);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_allowed_passes),
        cmocka_unit_test(what_is_not_allowed_is_found),
        cmocka_unit_test(findings_are_counted_beyond_their_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
