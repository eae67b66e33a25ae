/* SPDX-License-Identifier: Apache-2.0 */
/* base/host_name.c - names of hosts: the one reading that there is. */
#include "base/host_name.h"

/* Of ASCII, whatever the locale is. */
char host_name_byte(char byte)
{
    if (byte >= 'A' && byte <= 'Z')
        return (char)(byte - 'A' + 'a');
    if ((byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '-' || byte == '_')
        return byte;
    return '\0';
}

bool host_name_clean(const char *name, size_t len, char ret[static HOST_NAME_LEN_MAX + 1])
{
    size_t label = 0;

    if (len > 0 && name[len - 1] == '.')
        len--;
    if (len == 0 || len > HOST_NAME_LEN_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        bool is_dot = name[i] == '.';

        ret[i] = name[i];
        if (!is_dot)
            ret[i] = host_name_byte(name[i]);
        if (is_dot ? label == 0 : !ret[i] || label == HOST_NAME_LABEL_MAX)
            return false;
        label = is_dot ? 0 : label + 1;
    }
    ret[len] = '\0';
    return label > 0;
}
