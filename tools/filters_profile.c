/* SPDX-License-Identifier: Apache-2.0 */
/* filters_profile.c - the outer wall.
 *
 * What the glove may not do, as a profile in a container engine's words, from the container's first
 * instruction on.  Inside it the glove puts on its two filters.  A profile has rules of one answer
 * and a default; the default is to allow, so a call that is permitted only with some arguments is
 * refused with all the others, spelled out.  It may refuse more than the table where an argument
 * has high bits that the kernel does not look at, never less.
 */
#include <seccomp.h>
#include <stdio.h>
#include <string.h>

#include "filters_policy.h"

#define PERMITTED_MAX 64 /* the largest value that a list of permitted ones may hold */

static void profile_rule(const char *name)
{
    printf(
        "    \",{\\\"action\\\":\\\"SCMP_ACT_ERRNO\\\",\\\"names\\\":[\\\"%s\\\"],\\\"args\\\":[\" \\\n",
        name);
}

static void profile_arg(unsigned arg, const char *op, uint32_t value, uint32_t value_two,
                        const char *separator)
{
    printf(
        "    \"%s{\\\"index\\\":%u,\\\"op\\\":\\\"SCMP_CMP_%s\\\",\\\"value\\\":%u,\\\"valueTwo\\\":%u}\" \\\n",
        separator, arg, op, value, value_two);
}

static void profile_rule_end(void)
{
    puts("    \"]}\" \\");
}

static void profile_refuse(const char *name, const struct cond *cond, uint32_t mask, uint32_t value)
{
    profile_rule(name);
    profile_arg(cond->arg, "MASKED_EQ", mask, value, "");
    profile_rule_end();
}

static bool holds_value(const struct cond *cond, uint32_t value)
{
    for (unsigned i = 0; i < cond->n_values; i++)
        if (cond->value[i] == value)
            return true;
    return false;
}

/* The rows of that kind about the arguments of a call, for these who. */
static size_t rules_of(const struct call *call, enum kind kind, unsigned who,
                       const struct row *ret[n_rows])
{
    size_t n = 0;

    for (size_t i = 0; i < n_rows; i++)
        if (policy[i].kind == kind && policy[i].who & who && row_names(&policy[i], call->name))
            ret[n++] = &policy[i];
    return n;
}

/* Refused with that value of the first argument and any value of the second but those of its rows.
 * An engine takes no two conditions about one argument: what lies between them is spelled out. */
static void profile_second(const struct call *call, const struct row *const *rows, size_t n,
                           uint32_t value)
{
    const struct cond *first = &rows[0]->conds[0];
    unsigned arg = rows[0]->conds[1].arg;
    uint64_t permitted = 0;
    uint32_t end = 0;

    for (size_t i = 0; i < n; i++) {
        permitted |= UINT64_C(1) << rows[i]->conds[1].value[0];
        end = rows[i]->conds[1].value[0] >= end ? rows[i]->conds[1].value[0] + 1 : end;
    }
    for (uint32_t other = 0; other <= end; other++) {
        if (other < end && permitted >> other & 1)
            continue;
        profile_rule(call->name);
        profile_arg(first->arg, "MASKED_EQ", UINT32_MAX, value, "");
        if (other < end)
            profile_arg(arg, "MASKED_EQ", UINT32_MAX, other, ",");
        else
            profile_arg(arg, "GE", end, 0, ",");
        profile_rule_end();
    }
}

/* One value of the first argument that decides: refused, or refused unless the second one holds. */
static void profile_value(const struct call *call, const struct row *const *rows, size_t n,
                          uint32_t value)
{
    const struct row *about[n_rows];
    size_t n_about = 0;

    for (size_t i = 0; i < n; i++) {
        if (!holds_value(&rows[i]->conds[0], value))
            continue;
        if (rows[i]->conds[1].n_values == 0)
            return;
        about[n_about++] = rows[i];
    }
    if (n_about > 0)
        profile_second(call, about, n_about, value);
    else
        profile_refuse(call->name, &rows[0]->conds[0], UINT32_MAX, value);
}

/* All but the values that are permitted. */
static void profile_all_but_values(const struct call *call, const struct row *const *rows, size_t n)
{
    const struct cond *first = &rows[0]->conds[0];
    uint32_t end = 0;

    for (size_t i = 0; i < n; i++) {
        const struct cond *conds = rows[i]->conds;

        if (conds[0].arg != first->arg || conds[0].mask != UINT32_MAX || conds[1].n_values > 1 ||
            (conds[1].n_values == 1 &&
             (conds[1].mask != UINT32_MAX || conds[1].value[0] >= PERMITTED_MAX)))
            die("%s: no profile can say what is permitted", call->name);
        for (unsigned v = 0; v < conds[0].n_values; v++)
            end = conds[0].value[v] >= end ? conds[0].value[v] + 1 : end;
    }
    if (end > PERMITTED_MAX)
        die("%s: too many values for a profile", call->name);
    for (uint32_t value = 0; value < end; value++)
        profile_value(call, rows, n, value);
    profile_rule(call->name);
    profile_arg(first->arg, "GE", end, 0, "");
    profile_rule_end();
}

/* Permitted with none of these bits: refused with any. */
static void profile_bits(const struct call *call, const struct cond *cond)
{
    for (unsigned bit = 0; bit < 32; bit++)
        if (cond->mask & 1u << bit)
            profile_refuse(call->name, cond, 1u << bit, 1u << bit);
}

static void profile_call(const struct call *call, unsigned who)
{
    const struct row *rows[n_rows];
    size_t n = rules_of(call, KIND_REFUSE, who, rows);

    for (size_t i = 0; i < n; i++) {
        const struct cond *cond = &rows[i]->conds[0];

        if (rows[i]->conds[1].n_values > 0)
            die("%s: no profile can say what is refused", call->name);
        for (unsigned v = 0; v < cond->n_values; v++)
            profile_refuse(call->name, cond, cond->mask, cond->value[v]);
    }
    if (call->glove == ALLOW)
        return;
    n = rules_of(call, KIND_PERMIT, who, rows);
    if (n == 1 && rows[0]->conds[0].mask != UINT32_MAX && rows[0]->conds[0].n_values == 1 &&
        rows[0]->conds[0].value[0] == 0 && rows[0]->conds[1].n_values == 0)
        profile_bits(call, &rows[0]->conds[0]);
    else if (n > 0)
        profile_all_but_values(call, rows, n);
    else
        die("%s: nothing is permitted, and there are rules", call->name);
}

void profile_print(const char *macro, unsigned who)
{
    const char *separator = "";

    printf("\n#define %s \\\n    \"{\\\"defaultAction\\\":\\\"SCMP_ACT_ALLOW\\\",\" \\\n"
           "    \"\\\"architectures\\\":[\\\"%s\\\"],\" \\\n"
           "    \"\\\"syscalls\\\":[{\\\"action\\\":\\\"SCMP_ACT_ERRNO\\\",\\\"names\\\":[\" \\\n",
           macro,
           seccomp_arch_native() == SCMP_ARCH_X86_64 ? "SCMP_ARCH_X86_64" : "SCMP_ARCH_AARCH64");
    for (size_t i = 0; i < n_calls; i++) {
        const struct call *call = &calls[i];

        if (call->nr < 0 || call->glove == ALLOW || (call->ruled & GLOVE) != 0)
            continue;
        printf("    \"%s\\\"%s\\\"\" \\\n", separator, call->name);
        separator = ",";
    }
    puts("    \"]}\" \\");
    for (size_t i = 0; i < n_calls; i++)
        if (calls[i].nr >= 0 && (calls[i].ruled & GLOVE) != 0)
            profile_call(&calls[i], who);
    puts("    \"]}\"");
}
