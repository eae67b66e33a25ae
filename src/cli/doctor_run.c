/* SPDX-License-Identifier: Apache-2.0 */
/* cli/doctor_run.c - `glovebox doctor`: which walls this machine can build, and what mends the
 * others; which toolchains a box will see; the plan of a box; groups for an ordinary user. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "box/native/hierarchy.h"
#include "box/native/native.h"
#include "cli/command.h"
#include "cli/doctor_args.h"
#include "cli/doctor_host.h"
#include "cli/term.h"
#include "cli/term_filter.h"
#include "conf/box_spec.h"
#include "conf/settings.h"
#include "json/writer.h"

#define TEXT_MAX (1 << 20)

/* ---- --plan, --delegate --------------------------------------------------------------------- */

static int show_plan(const struct box_spec *spec, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    int r = native_plan_text(spec, &text, err);

    return r < 0 ? r : command_print(&text, err);
}

/* The ids of a user whom root is to give groups, or take them from. */
static int find_user(const char *option, const char *user, uid_t *ret_uid, gid_t *ret_gid,
                     struct gb_err *err)
{
    char room[4096];
    struct passwd pwd;
    struct passwd *found = NULL;

    if (geteuid() != 0)
        return gb_fail(err, -EPERM, GB_BLAME_CALLER,
                       "only root can give groups away\nremedy: sudo glovebox doctor %s %s", option,
                       user);
    if (getpwnam_r(user, &pwd, room, sizeof(room), &found) != 0 || !found)
        return gb_fail(err, -ENOENT, GB_BLAME_CALLER, "there is no user '%s'", user);
    if (pwd.pw_uid == 0)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "root needs no groups of its own");
    *ret_uid = pwd.pw_uid;
    *ret_gid = pwd.pw_gid;
    return 0;
}

static int delegate(const char *user, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    char where[2048] = "";
    uid_t uid = 0;
    gid_t gid = 0;
    int r = find_user("--delegate", user, &uid, &gid, err);

    if (r == 0)
        r = hierarchies_delegate(uid, gid, where, sizeof(where), err);
    if (r < 0)
        return r;
    (void)buf_printf(&text,
                     "boxes of %s are limited in: %s\n"
                     "(until the next boot; run this again then, from a boot script for instance)\n"
                     "to undo it: glovebox doctor --undelegate %s\n",
                     user, where, user);
    return command_print(&text, err);
}

static int undelegate(const char *user, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    unsigned n = 0;
    uid_t uid = 0;
    gid_t gid = 0;
    int r = find_user("--undelegate", user, &uid, &gid, err);

    if (r == 0)
        r = hierarchies_undelegate(uid, &n, err);
    if (r < 0)
        return r;
    (void)buf_printf(&text, n ? "%s has no groups any more\n" : "%s had no groups\n", user);
    return command_print(&text, err);
}

/* ---- the report ----------------------------------------------------------------------------- */

struct report {
    const struct settings *settings;
    struct native_survey survey;
    wall_set broken; /* missing, and the settings do not allow it; of native boxes */
    struct doctor_host host;
    struct gb_err refusal; /* of the docker backend, when that is the one; or code 0 */
};

/* Only the backend that boxes will be made by is judged; the rest is told. */
static bool is_fit(const struct report *report)
{
    switch (report->settings->backend) {
    case BACKEND_NATIVE:
        return !report->broken && !report->survey.trouble.code;
    case BACKEND_DOCKER:
        return report->host.can_docker && !report->refusal.code;
    case BACKEND_DISABLED:
        break;
    }
    return false;
}

/* Why that backend makes no box, when it is no wall's fault; or code 0. */
static const struct gb_err *trouble_of(const struct report *report)
{
    return report->settings->backend == BACKEND_DOCKER ? &report->refusal : &report->survey.trouble;
}

static void json_trouble(struct json_writer *w, const struct gb_err *trouble)
{
    if (!trouble->code)
        return;
    json_object_begin(w, "error");
    json_put_bytes(w, "message", trouble->msg, gb_err_len(trouble));
    json_put_str(w, "remedy", gb_err_remedy(trouble));
    json_object_end(w);
}

static void json_walls(struct json_writer *w, const struct report *report)
{
    char remedy[WALL_REMEDY_MAX];

    json_object_begin(w, "walls");
    for (enum wall wall = 0; wall < N_WALLS; wall++) {
        bool is_missing = report->survey.missing & 1u << wall;

        json_object_begin(w, wall_name(wall));
        json_put_bool(w, "ok", !is_missing);
        json_put_str(w, "keeps", wall_keeps(wall));
        if (is_missing) {
            json_put_str(w, "reason", report->survey.reasons[wall]);
            json_put_str(w, "remedy", native_remedy(wall, remedy));
        }
        json_object_end(w);
    }
    json_object_end(w);
}

static void json_programs(struct json_writer *w, const struct report *report)
{
    json_array_begin(w, "programs");
    for (size_t i = 0; i < report->host.n_programs; i++) {
        const struct doctor_program *program = &report->host.programs[i];

        json_object_begin(w, NULL);
        json_put_str(w, "name", program->name);
        json_put_str(w, "language", program->language);
        json_put_str(w, "in_box", program->in_box[0] ? program->in_box : NULL);
        json_put_str(w, "on_path", program->on_path[0] ? program->on_path : NULL);
        json_put_str(w, "remedy", program->remedy[0] ? program->remedy : NULL);
        json_object_end(w);
    }
    json_array_end(w);
}

static int report_json(const struct report *report, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    struct json_writer w;

    json_writer_init(&w, &text, true);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "schema", 1);
    json_put_bool(&w, "ok", is_fit(report));
    json_put_str(&w, "backend", backend_choice_name(report->settings->backend));
    json_put_str(&w, "user", geteuid() == 0 ? "root" : "ordinary");
    json_put_str(&w, "groups", report->survey.layout);
    json_put_bool(&w, "groups_of_runs", report->survey.groups_runs);
    json_put_u64(&w, "landlock", report->survey.landlock);
    json_trouble(&w, trouble_of(report));
    json_walls(&w, report);
    json_programs(&w, report);
    json_object_begin(&w, "docker");
    json_put_bool(&w, "reachable", report->host.has_docker);
    json_put_bool(&w, "ok", report->host.can_docker);
    json_put_str(&w, "detail", report->host.docker);
    json_put_str(&w, "image", report->host.image[0] ? report->host.image : NULL);
    json_put_bool(&w, "has_image", report->host.has_image);
    json_object_end(&w);
    json_array_begin(&w, "notes");
    for (size_t i = 0; i < report->host.n_notes; i++)
        json_put_str(&w, NULL, report->host.notes[i]);
    json_array_end(&w);
    json_object_end(&w);
    (void)json_writer_end(&w);
    (void)buf_putc(&text, '\n');
    return command_print(&text, err);
}

static void text_trouble(struct buf *text, const struct term *term, const struct gb_err *trouble)
{
    const char *remedy = gb_err_remedy(trouble);

    if (!trouble->code)
        return;
    (void)buf_printf(text,
                     "%sNo box could be tried%s\n            why:    ", term_on(term, TERM_RED),
                     term_off(term));
    (void)term_filter_line(trouble->msg, gb_err_len(trouble), text);
    if (remedy) {
        (void)buf_puts(text, "\n            remedy: ");
        (void)term_filter_line(remedy, strlen(remedy), text);
    }
    (void)buf_putc(text, '\n');
}

static void text_walls(struct buf *text, const struct term *term, const struct report *report)
{
    char remedy[WALL_REMEDY_MAX];

    (void)buf_printf(text, "%sWalls of native boxes%s\n", term_on(term, TERM_BOLD), term_off(term));
    for (enum wall wall = 0; wall < N_WALLS; wall++) {
        bool is_missing = report->survey.missing & 1u << wall;
        bool is_broken = report->broken & 1u << wall;

        (void)buf_printf(text, "  %s%s%s %-10s %s\n",
                         term_on(term, is_broken    ? TERM_RED
                                       : is_missing ? TERM_YELLOW
                                                    : TERM_GREEN),
                         is_missing ? "missing" : "ok     ", term_off(term), wall_name(wall),
                         wall_keeps(wall));
        if (is_missing)
            (void)buf_printf(text, "            why:    %s\n            remedy: %s\n",
                             report->survey.reasons[wall], native_remedy(wall, remedy));
    }
}

static void text_programs(struct buf *text, const struct term *term, const struct report *report)
{
    (void)buf_printf(text, "%sToolchains that a box sees%s\n", term_on(term, TERM_BOLD),
                     term_off(term));
    for (size_t i = 0; i < report->host.n_programs; i++) {
        const struct doctor_program *program = &report->host.programs[i];

        (void)buf_printf(text, "  %-10s %-8s %s\n", program->language, program->name,
                         program->in_box[0] ? program->in_box : "-");
        if (program->on_path[0] && strcmp(program->on_path, program->in_box) != 0)
            (void)buf_printf(text, "             your PATH has another one: %s\n",
                             program->on_path);
        if (program->remedy[0])
            (void)buf_printf(text, "             %s\n", program->remedy);
    }
}

static int report_text(const struct report *report, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    struct term term;

    term_init(&term, STDOUT_FILENO, report->settings->color, environ);
    (void)buf_printf(&text, "%sBackend%s %s, groups %s%s, Landlock ABI %u, as %s\n",
                     term_on(&term, TERM_BOLD), term_off(&term),
                     backend_choice_name(report->settings->backend), report->survey.layout,
                     report->survey.groups_runs ? "" : " (runs are counted with their box)",
                     report->survey.landlock, geteuid() == 0 ? "root" : "an ordinary user");
    text_trouble(&text, &term, trouble_of(report));
    text_walls(&text, &term, report);
    text_programs(&text, &term, report);
    (void)buf_printf(&text, "%sDocker%s %s\n", term_on(&term, TERM_BOLD), term_off(&term),
                     report->host.docker);
    for (size_t i = 0; i < report->host.n_notes; i++)
        (void)buf_printf(&text, "%snote%s %s\n", term_on(&term, TERM_DIM), term_off(&term),
                         report->host.notes[i]);
    (void)buf_printf(&text, "%s%s%s\n", term_on(&term, is_fit(report) ? TERM_GREEN : TERM_RED),
                     is_fit(report)
                         ? "This machine can make boxes with every wall that is asked for."
                     : report->settings->backend == BACKEND_DISABLED
                         ? "Code execution is disabled by the configuration."
                         : "This machine cannot make boxes as they are asked for.",
                     term_off(&term));
    return command_print(&text, err);
}

static void look(struct report *report, const struct box_spec *spec)
{
    const struct settings *settings = report->settings;
    bool is_host = strcmp(spec->image, BOX_IMAGE_HOST) == 0;

    native_survey(spec, &report->survey);
    if (settings->backend == BACKEND_DOCKER)
        (void)box_docker.probe(spec, &report->refusal); /* told and judged from there */
    else
        report->broken = report->survey.missing & settings->must_hold;
    doctor_host_look(&report->host, settings->toolchains, environ);
    doctor_engine_look(&report->host, spec->engine, is_host ? BOX_IMAGE_DOCKER : spec->image);
    if (settings->backend == BACKEND_DOCKER && report->host.image[0] && !report->host.has_image &&
        !report->refusal.code)
        (void)gb_fail(&report->refusal, -ENOENT, GB_BLAME_HOST,
                      "the engine does not have the image '%s'" GB_REMEDY "glovebox image pull %s",
                      report->host.image, report->host.image);
}

int doctor_run(const struct doctor_args *args, const struct settings *settings, struct gb_err *err)
{
    struct box_spec spec = settings_box_spec(settings);
    struct report *report;
    int r;

    if (args->delegate)
        return delegate(args->delegate, err);
    if (args->undelegate)
        return undelegate(args->undelegate, err);
    if (args->wants_plan)
        return show_plan(&spec, err);
    report = calloc(1, sizeof(*report));
    if (!report)
        return gb_no_memory(err);
    report->settings = settings;
    look(report, &spec);
    r = args->is_json ? report_json(report, err) : report_text(report, err);
    if (r == 0)
        r = is_fit(report) ? 0 : 1;
    free(report);
    return r;
}
