/* SPDX-License-Identifier: Apache-2.0 */
/* box/docker/masks.c - what of /proc and /sys no run sees. */
#include <stddef.h>

#include "box/docker/docker.h"

/* What a run has no business with: secrets and figures of the machine, its devices and modules.  In
 * place of the engine's own list, which newer ones make longer: theirs is in it.  Whole directories
 * where runs need none of it; of /sys/fs they need the groups, and instead of /sys/devices they
 * have a place (box/docker/places.c) in which there is nothing but the number of processors. */
const char *const docker_masks[] = {
    "/proc/acpi",
    "/proc/asound",
    "/proc/buddyinfo",
    "/proc/bus",
    "/proc/cmdline",
    "/proc/config.gz",
    "/proc/crypto",
    "/proc/diskstats",
    "/proc/driver",
    "/proc/fs",
    "/proc/interrupts",
    "/proc/iomem",
    "/proc/ioports",
    "/proc/irq",
    "/proc/kallsyms",
    "/proc/kcore",
    "/proc/key-users",
    "/proc/keys",
    "/proc/kmsg",
    "/proc/kpagecgroup",
    "/proc/kpagecount",
    "/proc/kpageflags",
    "/proc/latency_stats",
    "/proc/locks",
    "/proc/modules",
    "/proc/pagetypeinfo",
    "/proc/partitions",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/slabinfo",
    "/proc/softirqs",
    "/proc/sysrq-trigger",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/tty",
    "/proc/vmallocinfo",
    "/proc/zoneinfo",
    "/sys/block",
    "/sys/bus",
    "/sys/class",
    "/sys/dev",
    "/sys/firmware",
    "/sys/hypervisor",
    "/sys/kernel",
    "/sys/module",
    "/sys/power",
    NULL,
};
