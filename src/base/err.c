/* SPDX-License-Identifier: Apache-2.0 */
/* base/err.c - filling and wrapping a gb_err without allocating. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int gb_fail(struct gb_err *err, int code, enum gb_blame blame, const char *fmt, ...)
{
    va_list ap;

    if (!err)
        return code;
    err->code = code;
    err->blame = blame;
    va_start(ap, fmt);
    (void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
    va_end(ap);
    return code;
}

int gb_fail_sys(struct gb_err *err, const char *fmt, ...)
{
    int saved = errno ? errno : EIO;
    size_t used;
    va_list ap;

    if (!err)
        return -saved;
    err->code = -saved;
    err->blame = GB_BLAME_HOST;
    va_start(ap, fmt);
    (void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
    va_end(ap);
    used = strlen(err->msg);
    (void)snprintf(err->msg + used, sizeof(err->msg) - used, ": %s", strerror(saved));
    return -saved;
}

int gb_wrap(struct gb_err *err, int code, const char *fmt, ...)
{
    char context[sizeof(err->msg)];
    size_t cause;
    size_t room;
    size_t len;
    va_list ap;

    if (!err)
        return code;
    va_start(ap, fmt);
    (void)vsnprintf(context, sizeof(context), fmt, ap);
    va_end(ap);
    cause = strlen(err->msg);
    room = sizeof(err->msg) - 1 - cause;
    if (room < 3)
        return code;
    len = strlen(context);
    if (len > room - 2)
        len = room - 2;
    memmove(err->msg + len + 2, err->msg, cause + 1);
    memcpy(err->msg, context, len);
    memcpy(err->msg + len, ": ", 2);
    return code;
}

void gb_add_remedy(struct gb_err *err, const char *remedy)
{
    size_t len = strlen(err->msg);

    if (!strstr(err->msg, GB_REMEDY) && len + strlen(GB_REMEDY) + strlen(remedy) < sizeof(err->msg))
        (void)snprintf(err->msg + len, sizeof(err->msg) - len, "%s%s", GB_REMEDY, remedy);
}

size_t gb_err_len(const struct gb_err *err)
{
    const char *remedy = strstr(err->msg, GB_REMEDY);

    return remedy ? (size_t)(remedy - err->msg) : strlen(err->msg);
}

const char *gb_err_remedy(const struct gb_err *err)
{
    static const struct {
        int code;
        const char *remedy;
    } table[] = {
        { -EMFILE, "raise the limit of open files: ulimit -n 1024" },
        { -ENFILE,
          "this machine has too many open files: raise fs.file-max, or end some programs" },
    };
    const char *remedy = strstr(err->msg, GB_REMEDY);

    if (remedy)
        return remedy + strlen(GB_REMEDY);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (err->blame == GB_BLAME_HOST && err->code == table[i].code)
            return table[i].remedy;
    return NULL;
}
