/* SPDX-License-Identifier: Apache-2.0 */
/* filters.c - compiles the system call policy (filters.def) into BPF, at build time.
 *
 * Prints a C header with two arrays, gb_filter_run and gb_filter_glove, on stdout.  Compiling a
 * filter takes longer than starting a box: so it is done here, and the program carries plain
 * numbers.  libseccomp knows the names and numbers of the calls; the code is made below, because
 *
 *  - libseccomp has one default for a whole filter, and its own order for rules that overlap.  The
 *    policy needs an answer of its own for each call whose arguments were not right ("clone without
 *    these bits, else EPERM", beside ENOSYS for numbers nobody knows) and refusals before permits
 *    ("any ioctl but these four");
 *  - when a filter is installed, once per box and once per run, the kernel compiles it and tries it
 *    on each system call there is.  Allowed numbers lie in long ranges: a tree over the ranges is
 *    much shorter than libseccomp's tree over the numbers, and cheaper to install.
 *
 * The program:
 *
 *   architecture   another one: kill the process
 *   tree           over ranges of numbers, breadth first, one comparison per node; its leaves are
 *   answers        one return for each, and
 *   doors          one jump for each block (a comparison reaches 255 instructions, a jump any)
 *   blocks         one for each call with rules: REFUSE rows, PERMIT rows, the call's own answer
 *
 * x32 calls are a range like others: bit 30 set means kill, except for -1, with which a tracer
 * cancels a call.
 */
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier) */
#endif
#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* Younger than the headers of Debian 12, or in none that can be included here. */
#define PR_SET_MDWE                 65
#define PR_GET_MDWE                 66
#define PR_SET_MEMORY_MERGE         67
#define PR_GET_SHADOW_STACK_STATUS  74
#define PR_SET_SHADOW_STACK_STATUS  75
#define PR_LOCK_SHADOW_STACK_STATUS 76
#define PR_GET_AUXV                 0x41555856
#define PROTO_L2TP                  115
#define PROTO_SMC                   256
#define MOUNT_NOSYMFOLLOW           256
#define SOCK_TYPE_BITS              0xf
#define IOPRIO_CLASS_BITS           (7 << 13)
#define IOPRIO_CLASS_RT_BITS        (1 << 13)

#define ALL_CLONE_NEW                                                                             \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
     CLONE_NEWNET)
#define COVERING_MOUNT_FLAGS                                                                    \
    (MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_REMOUNT | MS_BIND | MS_REC | MS_SILENT | \
     MS_PRIVATE | MOUNT_NOSYMFOLLOW | MS_NOATIME | MS_NODIRATIME | MS_RELATIME)

enum {
    RUN = 1,
    GLOVE = 2,
    BOTH = RUN | GLOVE,
    START = 4, /* in the profile of an engine only */
};

enum {
    MAX_VALUES = 20,
    MAX_CONDS = 2,
    MAX_NR = 1024,
    MAX_NAME = 32,
    MAX_RANGES = 250,
    MAX_LABELS = 500,
};

enum kind {
    KIND_CALLS,
    KIND_REFUSE,
    KIND_PERMIT,
};

/* Holds when the low 32 bits of an argument, masked, equal one of the values.  No values: no
 * condition. */
struct cond {
    unsigned arg;
    uint32_t mask;
    uint32_t value[MAX_VALUES];
    unsigned n_values;
};

struct row {
    enum kind kind;
    unsigned who;        /* rules: the filters that they belong to */
    uint32_t run, glove; /* the answers */
    const char *names;   /* separated by blanks, each "name" or "name=number" */
    struct cond conds[MAX_CONDS];
};

/* The decision about one call. */
struct call {
    char name[MAX_NAME];
    int nr;              /* -1: this architecture does not have it */
    uint32_t run, glove; /* the answers, when no rule matches */
    unsigned ruled;      /* RUN, GLOVE: filters with rules about its arguments */
};

/* Where the tree leads: an answer, or the block of one call. */
struct leaf {
    uint32_t answer;
    const struct call *call; /* or NULL */
    int label;
};

/* Numbers from `first` to the next range share a leaf. */
struct range {
    uint32_t first;
    unsigned leaf;
};

/* An instruction whose jumps still name labels. */
struct insn {
    unsigned code;
    uint32_t k;
    int jt, jf;
};
#define NO_LABEL (-1) /* the next instruction */

struct prog {
    const char *name;
    unsigned who;
    uint32_t otherwise; /* the answer for numbers that no row names */
    struct range range[MAX_RANGES];
    unsigned n_ranges;
    struct leaf leaf[MAX_RANGES];
    unsigned n_leaves;
    struct insn insn[BPF_MAXINSNS];
    unsigned n_insns;
    unsigned place[MAX_LABELS]; /* the instruction behind each label */
    int n_labels;
};

#define ALLOW  SECCOMP_RET_ALLOW
#define ERR(e) (SECCOMP_RET_ERRNO | (e))
#define PERM   ERR(EPERM)
#define NOSYS  ERR(ENOSYS)
#define KILL   SECCOMP_RET_KILL_PROCESS

#define BITS(a, m, ...)                                                     \
    {                                                                       \
        .arg = (a), .mask = (uint32_t)(m), .value = { __VA_ARGS__ },        \
        .n_values = sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), \
    }
#define IS(a, ...) BITS(a, UINT32_MAX, __VA_ARGS__)
#define CALLS(r, g, s)      \
    {                       \
        .kind = KIND_CALLS, \
        .run = (r),         \
        .glove = (g),       \
        .names = (s),       \
    },
#define REFUSE(w, answer, s, ...) \
    {                             \
        .kind = KIND_REFUSE,      \
        .who = (w),               \
        .run = (answer),          \
        .glove = (answer),        \
        .names = (s),             \
        .conds = { __VA_ARGS__ }, \
    },
#define PERMIT(w, s, ...)         \
    {                             \
        .kind = KIND_PERMIT,      \
        .who = (w),               \
        .run = ALLOW,             \
        .glove = ALLOW,           \
        .names = (s),             \
        .conds = { __VA_ARGS__ }, \
    },

static const struct row policy[] = {
#include "filters.def"
};
#define N_ROWS (sizeof(policy) / sizeof(policy[0]))

static struct call calls[MAX_NR];
static size_t n_calls;

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fputs("filters: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(1);
}

/* Steps through the names of a row; false at the end.  *ret_nr is -1 when no number is given. */
static bool next_name(const char **cursor, char name[MAX_NAME], int *ret_nr)
{
    const char *s = *cursor + strspn(*cursor, " ");
    size_t len = strcspn(s, " =");

    if (len == 0)
        return false;
    if (len >= MAX_NAME)
        die("name too long: %s", s);
    memcpy(name, s, len);
    name[len] = '\0';
    *ret_nr = s[len] == '=' ? (int)strtol(s + len + 1, NULL, 10) : -1;
    *cursor = s + strcspn(s, " ");
    return true;
}

static bool row_names(const struct row *row, const char *wanted)
{
    char name[MAX_NAME] = "";
    int nr;

    for (const char *c = row->names; next_name(&c, name, &nr);)
        if (strcmp(name, wanted) == 0)
            return true;
    return false;
}

/* The number of a call on this architecture, or -1 when it has none. */
static int call_resolve(const char *name, int nr)
{
    int known = seccomp_syscall_resolve_name(name);

    if (known == __NR_SCMP_ERROR && nr < 0)
        die("%s: no such system call", name);
    if (known == __NR_SCMP_ERROR)
        return nr;
    if (nr >= 0 && known != nr)
        die("%s: the table says %d, libseccomp %d", name, nr, known);
    return known < 0 ? -1 : known;
}

static struct call *call_find(const char *name)
{
    for (size_t i = 0; i < n_calls; i++)
        if (strcmp(calls[i].name, name) == 0)
            return &calls[i];
    return NULL;
}

static void call_add(const struct row *row, const char name[MAX_NAME], int nr)
{
    struct call call = { .nr = call_resolve(name, nr), .run = row->run, .glove = row->glove };

    if (call_find(name) != NULL)
        die("%s: decided twice", name);
    if (call.nr >= MAX_NR || n_calls == MAX_NR)
        die("%s: no room for it", name);
    memcpy(call.name, name, MAX_NAME);
    calls[n_calls++] = call;
}

/* Fills `calls` from the CALLS rows, then notes which of them have rules. */
static void policy_load(void)
{
    char name[MAX_NAME] = "";
    int nr;

    for (size_t i = 0; i < N_ROWS; i++)
        for (const char *c = policy[i].names; next_name(&c, name, &nr);)
            if (policy[i].kind == KIND_CALLS)
                call_add(&policy[i], name, nr);

    for (size_t i = 0; i < N_ROWS; i++)
        for (const char *c = policy[i].names; next_name(&c, name, &nr);) {
            struct call *call = call_find(name);

            if (call == NULL)
                die("%s: has rules but no decision", name);
            call->ruled |= policy[i].who;
        }
}

static int label_new(struct prog *prog)
{
    if (prog->n_labels == MAX_LABELS)
        die("too many labels");
    return prog->n_labels++;
}

static void label_here(struct prog *prog, int label)
{
    prog->place[label] = prog->n_insns;
}

static void emit(struct prog *prog, unsigned code, uint32_t k, int jt, int jf)
{
    if (prog->n_insns == BPF_MAXINSNS)
        die("too many instructions");
    prog->insn[prog->n_insns++] = (struct insn){ .code = code, .k = k, .jt = jt, .jf = jf };
}

static void emit_load(struct prog *prog, size_t offset)
{
    emit(prog, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, NO_LABEL, NO_LABEL);
}

static void emit_answer(struct prog *prog, uint32_t answer)
{
    emit(prog, BPF_RET | BPF_K, answer, NO_LABEL, NO_LABEL);
}

/* A call with rules has a leaf of its own; the others share one for each answer. */
static unsigned leaf_for(struct prog *prog, uint32_t answer, const struct call *call)
{
    for (unsigned i = 0; i < prog->n_leaves; i++)
        if (prog->leaf[i].call == call && prog->leaf[i].answer == answer)
            return i;
    if (prog->n_leaves == MAX_RANGES)
        die("too many leaves");
    prog->leaf[prog->n_leaves] =
        (struct leaf){ .answer = answer, .call = call, .label = label_new(prog) };
    return prog->n_leaves++;
}

static unsigned leaf_of_call(struct prog *prog, const struct call *call)
{
    uint32_t answer = prog->who == RUN ? call->run : call->glove;

    return leaf_for(prog, answer, (call->ruled & prog->who) != 0 ? call : NULL);
}

static void range_add(struct prog *prog, uint32_t first, unsigned leaf)
{
    if (prog->n_ranges > 0 && prog->range[prog->n_ranges - 1].leaf == leaf)
        return;
    if (prog->n_ranges == MAX_RANGES)
        die("too many ranges");
    prog->range[prog->n_ranges++] = (struct range){ .first = first, .leaf = leaf };
}

/* Cuts the numbers, all 2^32 of them, into ranges. */
static void prog_cut(struct prog *prog)
{
    const unsigned otherwise = leaf_for(prog, prog->otherwise, NULL);
    unsigned leaf[MAX_NR];

    for (unsigned nr = 0; nr < MAX_NR; nr++)
        leaf[nr] = otherwise;
    for (size_t i = 0; i < n_calls; i++)
        if (calls[i].nr >= 0)
            leaf[calls[i].nr] = leaf_of_call(prog, &calls[i]);

    for (unsigned nr = 0; nr < MAX_NR; nr++)
        range_add(prog, nr, leaf[nr]);
    range_add(prog, MAX_NR, otherwise);
    if (seccomp_arch_native() == SCMP_ARCH_X86_64) {
        range_add(prog, 0x40000000, leaf_for(prog, KILL, NULL));
        range_add(prog, UINT32_MAX, otherwise);
    }
}

/* Half a tree: the ranges lo .. hi, and the label of its comparison. */
struct branch {
    unsigned lo, hi;
    int label;
};

/* The label that leads to the ranges lo .. hi: a leaf, or a branch that waits for its turn. */
static int branch_to(struct prog *prog, struct branch *queue, unsigned *n, unsigned lo, unsigned hi)
{
    if (lo == hi)
        return prog->leaf[prog->range[lo].leaf].label;
    queue[*n] = (struct branch){ .lo = lo, .hi = hi, .label = label_new(prog) };
    return queue[(*n)++].label;
}

static void emit_tree(struct prog *prog)
{
    struct branch queue[MAX_RANGES];
    unsigned n = 0;

    emit_load(prog, offsetof(struct seccomp_data, nr));
    branch_to(prog, queue, &n, 0, prog->n_ranges - 1);
    for (unsigned i = 0; i < n; i++) {
        const struct branch b = queue[i];
        unsigned mid = (b.lo + b.hi + 1) / 2;
        int below = branch_to(prog, queue, &n, b.lo, mid - 1);
        int above = branch_to(prog, queue, &n, mid, b.hi);

        label_here(prog, b.label);
        emit(prog, BPF_JMP | BPF_JGE | BPF_K, prog->range[mid].first, above, below);
    }
}

/* Goes on to the next instruction when the condition holds, else to `miss`. */
static void emit_cond(struct prog *prog, const struct cond *cond, int miss)
{
    const int hit = label_new(prog);

    emit_load(prog, offsetof(struct seccomp_data, args) + cond->arg * sizeof(uint64_t));
    if (cond->mask != UINT32_MAX)
        emit(prog, BPF_ALU | BPF_AND | BPF_K, cond->mask, NO_LABEL, NO_LABEL);
    for (unsigned i = 0; i < cond->n_values; i++)
        emit(prog, BPF_JMP | BPF_JEQ | BPF_K, cond->value[i], hit,
             i + 1 < cond->n_values ? NO_LABEL : miss);
    label_here(prog, hit);
}

static void emit_rule(struct prog *prog, const struct row *row)
{
    const int miss = label_new(prog);

    for (unsigned i = 0; i < MAX_CONDS; i++)
        if (row->conds[i].n_values > 0)
            emit_cond(prog, &row->conds[i], miss);
    emit_answer(prog, prog->who == RUN ? row->run : row->glove);
    label_here(prog, miss);
}

static void emit_rules(struct prog *prog, const struct call *call, enum kind kind)
{
    for (size_t i = 0; i < N_ROWS; i++)
        if (policy[i].kind == kind && (policy[i].who & prog->who) != 0 &&
            row_names(&policy[i], call->name))
            emit_rule(prog, &policy[i]);
}

static void emit_leaves(struct prog *prog)
{
    for (unsigned i = 0; i < prog->n_leaves; i++) {
        struct leaf *leaf = &prog->leaf[i];

        label_here(prog, leaf->label);
        if (leaf->call == NULL) {
            emit_answer(prog, leaf->answer);
        } else {
            leaf->label = label_new(prog);
            emit(prog, BPF_JMP | BPF_JA, 0, leaf->label, NO_LABEL);
        }
    }
    for (unsigned i = 0; i < prog->n_leaves; i++) {
        const struct leaf *leaf = &prog->leaf[i];

        if (leaf->call == NULL)
            continue;
        label_here(prog, leaf->label);
        emit_rules(prog, leaf->call, KIND_REFUSE);
        emit_rules(prog, leaf->call, KIND_PERMIT);
        emit_answer(prog, leaf->answer);
    }
}

static void prog_build(struct prog *prog)
{
    int native = label_new(prog);

    prog_cut(prog);
    emit_load(prog, offsetof(struct seccomp_data, arch));
    emit(prog, BPF_JMP | BPF_JEQ | BPF_K, seccomp_arch_native(), native, NO_LABEL);
    emit_answer(prog, KILL);
    label_here(prog, native);
    emit_tree(prog);
    emit_leaves(prog);
}

/* How far instruction i jumps; a comparison has eight bits for it, and no jump goes back. */
static unsigned distance(const struct prog *prog, unsigned i, int label)
{
    unsigned far = label == NO_LABEL ? 0 : prog->place[label] - i - 1;

    if (far > (prog->insn[i].code == (BPF_JMP | BPF_JA) ? BPF_MAXINSNS : UINT8_MAX))
        die("%s: instruction %u jumps too far", prog->name, i);
    return far;
}

static void prog_print(const struct prog *prog)
{
    printf("\n#define %s_len %u\nstatic const struct gb_bpf %s[%s_len] = {\n", prog->name,
           prog->n_insns, prog->name, prog->name);
    for (unsigned i = 0; i < prog->n_insns; i++) {
        const struct insn *insn = &prog->insn[i];
        unsigned jt = distance(prog, i, insn->jt), jf = distance(prog, i, insn->jf);

        if (insn->code == (BPF_JMP | BPF_JA))
            printf("    { 0x%02x, 0, 0, 0x%08x },\n", insn->code, jt);
        else
            printf("    { 0x%02x, %u, %u, 0x%08x },\n", insn->code, jt, jf, insn->k);
    }
    puts("};");
}

/* A filter kills whatever runs on another architecture, so the header refuses to be used there. */
static const char *arch_macro(void)
{
    switch (seccomp_arch_native()) {
    case SCMP_ARCH_X86_64:
        return "__x86_64__";
    case SCMP_ARCH_AARCH64:
        return "__aarch64__";
    default:
        die("no policy for this architecture");
    }
}

static void header_print(void)
{
    printf("/* SPDX-License-Identifier: Apache-2.0 */\n"
           "/* Generated by tools/filters.c from tools/filters.def: do not edit.\n"
           " * The layout of struct gb_bpf is that of struct sock_filter. */\n"
           "#ifndef GB_GEN_FILTERS_H\n"
           "#define GB_GEN_FILTERS_H\n"
           "\n"
           "#ifndef %s\n"
           "#    error \"these filters are for another architecture\"\n"
           "#endif\n"
           "\n"
           "struct gb_bpf {\n"
           "    unsigned short code;\n"
           "    unsigned char jt, jf;\n"
           "    unsigned int k;\n"
           "};\n",
           arch_macro());
}

/* ---- the outer wall ---------------------------------------------------------------------------
 *
 * What the glove may not do, as a profile in a container engine's words, from the container's first
 * instruction on.  Inside it the glove puts on the two filters above.  A profile has rules of one
 * answer and a default; the default is to allow, so a call that is permitted only with some
 * arguments is refused with all the others, spelled out.  It may refuse more than the table where
 * an argument has high bits that the kernel does not look at, never less.
 */

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
                       const struct row *ret[N_ROWS])
{
    size_t n = 0;

    for (size_t i = 0; i < N_ROWS; i++)
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
    const struct row *about[N_ROWS];
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
    const struct row *rows[N_ROWS];
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

static void profile_print(const char *macro, unsigned who)
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

int main(void)
{
    static struct prog run = { .name = "gb_filter_run", .who = RUN, .otherwise = NOSYS };
    static struct prog glove = { .name = "gb_filter_glove", .who = GLOVE, .otherwise = ALLOW };

    policy_load();
    prog_build(&run);
    prog_build(&glove);

    header_print();
    prog_print(&run);
    prog_print(&glove);
    profile_print("gb_filter_engine", GLOVE);
    profile_print("gb_filter_engine_rules", GLOVE | START);
    puts("\n#endif");
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
