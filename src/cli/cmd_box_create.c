/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd_box_create.c - `glovebox box create`: a box that lives on. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/num.h"
#include "base/path.h"
#include "box/kept.h"
#include "box/port.h"
#include "cli/box_document.h"
#include "cli/box_user.h"
#include "cli/command.h"
#include "cli/exec_lines.h"
#include "cli/package_args.h"
#include "conf/settings.h"
#include "egress/policy.h"
#include "json/writer.h"
#include "package/wish.h"

#define TEXT_MAX (16 << 20)

struct create_args {
    const char *user;
    const char *workdir;
    const char *ttl;
    struct package_args packages;
    const char *net;
    struct text_list ports;
    bool is_json;
    bool is_jsonl;
};

#define AT(field) .offset = offsetof(struct create_args, field)
static const struct opt create_options[] = {
    { OPT_TEXT, "user", 0, AT(user), "NAME", "whose box it is: one each, made once" },
    { OPT_TEXT, "ttl", 0, AT(ttl), "TIME", "remove it by itself after so long: 90s, 2h [never]" },
    { OPT_TEXT, "workdir", 0, AT(workdir), "DIR", "where its runs begin [/workspace]" },
    PACKAGE_NAME_OPTIONS(struct create_args, packages),
    LIMIT_OPTIONS,
    { OPT_KEY, .key = KEY_OUTPUT_MAX },
    { OPT_TEXT, "net", 0, AT(net), "RULES", "what it may reach: NAME[:PORT],… or full [none]" },
    { OPT_KEY, .key = KEY_NET_CONNECTIONS },
    { OPT_KEY, .key = KEY_NET_BYTES },
    { OPT_KEY, .key = KEY_NET_NAMES },
    { OPT_LIST, "port", 'p', AT(ports), "[IP:]HOST:BOX", "lead a port of this machine to it" },
    { OPT_KEY, .key = KEY_BACKEND },
    { OPT_KEY, .key = KEY_IMAGE },
    { OPT_KEY, .key = KEY_DOCKER_RUNTIME },
    { OPT_KEY, .key = KEY_TOOLCHAINS },
    { OPT_KEY, .key = KEY_REQUIRE },
    { OPT_KEY, .key = KEY_ALLOW_MISSING },
    { OPT_FLAG, "json", 0, AT(is_json), NULL, "one JSON document" },
    { OPT_FLAG, "jsonl", 0, AT(is_jsonl), NULL,
      "an installation as JSON lines, the document last" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

struct opened {
    struct create_args args;
    struct parsed parsed;
    struct settings settings;
    struct package_wishes wishes;
};

static void opened_clear(struct opened *opened)
{
    package_args_free(&opened->args.packages);
    package_wishes_clear(&opened->wishes);
    free(opened->args.ports.items);
    settings_clear(&opened->settings);
    parsed_clear(&opened->parsed);
}

/* ---- what is wanted ------------------------------------------------------------------------- */

/* 1 when help was wanted. */
static int open_call(const struct call *call, struct opened *ret, struct gb_err *err)
{
    int r = command_parse(call, &ret->args, &ret->parsed, err);

    package_wishes_init(&ret->wishes);
    if (r == 0 && ret->args.is_json && ret->args.is_jsonl)
        r = gb_fail(err, -EINVAL, GB_BLAME_CALLER, "--json and --jsonl exclude each other");
    if (r == 0)
        r = command_check_stdout(call, err);
    if (r == 0)
        r = package_args_take(&ret->args.packages, &ret->wishes, err);
    if (r == 0)
        r = command_settings(call, &ret->parsed, &ret->settings, err);
    if (r == 0)
        r = command_no_operands(&ret->parsed, err);
    if (r == 0 && ret->args.user)
        r = box_check_user(ret->args.user, err);
    if (r == 0)
        r = settings_check_net_flags(&ret->settings, ret->args.net, err);
    return r;
}

static int ports_of(const struct text_list *texts, struct port ports[static BOX_PORTS_MAX],
                    struct gb_err *err)
{
    if (texts->n > BOX_PORTS_MAX)
        return gb_fail(err, -E2BIG, GB_BLAME_CALLER, "--port: at most %d", BOX_PORTS_MAX);
    for (size_t i = 0; i < texts->n; i++) {
        int r = port_parse(texts->items[i], &ports[i], err);

        if (r < 0)
            return gb_wrap(err, r, "--port");
    }
    return 0;
}

static int wish_of(const struct create_args *args, struct port ports[static BOX_PORTS_MAX],
                   struct box_wish *ret, struct gb_err *err)
{
    *ret = (struct box_wish){
        .env = environ,
        .user = args->user,
        .workdir = args->workdir,
        .net = args->net,
        .ports = ports,
        .n_ports = args->ports.n,
    };
    if (args->workdir && (!path_is_clean_absolute(args->workdir) || !args->workdir[1]))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "--workdir: '%.200s' is no absolute path without '.' and '..'",
                       args->workdir);
    if (args->ttl && (num_parse_duration(args->ttl, &ret->ttl_ms) < 0 || ret->ttl_ms == 0 ||
                      ret->ttl_ms > UINT32_MAX))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "--ttl: '%.40s' is no time from a millisecond to 49 days, such as 90s or 2h",
                       args->ttl);
    if (net_policy_check(args->net, err) < 0)
        return -EINVAL;
    return ports_of(&args->ports, ports, err);
}

/* A number that nobody chose is told. */
static void tell_ports(const struct create_args *args, const struct port *ports)
{
    for (size_t i = 0; i < args->ports.n; i++) {
        struct port said;

        if (port_parse(args->ports.items[i], &said, NULL) == 0 && said.host == 0)
            (void)dprintf(STDERR_FILENO, "Port %u of %s leads to port %u of the box.\n",
                          ports[i].host, ports[i].ip, ports[i].box);
    }
}

/* ---- making it ------------------------------------------------------------------------------ */

/* A user has one box. */
static int check_none(const struct settings *settings, const char *user, struct kept *found,
                      struct gb_err *err)
{
    int r = kept_find_user(settings->state_dir, user, found, err);

    if (r == 0)
        return gb_fail(err, -EEXIST, GB_BLAME_CALLER,
                       "'%s' has a box already: %s" GB_REMEDY
                       "use it with --user %s, or remove it: glovebox box rm --user %s",
                       user, found->id, user, user);
    return r < 0 ? r : 0;
}

/* Two at once would make two. */
static int make_for(const struct settings *settings, const struct box_wish *wish, struct kept *ret,
                    struct gb_err *err)
{
    cleanup_close int lock = kept_lock(settings->state_dir, err);
    int r = lock < 0 ? lock : check_none(settings, wish->user, ret, err);

    return r < 0 ? r : box_make(settings, wish, ret, err);
}

static int create(struct opened *opened, struct exec_lines *lines, struct kept *ret,
                  struct gb_err *err)
{
    cleanup_with(box_packages_clear) struct box_packages packages;
    struct port ports[BOX_PORTS_MAX];
    struct box_wish wish;
    int r = wish_of(&opened->args, ports, &wish, err);

    box_packages_init(&packages);
    if (r == 0 && wish.user)
        r = check_none(&opened->settings, wish.user, ret, err);
    /* Before anything is locked: an installation may take minutes. */
    if (r == 0 && !package_wishes_are_empty(&opened->wishes)) {
        r = box_packages_show(&opened->settings, &opened->wishes,
                              wish.net && strcmp(wish.net, "none") != 0, lines, &packages, err);
        wish.packages = &packages;
        wish.wishes = &opened->wishes;
    }
    if (r == 0)
        r = wish.user ? make_for(&opened->settings, &wish, ret, err)
                      : box_make(&opened->settings, &wish, ret, err);
    if (r == 0)
        tell_ports(&opened->args, ports);
    return r;
}

/* Installations are told while they go on, by lines where these are wanted. */
static int create_told(struct opened *opened, struct kept *ret, struct gb_err *err)
{
    struct exec_lines lines;
    int r;

    if (!opened->args.is_jsonl)
        return create(opened, NULL, ret, err);
    exec_lines_init(&lines, STDOUT_FILENO, -1);
    r = create(opened, &lines, ret, err);
    exec_lines_clear(&lines);
    return r;
}

static int print(const struct opened *opened, const struct kept *kept, struct gb_err *err)
{
    const struct create_args *args = &opened->args;
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    struct json_writer w;

    if (args->is_jsonl)
        (void)buf_puts(&text, "{\"event\":\"result\",\"document\":");
    if (args->is_json || args->is_jsonl) {
        json_writer_init(&w, &text, false);
        box_document_put(&w, &opened->settings, kept, &(struct box_news){ .ttl_ms = kept->ttl_ms });
        (void)json_writer_end(&w);
    } else {
        (void)buf_puts(&text, kept->id);
    }
    (void)buf_puts(&text, args->is_jsonl ? "}\n" : "\n");
    return command_print(&text, err);
}

/* A box whose id reached nobody would live on unknown: it goes again. */
static int print_or_remove(const struct opened *opened, const struct kept *kept, struct gb_err *err)
{
    uint32_t survivors;
    int r;

    /* A reader who has left is a failure to write like any other. */
    (void)signal(SIGPIPE, SIG_IGN);
    r = print(opened, kept, err);
    if (r < 0)
        (void)kept_remove(opened->settings.state_dir, kept, &survivors, NULL);
    return r;
}

static int create_call(const struct call *call, struct gb_err *err)
{
    cleanup_with(opened_clear) struct opened opened = { 0 };
    cleanup_kept struct kept kept = { 0 };
    int r = open_call(call, &opened, err);

    if (r == 0)
        r = create_told(&opened, &kept, err);
    if (r == 0)
        r = print_or_remove(&opened, &kept, err);
    else if (r < 0 && (command_wants(call, "--json") || command_wants(call, "--jsonl")))
        command_print_error(command_wants(call, "--jsonl"), err);
    return r < 0 ? r : 0;
}

const struct cmd cmd_box_create = {
    .name = "box create",
    .help = "Make a box that lives on, and print its id",
    .usages = { "[OPTIONS]" },
    .options = create_options,
    .run = create_call,
};
