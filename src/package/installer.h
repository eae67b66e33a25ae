/* SPDX-License-Identifier: Apache-2.0 */
/* package/installer.h - the programs that install packages in a box, and how each is called. */
#pragma once

#include "package/set.h"

/* Names in the box. */
#define INSTALL_PLACE_DIR    "/tmp"
#define INSTALL_PLACE_NAME   "glovebox-packages"
#define INSTALL_PLACE        "/tmp/glovebox-packages"
#define INSTALL_REQUIREMENTS "requirements.txt"
#define INSTALL_PIP_LOG      "pip.log"

/* Steps: the installer, which knows the index; what tells what it did, which does too; and what
 * comes behind them, which does not. */
struct installer {
    const char *name; /* for people */
    const char *dir;
    const char *report_dir;
    const char *report;
    const char *const *probe; /* ends with 0 where the box has it; NULL: it has to */
    const char *const *install;
    const char *const *guard;  /* options that keep code of packages from being run; behind it */
    const char *const *hashes; /* where a wish has a hash, so must all; NULL: it is so by itself */
    const char *const *tell;   /* writes the report; NULL: the installer does */
    const char *const *finish;
};

extern const struct installer installer_pip;
extern const struct installer installer_uv;
extern const struct installer installer_npm;

/* Those of a kind, the one first that is preferred where the box has it; NULL-terminated. */
const struct installer *const *installers_of(enum package_kind kind);
