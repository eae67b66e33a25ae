/* SPDX-License-Identifier: Apache-2.0 */
/* wire/msg.h - messages as structs, bound to bytes by the table wire/msg.def.
 *
 * One encoder and one decoder work on the table; adding a message is adding its row.  Decoded
 * strings, lists and blobs point into the payload: they live as long as it does.  A decoder
 * accepts exactly what the encoder makes: fields in order, strings ended by a NUL and holding
 * none, lists within their count, no byte too many.  Anything else is -EPROTO.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/frame.h"

#define WIRE_MAGIC   0x784f6247u /* "GbOx" */
#define WIRE_VERSION 6u

/* Who may send a message. */
enum msg_direction {
    GLOVE_IN = 1,
    GLOVE_OUT = 2,
    SPAWN_IN = 4,
    SPAWN_OUT = 8,
};

/* A list of strings, packed: each is its bytes and a NUL. */
struct wire_strs {
    uint32_t count;
    uint32_t size;
    const char *packed;
};

struct wire_blob {
    uint32_t size;
    const uint8_t *bytes;
};

enum msg_type {
#define MSG(NAME, name, number, direction) MSG_##NAME = (number),
#define U32(msg, field)
#define U64(msg, field)
#define STR(msg, field)
#define STRS(msg, field, most)
#define BLOB(msg, field)
#define END(name)
#include "wire/msg.def"
#undef MSG
#undef U32
#undef U64
#undef STR
#undef STRS
#undef BLOB
#undef END
};

/* clang-format off */
#define MSG(NAME, name, number, direction) struct msg_##name {
#define U32(msg, field)        uint32_t field;
#define U64(msg, field)        uint64_t field;
#define STR(msg, field)        const char *field;
#define STRS(msg, field, most) struct wire_strs field;
#define BLOB(msg, field)       struct wire_blob field;
#define END(name)              };
/* clang-format on */
#include "wire/msg.def"
#undef MSG
#undef U32
#undef U64
#undef STR
#undef STRS
#undef BLOB
#undef END

/* Larger than any struct msg_*. */
#define MSG_STRUCT_MAX 128

/* Flags of messages. */
#define SETUP_DISKS_MAX 4

enum setup_flags {
    SETUP_FLAG_LANDLOCK = 1 << 0,
    SETUP_FLAG_SECCOMP = 1 << 1,
    SETUP_FLAG_APART = 1 << 2,  /* runs may ask for RUN_FLAG_APART: the glove keeps CAP_SYS_ADMIN */
    SETUP_FLAG_EGRESS = 1 << 3, /* connections and look-ups of programs go to the host */
};

/* What OK says of a SETUP: the Landlock ABI in force, and whether programs must ask the proxy for
 * what they are to reach, because nothing else leads out. */
#define SETUP_SAID_ABI   0xffffu
#define SETUP_SAID_PROXY (1u << 16)

enum run_flags {
    RUN_FLAG_GROUP = 1 << 0, /* the first descriptor is a v2 group to be born in */
    RUN_FLAG_APART = 1 << 1, /* a pid and mount namespace of its own */
    RUN_FLAG_TTY = 1 << 2,   /* in and out, both given, are one terminal; err is 0 */
    RUN_FLAG_FRESH = 1 << 3, /* only in a box in which no run has left anything behind, as far as
                                the glove can tell (glove/remains.h): else ESTALE */
};

enum counts_flags {
    COUNTS_FLAG_V2 = 1 << 0,
    COUNTS_FLAG_MEMORY = 1 << 1, /* oom_kills could be read; without the flag it is not 0 but */
    COUNTS_FLAG_PIDS = 1 << 2,   /* unknown.  The same: pids_hits, */
    COUNTS_FLAG_CPU = 1 << 3,    /* and cpu_ns */
};

enum get_flags {
    GET_FLAG_LIST = 1 << 0,    /* names and sizes, no contents */
    GET_FLAG_CHANGED = 1 << 1, /* only what changed after `since` */
    GET_FLAG_TREE = 1 << 2,    /* path is a directory; the crate's paths lie below it */
    GET_FLAG_KINDS = 1 << 3,   /* links and directories too; not with the first two */
};

enum list_flags {
    LIST_FLAG_SELF = 1 << 0, /* the thing itself, not what is in it */
};

enum remove_flags {
    REMOVE_FLAG_TREE = 1 << 0, /* with all that is in it */
};

enum plan_flags {
    PLAN_FLAG_ROOT = 1 << 0, /* the spawner has the host's root: it opens trees and writes maps */
    PLAN_FLAG_USER_NS = 1 << 1, /* namespaces to make; each is a wall */
    PLAN_FLAG_PID_NS = 1 << 2,
    PLAN_FLAG_NET_NS = 1 << 3,
    PLAN_FLAG_IPC_NS = 1 << 4,
    PLAN_FLAG_UTS_NS = 1 << 5,
    PLAN_FLAG_CGROUP_NS = 1 << 6,
    PLAN_FLAG_MOUNT_NS = 1 << 7, /* not asked for, always made: failures name it */
};

enum group_flags {
    GROUP_FLAG_V2 = 1 << 0,
    GROUP_FLAG_SHOWN = 1 << 1, /* mounted in the box: runs read their limits there */
};

enum mount_flags {
    MOUNT_FLAG_RO = 1 << 0,
    MOUNT_FLAG_NOSUID = 1 << 1,
    MOUNT_FLAG_NODEV = 1 << 2,
    MOUNT_FLAG_NOEXEC = 1 << 3,
    MOUNT_FLAG_OPTIONAL = 1 << 4, /* a source that is not there is fine */
    MOUNT_FLAG_INSIDE = 1 << 5,   /* the source is a path of the box */
    MOUNT_FLAG_DEVICE = 1 << 6,   /* the source must be the character device rdev */
    MOUNT_FLAG_VEILED = 1 << 7,   /* sockets and pipes in the source lead nowhere */
    MOUNT_FLAG_NOATIME = 1 << 8,  /* reading leaves no time; a file system of one's own */
    MOUNT_FLAG_CLOSED = 1 << 9,   /* the source lies where nobody of the box could walk to */
};

/* Set in the numbers of connections that the host asked for. */
#define DIAL_ASK 0x80000000u

/* The spawner's one argument, if it has any: it is to be nobody's child. */
#define SPAWNER_ORPHAN "orphan"

/* Where in the spawner a plan failed. */
enum spawn_where {
    SPAWN_WHERE_PLAN = 1, /* the plan itself */
    SPAWN_WHERE_SLOT,
    SPAWN_WHERE_GROUP,
    SPAWN_WHERE_TREE,
    SPAWN_WHERE_CLONE,
    SPAWN_WHERE_MAP,
    SPAWN_WHERE_JOIN,
    SPAWN_WHERE_STEP,
    SPAWN_WHERE_PIVOT,
    SPAWN_WHERE_NET,
    SPAWN_WHERE_STREAMS,
};

/* Where in the glove a request failed. */
enum glove_step {
    GLOVE_STEP_REQUEST = 1, /* the request itself: unknown run, bad path, no room */
    GLOVE_STEP_PIPE,
    GLOVE_STEP_FORK,
    GLOVE_STEP_GROUP,
    GLOVE_STEP_NAMESPACE,
    GLOVE_STEP_RLIMIT,
    GLOVE_STEP_IDS,
    GLOVE_STEP_CWD,
    GLOVE_STEP_CAPS,
    GLOVE_STEP_LANDLOCK,
    GLOVE_STEP_SECCOMP,
    GLOVE_STEP_EXEC,
    GLOVE_STEP_FILE,
    GLOVE_STEP_CRATE,
    GLOVE_STEP_FRESH, /* something was left behind */
    GLOVE_STEP_EGRESS,
};

/* Who may send this type, 0 for an unknown one. */
unsigned msg_direction(uint8_t type);

/* Writes a whole frame (head and payload) to bytes; its length, or -EMSGSIZE.  msg points to the
 * struct that belongs to type. */
int msg_encode(uint8_t type, uint32_t channel, uint8_t flags, const void *msg, uint8_t *bytes,
               size_t size);

/* Reads a payload into the struct that belongs to type. */
int msg_decode(uint8_t type, const uint8_t *payload, size_t size, void *ret);

/* One line "NAME field=value …" for people, cut at size; control bytes become '?'. */
void msg_text(uint8_t type, const void *msg, char *text, size_t size);

/* Packs a NULL-terminated vector into bytes; -EMSGSIZE when it does not fit. */
int wire_strs_pack(const char *const *strings, char *bytes, size_t size, struct wire_strs *ret);

/* Iterates: *at starts as NULL; the next string, or NULL behind the last. */
const char *wire_strs_next(const struct wire_strs *strs, const char **at);
