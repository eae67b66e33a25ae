/* SPDX-License-Identifier: Apache-2.0 */
/* box/docker/masks.c - what of /proc and /sys no run sees. */
#include <stdio.h>

#include "base/cleanup.h"
#include "box/docker/docker.h"

/* What a run has no business with: secrets and figures of the machine, its devices and modules.  In
 * place of the engine's own list, which newer ones make longer: theirs is in it but for the
 * processors' counters of heat.  Whole directories where runs need none of it; of /sys/devices they
 * need the processors, of /sys/fs the groups. */
static const char *const masked[] = {
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
    "/sys/devices/LNXSYSTM:00",
    "/sys/devices/platform",
    "/sys/devices/pnp0",
    "/sys/devices/virtual",
    "/sys/firmware",
    "/sys/hypervisor",
    "/sys/kernel",
    "/sys/module",
    "/sys/power",
};

/* Where the devices of a machine hang: a root for each bus that a socket or bridge begins with, of
 * the first domain, and the first of some more domains.  Those that are not there cost nothing. */
#define PCI_BUSES   256
#define PCI_DOMAINS 16

_Static_assert(PCI_BUSES + PCI_DOMAINS - 1 <= DOCKER_PCI_ROOTS, "room for every root");
_Static_assert(N_ELEMENTS(masked) + DOCKER_PCI_ROOTS < DOCKER_MASKS_MAX, "room for every path");

void docker_masks_fill(struct docker_masks *ret)
{
    size_t n = 0;

    *ret = (struct docker_masks){ 0 };
    for (unsigned bus = 0; bus < PCI_BUSES; bus++)
        (void)snprintf(ret->roots[n++], DOCKER_PCI_ROOT_SIZE, "/sys/devices/pci0000:%02x",
                       bus & 0xff);
    for (unsigned domain = 1; domain < PCI_DOMAINS; domain++)
        (void)snprintf(ret->roots[n++], DOCKER_PCI_ROOT_SIZE, "/sys/devices/pci%04x:00",
                       domain & 0xffff);
    for (size_t i = 0; i < N_ELEMENTS(masked); i++)
        ret->paths[i] = masked[i];
    for (size_t i = 0; i < n; i++)
        ret->paths[N_ELEMENTS(masked) + i] = ret->roots[i];
}
