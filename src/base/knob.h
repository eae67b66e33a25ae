/* SPDX-License-Identifier: Apache-2.0 */
/* base/knob.h - settings of the kernel that are files: written as "FILE=VALUE". */
#pragma once

/* Writes the value to that file of the directory; -EINVAL for a text without '='. */
int knob_write(int dir_fd, const char *knob);
