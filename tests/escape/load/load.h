/* SPDX-License-Identifier: Apache-2.0 */
/* load/load.h - what the acts share.
 *
 * Each act takes until it is refused, prints `refused N REASON`, and stays or fails; some have no
 * end and are killed.  N counts what was taken, in KiB for files and connections.
 */
#pragma once

#include <stddef.h>
#include <sys/resource.h>

#define PAGE  4096
#define MIB   (1 << 20)
#define BLOCK 65536

/* Bytes to write. */
extern char block[BLOCK];

typedef void act_fn(void);

act_fn act_fork, act_bomb, act_vfork, act_threads, act_zombies, act_orphans, act_anon, act_shared,
    act_populate, act_brk, act_huge, act_mlock, act_crowd, act_fall, act_stack, act_stacks,
    act_dentries, act_negative, act_sockets, act_tcp, act_pipes, act_maps, act_tables, act_epolls,
    act_timers, act_signals, act_queues, act_fill, act_fallocate, act_sparse, act_unlinked,
    act_logs, act_places, act_core, act_files, act_folders, act_links, act_hardlinks,
    act_descriptors, act_hops, act_bandwidth;

/* Says where it ended, with errno's reason. */
void refused(long n);

void stay(void) __attribute__((noreturn));
void refused_and_stay(long n) __attribute__((noreturn));

/* Has it for a while, so that the host can look. */
void refused_and_hold(long n) __attribute__((noreturn));
void refused_and_fail(long n) __attribute__((noreturn));

char *map_memory(size_t len, int flags);
void touch(volatile char *memory, size_t len);
void raise_limit(int which, rlim_t value);

/* An open file of that name, with the number in it. */
int make_file(const char *format, long n);

/* Blocks written until the first that did not fit. */
long fill_file(int fd, long most);
