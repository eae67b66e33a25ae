/* SPDX-License-Identifier: Apache-2.0 */
/* image/dockerfile_check.c - what a Dockerfile of anybody's may not ask of the engine.
 *
 * A rule looks at one instruction and says what is wrong with it, or nothing.  Values of flags with
 * a '$' are unknown here and never pass where they matter.
 */
#include "image/dockerfile_check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "image/dockerfile.h"
#include "image/name.h"

struct view {
    const struct dockerfile *file;
    const struct dockerfile_policy *policy;
    size_t at;         /* the present instruction */
    unsigned n_stages; /* begun before it */
};

struct message {
    char text[sizeof(((struct dockerfile_finding *)NULL)->message)];
};

/* True, so that a rule ends with it.  The shown text is cut. */
static bool says(struct message *message, const char *what, const char *shown)
{
    (void)snprintf(message->text, sizeof(message->text), "%s: '%.60s'", what, shown);
    return true;
}

/* ---- stages and images ---------------------------------------------------------------------- */

static const char *stage_name(const struct dockerfile_item *item)
{
    if (item->op != DOCKERFILE_FROM || !item->words[0] || !item->words[1] || !item->words[2])
        return NULL;
    return strcasecmp(item->words[1], "AS") == 0 ? item->words[2] : NULL;
}

/* A stage that has ended: a builder that does not find its name yet takes it for an image's. */
static bool is_stage(const struct view *view, const char *name)
{
    size_t n_ended = view->n_stages;
    size_t n = 0;

    if (n_ended > 0 && view->file->items[view->at].op != DOCKERFILE_FROM)
        n_ended--;
    for (size_t i = 0; i < view->at && n < n_ended; i++) {
        const char *stage = stage_name(&view->file->items[i]);

        n += view->file->items[i].op == DOCKERFILE_FROM;
        if (stage && strcasecmp(stage, name) == 0)
            return true;
    }
    return false;
}

/* An index of a stage that ended before this one. */
static bool is_stage_number(const struct view *view, const char *text)
{
    size_t len = strspn(text, "0123456789");

    return len > 0 && len < 5 && !text[len] && strtoul(text, NULL, 10) + 1 < view->n_stages;
}

static bool refuses_image(const struct view *view, const char *text, struct message *message)
{
    struct image_name name;

    if (image_name_parse(text, &name, NULL) < 0)
        return says(message, "no name of an image", text);
    if (!view->policy->bases)
        return false;
    for (const char *const *row = view->policy->bases; *row; row++)
        if (image_name_is_in(&name, *row))
            return false;
    return says(message, "the image is not among those that are allowed", text);
}

static bool refuses_source(const struct view *view, const char *text, struct message *message)
{
    return !is_stage(view, text) && !is_stage_number(view, text) &&
           refuses_image(view, text, message);
}

static bool stage_name_is_valid(const char *name)
{
    if ((*name | 0x20) < 'a' || (*name | 0x20) > 'z')
        return false;
    return name[strspn(
               name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")] == '\0';
}

static bool rule_base_image(const struct view *view, const struct dockerfile_item *item,
                            struct message *message)
{
    const char *stage = stage_name(item);

    if (item->words[1] && (!stage || item->words[3] || !stage_name_is_valid(stage)))
        return says(message, "FROM is not 'image' or 'image AS name'", item->text);
    /* a name given twice would mean another stage to another builder */
    if (stage && is_stage(view, stage))
        return says(message, "a second stage of that name", stage);
    if (strcmp(item->words[0], "scratch") == 0 || is_stage(view, item->words[0]))
        return false;
    return refuses_image(view, item->words[0], message);
}

/* ---- flags ---------------------------------------------------------------------------------- */

/* The value of a flag if it is the one that name says ("--from="). */
static const char *value_of(const char *flag, const char *name)
{
    size_t len = strlen(name);

    return strncmp(flag, name, len) == 0 ? flag + len : NULL;
}

static bool rule_flag(const struct view *view, const struct dockerfile_item *item,
                      struct message *message)
{
    static const char *const known[N_DOCKERFILE_OPS] = {
        [DOCKERFILE_ADD] = " --chown --chmod --link --checksum --keep-git-dir ",
        [DOCKERFILE_COPY] = " --from --chown --chmod --link --parents --exclude ",
        [DOCKERFILE_FROM] = " --platform ",
        [DOCKERFILE_HEALTHCHECK] =
            " --interval --timeout --start-period --start-interval --retries ",
        [DOCKERFILE_RUN] = " --mount --network --security ",
    };

    (void)view;
    for (char **flag = item->flags; *flag; flag++) {
        size_t len = strcspn(*flag, "=");
        char word[40];

        if (len > sizeof(word) - 3)
            return says(message, "an unknown flag", *flag);
        (void)snprintf(word, sizeof(word), " %.*s ", (int)len, *flag);
        if (!known[item->op] || !strstr(known[item->op], word))
            return says(message, "an unknown flag", *flag);
    }
    return false;
}

static bool rule_copy_from(const struct view *view, const struct dockerfile_item *item,
                           struct message *message)
{
    for (char **flag = item->flags; *flag; flag++) {
        const char *from = value_of(*flag, "--from=");

        if (from && refuses_source(view, from, message))
            return true;
        if (strcmp(*flag, "--from") == 0)
            return says(message, "a flag without its value", *flag);
    }
    return false;
}

static bool rule_platform(const struct view *view, const struct dockerfile_item *item,
                          struct message *message)
{
    static const char *const variables[] = { "$BUILDPLATFORM", "${BUILDPLATFORM}",
                                             "$TARGETPLATFORM", "${TARGETPLATFORM}" };

    (void)view;
    for (char **flag = item->flags; *flag; flag++) {
        const char *value = value_of(*flag, "--platform=");
        bool is_known = value && *value &&
                        value[strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789/_.-")] == '\0';

        for (size_t i = 0; value && i < N_ELEMENTS(variables); i++)
            is_known |= strcmp(value, variables[i]) == 0;
        if (!is_known && strncmp(*flag, "--platform", 10) == 0)
            return says(message, "no platform", *flag);
    }
    return false;
}

static bool is_one_of(const char *value, const char *const *allowed)
{
    for (; *allowed; allowed++)
        if (strcmp(value, *allowed) == 0)
            return true;
    return false;
}

static bool rule_run_network(const struct view *view, const struct dockerfile_item *item,
                             struct message *message)
{
    static const char *const allowed[] = { "--network=none", "--network=default", NULL };

    (void)view;
    for (char **flag = item->flags; *flag; flag++)
        if (strncmp(*flag, "--network", 9) == 0 && !is_one_of(*flag, allowed))
            return says(message, "a network that is not the build's own", *flag);
    return false;
}

static bool rule_run_security(const struct view *view, const struct dockerfile_item *item,
                              struct message *message)
{
    static const char *const allowed[] = { "--security=sandbox", NULL };

    (void)view;
    for (char **flag = item->flags; *flag; flag++)
        if (strncmp(*flag, "--security", 10) == 0 && !is_one_of(*flag, allowed))
            return says(message, "an instruction that asks for privileges", *flag);
    return false;
}

/* One "key=value" or "key" of a mount. */
static bool refuses_option(const struct view *view, const char *option, struct message *message)
{
    static const char *const keys[] = { "type",     "target", "dst", "destination", "source",
                                        "src",      "from",   "rw",  "ro",          "readwrite",
                                        "readonly", "size",   NULL };
    const char *value = strchr(option, '=');
    size_t len = value ? (size_t)(value - option) : strlen(option);
    const char *const *key = keys;

    while (*key && !(strlen(*key) == len && strncasecmp(*key, option, len) == 0))
        key++;
    if (!*key || strchr(option, '$'))
        return says(message, "an unknown option of a mount", option);
    value = value ? value + 1 : "";
    if (strcmp(*key, "type") == 0 && strcmp(value, "bind") != 0 && strcmp(value, "tmpfs") != 0)
        return says(message, "a mount that is not 'bind' or 'tmpfs'", option);
    return strcmp(*key, "from") == 0 && refuses_source(view, value, message);
}

static bool refuses_mount(const struct view *view, const char *mount, struct message *message)
{
    while (*mount) {
        size_t len = strcspn(mount, ",");
        char option[512];

        if (len >= sizeof(option))
            return says(message, "an option of a mount that is too long", mount);
        (void)snprintf(option, sizeof(option), "%.*s", (int)len, mount);
        if (refuses_option(view, option, message))
            return true;
        mount += len + (mount[len] == ',');
    }
    return false;
}

static bool rule_mount(const struct view *view, const struct dockerfile_item *item,
                       struct message *message)
{
    for (char **flag = item->flags; *flag; flag++) {
        const char *mount = value_of(*flag, "--mount=");

        if (mount && refuses_mount(view, mount, message))
            return true;
        if (strcmp(*flag, "--mount") == 0)
            return says(message, "a flag without its value", *flag);
    }
    return false;
}

/* ---- instructions --------------------------------------------------------------------------- */

static bool rule_order(const struct view *view, const struct dockerfile_item *item,
                       struct message *message)
{
    bool is_from = item->op == DOCKERFILE_FROM;

    if (view->policy->is_trigger)
        return is_from && says(message, "an image's trigger cannot have it", "FROM");
    if (is_from || view->n_stages > 0 || (item->op == DOCKERFILE_ARG && !item->is_trigger))
        return false;
    return says(message, "before the first FROM only ARG may stand", dockerfile_op_name(item->op));
}

static bool rule_new_form(const struct view *view, const struct dockerfile_item *item,
                          struct message *message)
{
    (void)view;
    return dockerfile_item_is_new(item) &&
           says(message, "a form that this engine's builder does not know",
                item->flags[0] ? item->flags[0] : item->text);
}

/* A source that the engine would fetch from elsewhere, or that could become one: a variable may
 * have its value from the base image. */
static bool is_remote(const char *source)
{
    size_t slash = strcspn(source, "/");
    size_t dollar = strcspn(source, "$");

    if (strncmp(source, "<<", 2) == 0 || source[0] == '/' || strncmp(source, "./", 2) == 0)
        return false;
    if (source[dollar])
        return true;
    return memchr(source, ':', slash) || strncasecmp(source, "github.com/", 11) == 0;
}

static bool rule_remote_add(const struct view *view, const struct dockerfile_item *item,
                            struct message *message)
{
    (void)view;
    for (char **word = item->words; word[0] && word[1]; word++)
        if (is_remote(*word))
            return says(message, "ADD might fetch it past the network of the build", *word);
    return false;
}

static bool holds(const struct dockerfile_item *item, const char *wanted)
{
    if (strcasestr(item->text, wanted))
        return true;
    for (size_t i = 0; i < item->n_docs; i++)
        if (strcasestr(item->docs[i].text, wanted))
            return true;
    for (char **word = item->words; *word; word++)
        if (strcasestr(*word, wanted))
            return true;
    for (char **flag = item->flags; *flag; flag++)
        if (strcasestr(*flag, wanted))
            return true;
    return false;
}

static bool rule_engine_socket(const struct view *view, const struct dockerfile_item *item,
                               struct message *message)
{
    static const char *const sockets[] = { "docker.sock", "podman.sock", "containerd.sock" };

    (void)view;
    for (size_t i = 0; i < N_ELEMENTS(sockets); i++)
        if (holds(item, sockets[i]))
            return says(message, "it names the socket of an engine", sockets[i]);
    return false;
}

static bool rule_privileged(const struct view *view, const struct dockerfile_item *item,
                            struct message *message)
{
    static const char *const forms[] = { "--privileged",    "privileged=true",
                                         "privileged:true", "privileged: true",
                                         "privileged true", "\"privileged\": true" };

    (void)view;
    for (size_t i = 0; i < N_ELEMENTS(forms); i++)
        if (holds(item, forms[i]))
            return says(message, "it asks for privileges", forms[i]);
    return false;
}

#define ONLY(op) (1u << (op))
#define ANY      (~0u)

static const struct rule {
    const char *name;
    unsigned ops; /* the instructions that it looks at */
    bool (*refuses)(const struct view *view, const struct dockerfile_item *item,
                    struct message *message);
    const char *remedy;
} rules[] = {
    { "order", ANY, rule_order, "begin with FROM, or with ARG and then FROM" },
    { "flag", ANY, rule_flag, "use the flags of the Dockerfile reference only" },
    { "base_image", ONLY(DOCKERFILE_FROM), rule_base_image,
      "use an allowed image, by its full name" },
    { "platform", ONLY(DOCKERFILE_FROM), rule_platform, "write it as os/arch" },
    { "copy_from", ONLY(DOCKERFILE_COPY), rule_copy_from,
      "copy from an earlier stage or an allowed image, without a variable" },
    { "remote_add", ONLY(DOCKERFILE_ADD), rule_remote_add,
      "put the file into the context; a path with a variable begins with './'" },
    { "run_network", ONLY(DOCKERFILE_RUN), rule_run_network, "leave the flag out" },
    { "run_security", ONLY(DOCKERFILE_RUN), rule_run_security, "leave the flag out" },
    { "mount", ONLY(DOCKERFILE_RUN), rule_mount,
      "use bind or tmpfs: caches are shared with other builds, secrets are not given" },
    { "engine_socket", ANY, rule_engine_socket, "a build has no engine; remove it" },
    { "privileged", ANY, rule_privileged, "a build has no privileges; remove it" },
    { "new_form", ANY, rule_new_form,
      "write it without heredocs and new flags, or build with BuildKit" },
};

static void add_finding(struct dockerfile_findings *found, unsigned line, const char *rule,
                        const char *remedy, const struct message *message)
{
    struct dockerfile_finding *finding = &found->items[found->n];

    if (found->n == DOCKERFILE_FINDINGS_MAX) {
        found->n_more++;
        return;
    }
    finding->line = line;
    finding->rule = rule;
    finding->remedy = remedy;
    memcpy(finding->message, message->text, sizeof(finding->message));
    found->n++;
}

/* Docker's own frontend is what every builder has anyway; the directive is not passed on. */
static bool is_usual_syntax(const char *syntax)
{
    struct image_name name;

    if (image_name_parse(syntax, &name, NULL) < 0 || strcmp(name.registry, "docker.io") != 0 ||
        strcmp(name.repository, "docker/dockerfile") != 0)
        return false;
    return !name.tag[0] ||
           (name.tag[0] == '1' && !name.tag[1 + strspn(name.tag + 1, ".0123456789")]);
}

static void check_syntax(const struct dockerfile *file, struct dockerfile_findings *found)
{
    struct message message;

    if (!file->syntax || is_usual_syntax(file->syntax))
        return;
    (void)says(&message, "a frontend of its own", file->syntax);
    add_finding(found, file->syntax_line, "frontend", "remove the syntax directive", &message);
}

static void check_item(const struct view *view, struct dockerfile_findings *found)
{
    const struct dockerfile_item *item = &view->file->items[view->at];

    for (size_t i = 0; i < N_ELEMENTS(rules); i++) {
        struct message message;

        if (rules[i].ops & ONLY(item->op) && rules[i].refuses(view, item, &message))
            add_finding(found, item->line, rules[i].name, rules[i].remedy, &message);
    }
}

bool dockerfile_check(const struct dockerfile *dockerfile, const struct dockerfile_policy *policy,
                      struct dockerfile_findings *ret)
{
    struct view view = { .file = dockerfile, .policy = policy };

    *ret = (struct dockerfile_findings){ 0 };
    check_syntax(dockerfile, ret);
    for (; view.at < dockerfile->n; view.at++) {
        check_item(&view, ret);
        view.n_stages += dockerfile->items[view.at].op == DOCKERFILE_FROM;
    }
    if (view.n_stages == 0 && !policy->is_trigger && ret->n == 0) {
        struct message message;

        (void)says(&message, "no instruction of that kind", "FROM");
        add_finding(ret, 1, "order", "begin with FROM, or with ARG and then FROM", &message);
    }
    return ret->n == 0;
}
