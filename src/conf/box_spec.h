/* SPDX-License-Identifier: Apache-2.0 */
/* cli/exec_spec.h - the box that the settings ask for. */
#pragma once

#include "box/box.h"

struct settings;

/* Its strings are the settings'. */
struct box_spec exec_spec(const struct settings *settings);
