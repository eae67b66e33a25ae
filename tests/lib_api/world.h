/* SPDX-License-Identifier: Apache-2.0 */
/* lib_api/world.h - what the tests of the library have in common: directories and user ids of their
 * own, a context and a request, and words for what they do.  Only include/glovebox.h is used.
 */
#pragma once

#include <glovebox.h>

struct world {
    char dir[64];
    struct glovebox_context *context;
    struct glovebox_request *request;
    struct glovebox_result *result;
    struct glovebox_box *box;
    struct glovebox_error err;
};

/* Around every test; behind it no process is left that was not waited for. */
int set_up(void **state);
int tear_down(void **state);
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

void set(struct world *w, const char *name, const char *value);
void code(struct world *w, const char *text); /* of sh */

/* Run the request; what cannot be run fails the test. */
void exec(struct world *w);
void box_exec(struct world *w);
void open_box(struct world *w);

/* The box of a user in place of the one that is there, if any; and the end of it. */
void attach(struct world *w, const char *user, const struct glovebox_box_options *options);
void remove_user(struct world *w, const char *user);

/* A listener on loopback, the caller's to close. */
int listen_somewhere(unsigned *ret_port);

void expect_output(struct world *w, int stream, const char *text);

/* r is that code, and the error says so and blames the caller. */
void expect_refused(struct world *w, int r, int code);
