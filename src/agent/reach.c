/* SPDX-License-Identifier: Apache-2.0 */
/* agent/reach.c - what the delivered program may reach, when it is run at the end. */
#include "agent/reach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/state.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "egress/policy.h"
#include "json/writer.h"

#define NAME_SIZE 64
#define RULES_MAX (96 << 10)  /* bytes of rules: more than a policy has room for */
#define WORDS_MAX (256 << 10) /* of them, and of what was refused */

static const char not_asked[] = "--net does not grant it, and nobody is asked";
static const char not_granted[] = "it was asked for, and not granted";
static const char not_public[] =
    "it is no public address, which only --net or an answer that lists it grants";

static const char not_allowed[] = "the operator denies it (net.deny)";

/* ---- lists ---------------------------------------------------------------------------------- */

static size_t count(char *const *list)
{
    size_t n = 0;

    while (list && list[n])
        n++;
    return n;
}

static int add(char ***list, const char *text, size_t len)
{
    size_t n = count(*list);
    char **more = reallocarray(*list, n + 2, sizeof(*more));

    if (!more)
        return -ENOMEM;
    *list = more;
    more[n] = strndup(text, len);
    more[n + 1] = NULL;
    return more[n] ? 0 : -ENOMEM;
}

static void list_clear(char ***list)
{
    for (size_t i = 0; *list && (*list)[i]; i++)
        free((*list)[i]);
    free(*list);
    *list = NULL;
}

static void refused_clear(struct agent_reach *reach)
{
    for (size_t i = 0; i < reach->n_refused; i++)
        free(reach->refused[i].host);
    free(reach->refused);
    reach->refused = NULL;
    reach->n_refused = 0;
}

void reach_clear(struct agent_reach *reach)
{
    list_clear(&reach->granted);
    refused_clear(reach);
}

/* ---- for prompts, people and programs ------------------------------------------------------- */

static void put_granted(const struct agent_reach *reach, struct buf *ret)
{
    for (size_t i = 0; reach->granted && reach->granted[i]; i++)
        (void)buf_printf(ret, "%s%s", i ? ", " : "",
                         strcmp(reach->granted[i], "full") == 0 ? "every public host"
                                                                : reach->granted[i]);
}

static void put_refused(const struct agent_reach *reach, struct buf *ret)
{
    for (size_t i = 0; i < reach->n_refused; i++)
        (void)buf_printf(ret, "%s%s (%s)", i ? ", " : "", reach->refused[i].host,
                         reach->refused[i].reason);
}

void reach_put_refused(const struct agent_reach *reach, struct buf *ret)
{
    if (reach->n_refused == 0)
        return;
    (void)buf_puts(ret, "These hosts cannot be reached: ");
    put_refused(reach, ret);
    (void)buf_puts(ret, ". Do without them.\n");
}

void reach_put(struct json_writer *w, const struct agent_reach *reach)
{
    json_array_begin(w, "granted");
    for (size_t i = 0; reach->granted && reach->granted[i]; i++)
        json_put_str(w, NULL, reach->granted[i]);
    json_array_end(w);
    json_array_begin(w, "refused");
    for (size_t i = 0; i < reach->n_refused; i++) {
        json_object_begin(w, NULL);
        json_put_str(w, "host", reach->refused[i].host);
        json_put_str(w, "reason", reach->refused[i].reason);
        json_object_end(w);
    }
    json_array_end(w);
}

static bool may_ask(const struct task *task)
{
    const char *net = task->spec->net;

    return task->spec->ask != ASK_NEVER && !(net && strcmp(net, "none") == 0);
}

/* What is true of the network now, in words for the models. */
static int describe(struct task *task, struct gb_err *err)
{
    const struct agent_reach *reach = &task->out->reach;
    cleanup_buf struct buf text = BUF_INIT(WORDS_MAX);

    (void)buf_puts(&text, "Tests run without network. ");
    if (count(reach->granted) > 0) {
        (void)buf_puts(&text,
                       "When the program is run at the end, after the tests, it may reach: ");
        put_granted(reach, &text);
        (void)buf_puts(&text, ". Nothing else. Keep what fetches small and apart, so that the rest "
                              "can be tested with what a test gives it.\n");
    } else if (may_ask(task)) {
        (void)buf_puts(&text, "The program has none either. Hosts that the task cannot do without "
                              "stand in the contract: then the user is asked whether it may reach "
                              "them when it is run at the end, after the tests.\n");
    } else {
        (void)buf_puts(&text, "The program has none either, and none is granted.\n");
    }
    reach_put_refused(reach, &text);
    free(task->network);
    task->network = buf_take(&text);
    return task->network ? 0 : gb_no_memory(err);
}

static void tell(struct task *task)
{
    const struct agent_reach *reach = &task->out->reach;
    cleanup_buf struct buf text = BUF_INIT(WORDS_MAX);
    struct agent_event event = { .kind = EVENT_NETWORK, .reach = reach };

    if (count(reach->granted) > 0) {
        (void)buf_puts(&text, "the last run may reach ");
        put_granted(reach, &text);
    }
    if (reach->n_refused > 0) {
        (void)buf_puts(&text, text.len ? "; refused: " : "refused: ");
        put_refused(reach, &text);
    }
    event.text = text.data ? text.data : "";
    event.len = text.len;
    task_tell(task, &event);
}

/* ---- granting ------------------------------------------------------------------------------- */

/* Rules with commas between them, besides those that were granted before. */
static int grant(struct task *task, const char *rules, struct gb_err *err)
{
    struct agent_reach *reach = &task->out->reach;
    cleanup_buf struct buf all = BUF_INIT(RULES_MAX);
    struct net_policy policy;
    int r;

    if (strcmp(rules, "none") == 0)
        return 0;
    for (size_t i = 0; reach->granted && reach->granted[i]; i++)
        (void)buf_printf(&all, "%s,", reach->granted[i]);
    (void)buf_puts(&all, rules);
    if (buf_error(&all) < 0)
        return gb_no_memory(err);
    r = net_policy_parse(all.data, &policy, err);
    if (r < 0)
        return r;
    net_policy_clear(&task->net);
    task->net = policy;
    for (size_t len; r == 0 && *rules; rules += len + (rules[len] == ',')) {
        len = strcspn(rules, ",");
        r = add(&reach->granted, rules, len);
    }
    return r < 0 ? gb_no_memory(err) : 0;
}

int reach_begin(struct task *task, struct gb_err *err)
{
    int r = task->spec->net ? grant(task, task->spec->net, err) : 0;

    return r < 0 ? r : describe(task, err);
}

/* ---- asking --------------------------------------------------------------------------------- */

/* The dialler has the last word; here it is about what a person is asked for and told. */
static bool is_denied(const struct task *task, const char *host)
{
    cleanup_with(net_policy_clear) struct net_policy denied = { 0 };
    struct net_rule rule;

    return task->spec->net_denied && net_policy_parse(task->spec->net_denied, &denied, NULL) == 0 &&
           net_rule_parse(host, &rule, NULL) == 0 && net_denies_rule(&denied, &rule);
}

static bool is_covered(const struct task *task, const char *host)
{
    struct net_rule rule;

    return net_rule_parse(host, &rule, NULL) == 0 && net_policy_covers(&task->net, &rule) &&
           !is_denied(task, host);
}

static bool is_public(const char *host)
{
    struct net_rule rule;

    return net_rule_parse(host, &rule, NULL) == 0 && net_rule_is_public(&rule);
}

static bool was_asked(const struct task *task, const char *host)
{
    for (size_t i = 0; task->asked_hosts && task->asked_hosts[i]; i++)
        if (strcmp(task->asked_hosts[i], host) == 0)
            return true;
    return false;
}

/* The hosts that nobody was asked for, a line each; their number.  From here on they were asked
 * for. */
static int put_wanted(struct task *task, struct buf *ret, size_t *ret_n, struct gb_err *err)
{
    *ret_n = 0;
    for (char **host = task->out->contract.hosts; *host; host++) {
        if (is_covered(task, *host) || was_asked(task, *host) || is_denied(task, *host))
            continue;
        (void)buf_printf(ret, "  %s%s\n", *host, is_public(*host) ? "" : "   (no public address)");
        if (add(&task->asked_hosts, *host, strlen(*host)) < 0)
            return gb_no_memory(err);
        (*ret_n)++;
    }
    return buf_error(ret) < 0 ? gb_no_memory(err) : 0;
}

/* "yes": those of the question that are public.  What was refused before is not in it. */
static int grant_all(struct task *task, char *const *asked, struct gb_err *err)
{
    cleanup_buf struct buf rules = BUF_INIT(RULES_MAX);

    for (char *const *host = asked; *host; host++)
        if (is_public(*host) && !is_covered(task, *host))
            (void)buf_printf(&rules, "%s%s", rules.len ? "," : "", *host);
    if (buf_error(&rules) < 0)
        return gb_no_memory(err);
    return rules.len > 0 ? grant(task, rules.data, err) : 0;
}

/* Blanks around rules are a person's; what is left is read as --net is.  Between two words one
 * stays, which no rule has: "not example.org" names nobody. */
static void without_blanks(const char *text, struct buf *ret)
{
    while (*text) {
        size_t n = strspn(text, " \t\r\n");

        text += n;
        if (n && *text && *text != ',' && ret->len && ret->data[ret->len - 1] != ',')
            (void)buf_putc(ret, ' ');
        if (*text)
            (void)buf_putc(ret, *text++);
    }
}

/* An answer that grants nothing may be a remark, which the models read. */
static int take_answer(struct task *task, char *const *asked, const char *answer,
                       struct gb_err *err)
{
    static const char *const yes[] = { "y", "yes", "ok" };
    cleanup_buf struct buf rules = BUF_INIT(AGENT_ANSWER_MAX + 1);
    int r;

    for (size_t i = 0; i < N_ELEMENTS(yes); i++)
        if (strcasecmp(answer, yes[i]) == 0)
            return grant_all(task, asked, err);
    without_blanks(answer, &rules);
    if (buf_error(&rules) < 0)
        return gb_no_memory(err);
    r = rules.len > 0 ? grant(task, rules.data, NULL) : 0;
    return r == -ENOMEM ? gb_no_memory(err) : 0;
}

static int ask_for(struct task *task, const char *wanted, char *const *asked, struct gb_err *err)
{
    cleanup_buf struct buf question = BUF_INIT(RULES_MAX);
    cleanup_buf struct buf answer = BUF_INIT(AGENT_ANSWER_MAX);
    char name[NAME_SIZE];
    int r;

    (void)buf_printf(&question,
                     "The program wants to reach these hosts, when it is run at the end:\n%s"
                     "Which may it? (yes: all that are public; else hosts or addresses as --net "
                     "takes them, with commas; empty: none)",
                     wanted);
    if (buf_error(&question) < 0)
        return gb_no_memory(err);
    (void)snprintf(name, sizeof(name), "step-%u/hosts", task->step);
    r = ask_human(task, name, question.data, &answer, err);
    return r <= 0 ? r : take_answer(task, asked, answer.data ? answer.data : "", err);
}

/* ---- refusing ------------------------------------------------------------------------------- */

static int refuse(struct task *task, const char *host, struct gb_err *err)
{
    struct agent_reach *reach = &task->out->reach;
    struct reach_refusal *more =
        reallocarray(reach->refused, reach->n_refused + 1, sizeof(*reach->refused));

    if (!more)
        return gb_no_memory(err);
    reach->refused = more;
    more += reach->n_refused;
    more->host = strdup(host);
    if (!more->host)
        return gb_no_memory(err);
    more->reason = is_denied(task, host) ? not_allowed
                   : !may_ask(task)      ? not_asked
                   : is_public(host)     ? not_granted
                                         : not_public;
    reach->n_refused++;
    return 0;
}

int reach_settle(struct task *task, struct gb_err *err)
{
    struct agent_reach *reach = &task->out->reach;
    cleanup_buf struct buf wanted = BUF_INIT(RULES_MAX);
    size_t before = count(task->asked_hosts);
    size_t n = 0;
    int r = 0;

    refused_clear(reach);
    if (may_ask(task))
        r = put_wanted(task, &wanted, &n, err);
    if (r == 0 && n > 0)
        r = ask_for(task, wanted.data, task->asked_hosts + before, err);
    for (char **host = task->out->contract.hosts; r == 0 && *host; host++)
        if (!is_covered(task, *host))
            r = refuse(task, *host, err);
    if (r == 0)
        r = describe(task, err);
    if (r < 0 || !task->out->contract.hosts[0])
        return r;
    tell(task);
    if (reach->n_refused > 0)
        task_log(task, "%zu of the contract's hosts cannot be reached", reach->n_refused);
    return 0;
}
