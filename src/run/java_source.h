/* SPDX-License-Identifier: Apache-2.0 */
/* run/java_source.h - the two names that Java wants to know of a source.
 *
 * A public class must be in a file of its name, and `java` is told which class to start.  Both are
 * found by reading the source as tokens; a source that is not Java gives names that the compiler
 * will refuse, never an error here.
 */
#pragma once

#include <stddef.h>

#define JAVA_NAME_MAX 200

struct java_source {
    char file_class[JAVA_NAME_MAX]; /* after which the file is to be named; "" when there is none */
    char main_class[2 * JAVA_NAME_MAX]; /* to start, with its package; "" when there is none */
};

void java_source_read(const void *code, size_t len, struct java_source *ret);
