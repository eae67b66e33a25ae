/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd_doctor.c - `glovebox doctor`: the arguments of the command. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "cli/command.h"
#include "cli/doctor_args.h"
#include "conf/settings.h"

static const struct opt options[] = {
    { OPT_FLAG, "json", .offset = offsetof(struct doctor_args, is_json), .help = "as JSON" },
    { OPT_FLAG, "plan", .offset = offsetof(struct doctor_args, wants_plan),
      .help = "print the steps that build a box, and build none" },
    { OPT_TEXT, "delegate", .offset = offsetof(struct doctor_args, delegate), .arg = "USER",
      .help = "as root: make groups for the limits of USER's boxes" },
    { OPT_TEXT, "undelegate", .offset = offsetof(struct doctor_args, undelegate), .arg = "USER",
      .help = "as root: remove them again" },
    { OPT_KEY, .key = KEY_BACKEND },
    { OPT_KEY, .key = KEY_TOOLCHAINS },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

/* A user's name is handed to look-ups and file names: never a path, never an option. */
static int check_user(const char *option, const char *user, struct gb_err *err)
{
    if (!user || (*user && *user != '-' && !strpbrk(user, "/:\n")))
        return 0;
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "%s: '%.100s' is no user's name", option, user);
}

static int check(const struct doctor_args *args, struct gb_err *err)
{
    int r;

    if (!!args->delegate + !!args->undelegate + args->wants_plan > 1)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "--delegate, --undelegate and --plan exclude each other");
    r = check_user("--delegate", args->delegate, err);
    return r < 0 ? r : check_user("--undelegate", args->undelegate, err);
}

static int doctor_call(const struct call *call, struct gb_err *err)
{
    struct settings settings = { 0 };
    struct doctor_args args = { 0 };
    struct parsed parsed = { 0 };
    int r = command_parse(call, &args, &parsed, err);

    if (r > 0) {
        parsed_clear(&parsed);
        return 0;
    }
    if (r == 0)
        r = command_no_operands(&parsed, err);
    if (r == 0)
        r = check(&args, err);
    if (r == 0)
        r = command_settings(call, &parsed, &settings, err);
    if (r == 0)
        r = doctor_run(&args, &settings, err);
    settings_clear(&settings);
    parsed_clear(&parsed);
    return r;
}

const struct cmd cmd_doctor = {
    .name = "doctor",
    .help = "Tell which walls this machine can build, and how to mend the others",
    .usages = { "[OPTIONS]" },
    .options = options,
    .run = doctor_call,
};
