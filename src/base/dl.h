/* SPDX-License-Identifier: Apache-2.0 */
/* base/dl.h - libraries that are opened on first use.
 *
 * Linking curl, SQLite and the like costs every start milliseconds before main(); most commands
 * need none of them.  The one file that owns a library has a struct of function pointers and a
 * table of their names:
 *
 *    static struct { int (*open)(const char *, void **); } fn;
 *    static const struct dl_symbol symbols[] = { DL_SYMBOL(fn.open, "sqlite3_open"), { 0 } };
 *    static struct dl library = { "libsqlite3.so.0", "libsqlite3-0", symbols };
 *
 * and calls dl_open() before it uses them.  Thread-safe; never closed.
 */
#pragma once

#include <pthread.h>

struct gb_err;

struct dl_symbol {
    void *target;     /* where the pointer goes */
    const char *name; /* NULL ends the table */
};

/* The address of a function pointer, as the loader fills it (POSIX gives a void *). */
#define DL_SYMBOL(pointer, symbol) \
    {                              \
        &(pointer), (symbol)       \
    }

struct dl {
    const char *file;    /* "libcurl.so.4" */
    const char *package; /* for the error: what to install */
    const struct dl_symbol *symbols;
    pthread_mutex_t lock;
    void *handle;
};

#define DL_INIT(library_file, debian_package, table)                             \
    {                                                                            \
        .file = (library_file), .package = (debian_package), .symbols = (table), \
        .lock = PTHREAD_MUTEX_INITIALIZER,                                       \
    }

/* 0 when all symbols are there.  The error names library and package. */
int dl_open(struct dl *library, struct gb_err *err);
