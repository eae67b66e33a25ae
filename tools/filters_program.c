/* SPDX-License-Identifier: Apache-2.0 */
/* filters_program.c - compiles the policy into BPF.
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
#include <linux/filter.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>

#include "filters_policy.h"

enum {
    MAX_RANGES = 250,
    MAX_LABELS = 500,
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
    for (size_t i = 0; i < n_rows; i++)
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

void program_print(const char *name, unsigned who, uint32_t otherwise)
{
    static struct prog prog;

    prog = (struct prog){ .name = name, .who = who, .otherwise = otherwise };
    prog_build(&prog);
    prog_print(&prog);
}
