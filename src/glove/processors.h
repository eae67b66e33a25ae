/* SPDX-License-Identifier: Apache-2.0 */
/* glove/processors.h - how many processors programs of a container are shown. */
#pragma once

/* Where the kernel has its devices; an empty file system of the glove's own in a container. */
#define PROCESSORS_DEVICES "/sys/devices"

/* Makes system/cpu/online and possible below a directory; list: "0-3", as the kernel writes it.  0
 * or a negative errno. */
int processors_show(const char *devices, const char *list);
