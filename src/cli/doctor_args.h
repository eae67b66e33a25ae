/* SPDX-License-Identifier: Apache-2.0 */
/* cli/doctor_args.h - what `glovebox doctor` was asked. */
#pragma once

#include <stdbool.h>

struct gb_err;
struct settings;

struct doctor_args {
    bool is_json;
    bool wants_plan;        /* print the plan of a box, build nothing */
    const char *delegate;   /* make groups for this user; NULL: only look */
    const char *undelegate; /* remove them again */
};

/* The exit code: 0, or 1 when the backend of the settings cannot work; or a negative errno. */
int doctor_run(const struct doctor_args *args, const struct settings *settings, struct gb_err *err);
