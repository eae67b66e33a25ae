/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/corpus.c - feeds each file of a corpus to a fuzz target once and reports in TAP.
 *
 * usage: fuzz_NAME DIRECTORY...
 *
 * What libFuzzer found stays found: its inputs are kept as seeds, and every build runs them.
 * Each input is handed over in a block of exactly its size, so that a sanitizer sees a read of
 * one byte too many.  An empty or missing directory is a failure, not a pass.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int feed(const char *path)
{
    FILE *file = fopen(path, "rbe");
    if (!file)
        return -1;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    uint8_t *data = size > 0 ? malloc((size_t)size) : NULL;
    int r = -1;
    if (size == 0 || (data && fread(data, (size_t)size, 1, file) == 1)) {
        LLVMFuzzerTestOneInput(data, (size_t)size);
        r = 0;
    }
    free(data);
    fclose(file);
    return r;
}

static int is_seed(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Returns how many inputs failed; *count goes on over directories. */
static int feed_directory(const char *directory, int *count)
{
    struct dirent **entries = NULL;
    int n = scandir(directory, &entries, is_seed, alphasort);
    int failed = n <= 0;
    if (failed)
        printf("not ok %d - %s has seeds\n", ++*count, directory);
    for (int i = 0; i < n; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
        int r = feed(path);
        failed += r != 0;
        printf("%s %d - %s\n", r ? "not ok" : "ok", ++*count, entries[i]->d_name);
        fflush(stdout);
        free(entries[i]);
    }
    free(entries);
    return failed;
}

int main(int argc, char **argv)
{
    int count = 0, failed = argc < 2;
    for (int i = 1; i < argc; i++)
        failed += feed_directory(argv[i], &count);
    printf("1..%d\n", count);
    return failed ? 1 : 0;
}
