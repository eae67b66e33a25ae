/* SPDX-License-Identifier: Apache-2.0 */
/* box/audit.c - what the network of a box decided, for people and for JSON. */
#include "box/audit.h"

#include <stdio.h>
#include <string.h>

#include "box/carry.h"

static bool is_same(const struct audit_entry *entry, const struct carry_note *note)
{
    return strcmp(entry->name, note->name) == 0 && entry->port == note->port &&
           entry->answer == note->answer && entry->error == note->error &&
           entry->has_address == (note->address != NULL) &&
           (!note->address || memcmp(&entry->address, note->address, sizeof(entry->address)) == 0);
}

static void add(struct audit *audit, const struct carry_note *note)
{
    struct audit_entry *entry = &audit->entries[audit->n];

    for (size_t i = 0; i < audit->n; i++) {
        if (is_same(&audit->entries[i], note)) {
            audit->entries[i].count++;
            return;
        }
    }
    if (audit->n == AUDIT_MAX) {
        audit->n_more++;
        return;
    }
    audit->n++;
    *entry = (struct audit_entry){
        .has_address = note->address,
        .port = note->port,
        .answer = note->answer,
        .error = note->error,
        .count = 1,
    };
    (void)snprintf(entry->name, sizeof(entry->name), "%s", note->name);
    if (note->address)
        entry->address = *note->address;
}

void audit_note(void *user, const struct carry_note *note)
{
    struct audit *audit = user;

    if (note->is_end) {
        audit->bytes_sent += note->bytes_sent;
        audit->bytes_received += note->bytes_received;
        /* An end that was decided here is one more decision. */
        if (note->answer == NET_YES)
            return;
    }
    audit->refused += note->answer != NET_YES;
    audit->connections += note->answer == NET_YES && note->error == 0 && note->port != 0;
    add(audit, note);
}

const char *audit_target(const struct audit_entry *entry, char text[static AUDIT_TARGET_MAX])
{
    char address[NET_ADDRESS_TEXT_MAX] = "";
    char port[8] = "";

    if (entry->has_address)
        (void)net_address_text(&entry->address, address);
    if (entry->port)
        (void)snprintf(port, sizeof(port), ":%u", entry->port);
    if (!entry->name[0])
        (void)snprintf(text, AUDIT_TARGET_MAX, "%s%s", address, port);
    else
        (void)snprintf(text, AUDIT_TARGET_MAX, "%s%s%s%s%s", entry->name, port,
                       *address ? " (" : "", address, *address ? ")" : "");
    return text;
}
