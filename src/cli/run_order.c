/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_order.c - what a task was told when it was begun, as JSON and back. */
#include "cli/run_order.h"

#include <errno.h>
#include <string.h>

#include "agent/checkpoint.h"
#include "agent/fence.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/path.h"
#include "cli/run_args.h"
#include "cli/strings.h"
#include "egress/policy.h"
#include "json/value.h"
#include "json/writer.h"
#include "store/store.h"

#define ORDER_VERSION 1

static const char *const ask_names[] = {
    [ASK_NEVER] = "never",
    [ASK_BLOCKED] = "blocked",
    [ASK_ALWAYS] = "always",
};

static const char *const budget_names[N_BUDGET_ITEMS] = {
    [BUDGET_STEPS] = "steps",         [BUDGET_ATTEMPTS] = "attempts", [BUDGET_TOKENS] = "tokens",
    [BUDGET_MONEY] = "micro_dollars", [BUDGET_TIME] = "milliseconds",
};

/* ---- writing -------------------------------------------------------------------------------- */

static void put_strings(struct json_writer *w, const char *key, char *const *list)
{
    json_array_begin(w, key);
    for (; list && *list; list++)
        json_put_str(w, NULL, *list);
    json_array_end(w);
}

static void put_order(struct json_writer *w, const char *key, const struct run_order *order)
{
    json_object_begin(w, key);
    json_put_u64(w, "version", ORDER_VERSION);
    json_put_str(w, "id", order->id);
    json_put_str(w, "language", order->language);
    json_put_str(w, "effort", order->effort);
    json_put_bool(w, "installs", order->installs);
    for (enum package_kind kind = 0; kind < N_PACKAGE_KINDS; kind++)
        if (order->packages[kind])
            json_put_str(w, package_kind_name(kind), order->packages[kind]);
    if (order->net)
        json_put_str(w, "net", order->net);
    if (order->net_denied)
        json_put_str(w, "net_denied", order->net_denied);
    if (order->user)
        json_put_str(w, "user", order->user);
    json_put_str(w, "ask", ask_names[order->ask]);
    json_put_u64(w, "candidates", order->candidates);
    json_object_begin(w, "budget");
    for (enum budget_item item = 0; item < N_BUDGET_ITEMS; item++)
        json_put_u64(w, budget_names[item], order->budget.limits[item]);
    json_object_end(w);
    put_strings(w, "files", order->files);
    put_strings(w, "before", order->before);
    json_put_bool(w, "has_contract", order->has_contract);
    if (order->has_past)
        json_put_u64(w, "past_steps", order->past_steps);
    json_object_end(w);
}

int run_order_text(const struct run_order *order, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, false);
    put_order(&w, NULL, order);
    return json_writer_end(&w);
}

int run_options_text(const struct run_options *options, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    put_order(&w, "order", &options->order);
    json_object_begin(&w, "host");
    put_strings(&w, "flags", options->host.flags);
    json_put_str(&w, "out", options->host.out);
    json_put_bool(&w, "is_forced", options->host.is_forced);
    put_strings(&w, "sources", options->host.sources);
    json_put_bool(&w, "has_parents_files", options->host.has_parents_files);
    json_put_str(&w, "from", options->host.from);
    put_strings(&w, "delivered", options->host.delivered);
    json_object_end(&w);
    json_object_end(&w);
    return json_writer_end(&w);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* NULL stays NULL; anything but a string without NUL is wrong. */
static int get_string(const struct json_value *object, const char *key, char **ret)
{
    const struct json_value *value = json_get(object, key);
    size_t len;
    const char *text = json_str(value, &len);

    if (json_kind(value) == JSON_NULL)
        return 0;
    if (!text || strlen(text) != len)
        return -EINVAL;
    *ret = strdup(text);
    return *ret ? 0 : -ENOMEM;
}

static int get_strings(const struct json_value *object, const char *key, char ***ret)
{
    const struct json_value *list = json_get(object, key);
    int r = json_kind(list) == JSON_ARRAY ? 0 : -EINVAL;

    for (size_t i = 0; r == 0 && i < json_count(list); i++) {
        size_t len;
        const char *text = json_str(json_at(list, i), &len);

        r = text && strlen(text) == len ? strings_add(ret, text) : -EINVAL;
    }
    return r;
}

static int get_budget(const struct json_value *object, struct budget *ret)
{
    const struct json_value *limits = json_get(object, "budget");

    *ret = (struct budget){ 0 };
    for (enum budget_item item = 0; item < N_BUDGET_ITEMS; item++)
        if (!json_u64(json_get(limits, budget_names[item]), &ret->limits[item]))
            return -EINVAL;
    return 0;
}

static int get_ask(const struct json_value *object, enum ask_mode *ret)
{
    const char *text = json_str(json_get(object, "ask"), NULL);

    for (size_t i = 0; text && i < N_ELEMENTS(ask_names); i++) {
        if (strcmp(text, ask_names[i]) == 0) {
            *ret = (enum ask_mode)i;
            return 0;
        }
    }
    return -EINVAL;
}

static int get_numbers(const struct json_value *object, struct run_order *ret)
{
    const char *id = json_str(json_get(object, "id"), NULL);
    uint64_t candidates = 0;
    uint64_t past_steps = 0;
    uint64_t version = 0;

    if (!json_u64(json_get(object, "version"), &version) || version != ORDER_VERSION ||
        !json_u64(json_get(object, "candidates"), &candidates) || candidates == 0 ||
        candidates > AGENT_CANDIDATES_MAX || !id || !id_is_valid('t', id) ||
        !json_bool(json_get(object, "has_contract"), &ret->has_contract))
        return -EINVAL;
    ret->has_past = json_u64(json_get(object, "past_steps"), &past_steps);
    if (past_steps > CHECKPOINT_STEP_MAX)
        return -EINVAL;
    ret->past_steps = (unsigned)past_steps;
    memcpy(ret->id, id, sizeof(ret->id));
    ret->candidates = (unsigned)candidates;
    return 0;
}

static int get_packages(const struct json_value *object, struct run_order *ret)
{
    int r = 0;

    (void)json_bool(json_get(object, "installs"), &ret->installs);
    for (enum package_kind kind = 0; r == 0 && kind < N_PACKAGE_KINDS; kind++)
        if (json_kind(json_get(object, package_kind_name(kind))) != JSON_NONE)
            r = get_string(object, package_kind_name(kind), &ret->packages[kind]);
    return r;
}

/* What it grants is what it said when it was begun, or it is not one that glovebox wrote. */
static int get_rules(const struct json_value *object, const char *key, char **ret)
{
    int r = 0;

    if (json_kind(json_get(object, key)) != JSON_NONE)
        r = get_string(object, key, ret);
    return r == 0 ? net_policy_check(*ret, NULL) : r;
}

/* Paths go into boxes and folders. */
static int check_paths(char *const *paths, size_t most)
{
    size_t n = 0;

    for (; paths && *paths; paths++, n++)
        if (!path_is_below(*paths))
            return -EINVAL;
    return n > most ? -E2BIG : 0;
}

static int get_order(const struct json_value *object, struct run_order *ret)
{
    int r = get_numbers(object, ret);

    if (r == 0)
        r = get_string(object, "language", &ret->language);
    if (r == 0)
        r = get_string(object, "effort", &ret->effort);
    if (r == 0)
        r = get_rules(object, "net", &ret->net);
    if (r == 0)
        r = get_rules(object, "net_denied", &ret->net_denied);
    if (r == 0 && json_kind(json_get(object, "user")) != JSON_NONE)
        r = get_string(object, "user", &ret->user);
    if (r == 0)
        r = get_packages(object, ret);
    if (r == 0)
        r = get_ask(object, &ret->ask);
    if (r == 0)
        r = get_budget(object, &ret->budget);
    if (r == 0)
        r = get_strings(object, "files", &ret->files);
    if (r == 0)
        r = get_strings(object, "before", &ret->before);
    if (r == 0)
        r = check_paths(ret->files, RUN_FILES_MAX);
    if (r == 0)
        r = check_paths(ret->before, FENCE_FILES_MAX);
    return r;
}

static int get_host(const struct json_value *object, struct run_host *ret)
{
    int r = get_strings(object, "flags", &ret->flags);

    if (r == 0)
        r = get_string(object, "out", &ret->out);
    if (r == 0)
        r = get_strings(object, "sources", &ret->sources);
    if (r == 0)
        r = get_string(object, "from", &ret->from);
    if (r == 0 && json_kind(json_get(object, "delivered")) != JSON_NONE)
        r = get_strings(object, "delivered", &ret->delivered);
    if (r == 0 && !json_bool(json_get(object, "is_forced"), &ret->is_forced))
        r = -EINVAL;
    (void)json_bool(json_get(object, "has_parents_files"), &ret->has_parents_files);
    return r;
}

static int unreadable(int r, struct gb_err *err)
{
    return gb_fail(err, r, GB_BLAME_HOST,
                   "what the task was told cannot be read: another version of glovebox began it, "
                   "or it is damaged");
}

int run_order_parse(const char *json, size_t len, struct run_order *ret, struct gb_err *err)
{
    cleanup_json struct json_value *value = NULL;
    int r = json_value_parse(json, len, STORE_TEXT_MAX, &value, err);

    if (r == 0)
        r = get_order(value, ret);
    return r < 0 ? unreadable(r, err) : 0;
}

int run_options_parse(const char *json, struct run_options *ret, struct gb_err *err)
{
    cleanup_json struct json_value *value = NULL;
    int r = json_value_parse(json, strlen(json), STORE_TEXT_MAX, &value, err);

    if (r == 0)
        r = get_order(json_get(value, "order"), &ret->order);
    if (r == 0)
        r = get_host(json_get(value, "host"), &ret->host);
    if (r == 0 && (strings_count(ret->host.flags) % 2 || strings_count(ret->host.delivered) % 2 ||
                   strings_count(ret->host.sources) != 2 * strings_count(ret->order.files)))
        r = -EINVAL;
    return r < 0 ? unreadable(r, err) : 0;
}

void run_order_clear(struct run_order *order)
{
    free(order->language);
    free(order->effort);
    free(order->net);
    free(order->net_denied);
    free(order->user);
    for (enum package_kind kind = 0; kind < N_PACKAGE_KINDS; kind++)
        free(order->packages[kind]);
    strings_free(order->files);
    strings_free(order->before);
    *order = (struct run_order){ 0 };
}

void run_options_clear(struct run_options *options)
{
    run_order_clear(&options->order);
    strings_free(options->host.flags);
    strings_free(options->host.sources);
    strings_free(options->host.delivered);
    free(options->host.out);
    free(options->host.from);
    options->host = (struct run_host){ 0 };
}
