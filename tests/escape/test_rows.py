# SPDX-License-Identifier: Apache-2.0
"""The rows of the attack matrix that the probe can judge by itself, as root and as a user."""
import re

import pytest

import sheet as sheets

JUDGED = ("C01 C02 C04 C05 C07 C09 C10 C11 C13 C15 C17 C18 C19 C20 C21 C22 C26 I01 N01").split()


def test_the_program_ends_well_after_all_that(answers):
    """C22: also after every signal to PID 1 and kill(-1) the glove serves, and says what was."""
    assert answers.result.verdict == "ok", answers.result
    assert answers.result.survivors == 0


@pytest.mark.parametrize("row", JUDGED)
def test_row(answers, row):
    assert not answers.sheet.unfinished(row), f"{row} did not run to its end: {answers.result}"
    assert answers.sheet.of(row, "BLOCKED"), f"{row} tried nothing"
    assert not answers.sheet.faults(row), "\n".join(answers.sheet.faults(row))


def test_C07_settings_of_the_host_are_as_before(answers):
    assert answers.changed_settings == []


def test_C26_shared_files_and_our_program_are_as_before(answers):
    assert answers.changed_files == []


def test_canaries_are_untouched(answers, canaries):
    canaries.check()
    assert canaries.found_in(answers.result.out, answers.result.err) == []


# ---- C14: the matrix of sockets ------------------------------------------------------------------

UNIX, INET, NETLINK, INET6 = 1, 2, 16, 10
SOCK_PACKET = 10


def expected_socket(variant, answer):
    """What the policy says of one socket; None where that is the kernel's business."""
    kind, *numbers = variant.split("-")
    if kind in ("socket", "pair"):
        family, kind_of = map(int, numbers)
        if family == NETLINK and kind_of != SOCK_PACKET:
            return None
        if family in (UNIX, INET, INET6):
            return None if kind == "pair" or kind_of in (1, 2, 5) else "not ok" if kind_of == 3 \
                and family != UNIX else None
        return "EPERM" if kind == "socket" and kind_of == SOCK_PACKET else "EAFNOSUPPORT"
    if kind in ("inet", "inet6"):
        type_of, protocol = int(numbers[0]), int(numbers[2])
        if protocol in (262, 33, 115, 256, 132):
            return "EPROTONOSUPPORT"
        return "not ok" if type_of == 3 else None
    if kind == "netlink":
        return "ok" if numbers == ["0"] else "EAFNOSUPPORT"
    return "EAFNOSUPPORT"


def test_C14_only_the_named_families(answers):
    facts = answers.sheet.facts("C14")
    assert not answers.sheet.unfinished("C14") and len(facts) > 600
    wrong = []
    for variant, answer in facts.items():
        wanted = expected_socket(variant, answer)
        if wanted not in (None, answer) and not (wanted == "not ok" and answer != "ok"):
            wrong.append(f"{variant}: {answer}, policy says {wanted}")
    assert not wrong, "\n".join(wrong)
    for honest in ("socket-1-1", "socket-2-1", "socket-2-2", "socket-10-1", "pair-1-1"):
        assert facts[honest] == "ok"


def test_C14_matrix_is_the_golden_one(answers):
    found = [f"{name} {answer}" for name, answer in sorted(answers.sheet.facts("C14").items())]
    if sheets.is_writing_golden():
        sheets.write_golden("sockets.txt", "C14: each socket that was asked for, and the answer.",
                            found)
    assert found == sheets.golden("sockets.txt")


# ---- C16: every system call ----------------------------------------------------------------------

# From the policy, section 3.1, in its words: these never reach the kernel.
KILLED = ("reboot iopl kexec_load kexec_file_load create_module init_module finit_module "
          "delete_module")
NOT_THERE = (
    "clone3 add_key request_key keyctl io_uring_setup io_uring_enter io_uring_register memfd_secret "
    "vmsplice modify_ldt lookup_dcookie mbind set_mempolicy get_mempolicy move_pages migrate_pages "
    "set_mempolicy_home_node landlock_create_ruleset landlock_add_rule landlock_restrict_self "
    "cachestat lsm_get_self_attr lsm_set_self_attr lsm_list_modules statmount listmount")
DENIED = (
    "unshare setns mount umount2 pivot_root chroot fsopen fsconfig fsmount fspick open_tree "
    "open_tree_attr move_mount mount_setattr swapon swapoff quotactl quotactl_fd acct syslog "
    "settimeofday clock_settime sethostname setdomainname vhangup nfsservctl uselib sysfs _sysctl "
    "ustat ioperm bpf perf_event_open userfaultfd fanotify_init fanotify_mark name_to_handle_at "
    "open_by_handle_at kcmp process_madvise process_mrelease pidfd_getfd io_setup io_destroy "
    "io_submit io_cancel io_getevents io_pgetevents sched_setattr")


def call_numbers():
    """name -> number: the compiler's, and those that are younger than its headers."""
    found = {"cachestat": 451, "statmount": 457, "listmount": 458, "lsm_get_self_attr": 459,
             "lsm_set_self_attr": 460, "lsm_list_modules": 461, "open_tree_attr": 467}
    with open("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", encoding="ascii") as header:
        for line in header:
            match = re.match(r"#define __NR_(\w+) (\d+)", line)
            if match:
                found[match[1]] = int(match[2])
    return found


@pytest.mark.parametrize("calls, wanted", [(KILLED, "SIGSYS"), (NOT_THERE, "ENOSYS"),
                                           (DENIED, "EPERM")], ids=["killed", "absent", "denied"])
def test_C16_denied_calls_do_not_reach_the_kernel(answers, calls, wanted):
    facts, numbers = answers.sheet.facts("C16"), call_numbers()
    wrong = []
    for name in calls.split():
        answer = facts.get(f"nr-{numbers[name]}")
        if answer != wanted:
            wrong.append(f"{name} ({numbers[name]}): {answer}")
    assert not wrong, "\n".join(wrong)


def test_C16_numbers_without_a_call_are_absent(answers):
    facts = answers.sheet.facts("C16")
    # 335 and 336, uretprobe and uprobe, are let through by the kernel before any filter is asked;
    # called by a program they do nothing but fail.
    wrong = [f"{nr}: {facts.get(f'nr-{nr}')}" for nr in [*range(337, 424), *range(471, 601)]
             if facts.get(f"nr-{nr}") != "ENOSYS"]
    assert not wrong, "\n".join(wrong)
    assert facts["nr-335"] in ("SIGILL", "ENOSYS") and facts["nr-336"] in ("ENXIO", "ENOSYS")


def test_C16_table_is_the_golden_one(answers):
    names = {number: name for name, number in call_numbers().items()}
    found = []
    for variant, answer in answers.sheet.facts("C16").items():
        number = int(variant[3:])
        found.append(f"{number} {names.get(number, '-')} {answer}")
    assert len(found) == 599
    if sheets.is_writing_golden():
        sheets.write_golden("calls.txt", "C16: number, name and answer of every system call, asked "
                            "with -1 in all arguments.", found)
    assert found == sheets.golden("calls.txt")


# ---- I01, I02 ------------------------------------------------------------------------------------

def test_I01_environment_is_the_golden_one(answers):
    found = sorted(line.detail for line in answers.sheet.of("I01", "INFO"))
    if sheets.is_writing_golden():
        sheets.write_golden("environment.txt", "I01: the variables that a program finds.", found)
    assert found == sheets.golden("environment.txt")


# Whatever else changes, these stay shut.
SHUT = re.compile(
    r"/(kcore|keys|key-users|timer_list|sched_debug|kallsyms|kmsg|config\.gz|cmdline|interrupts|"
    r"diskstats|kpage\w+|softirqs|partitions|iomem|ioports|vmallocinfo|slabinfo|pagetypeinfo|"
    r"zoneinfo|modules)$|/(acpi|scsi|bus|irq|asound|firmware|dmi|block|thermal|class|kernel/debug|"
    r"tracing|security|driver)/")


def test_I02_readable_names_are_the_golden_ones(answers):
    found = sorted({line.detail for line in answers.sheet.of("I02", "INFO")
                    if line.variant == "readable"})
    assert not answers.sheet.unfinished("I02") and found
    if sheets.is_writing_golden():
        sheets.write_golden("readable.txt", "I02: files of /proc and /sys, outside of a process's "
                            "own, that can be read; numbers squashed to #.", found)
    new = sorted(set(found) - set(sheets.golden("readable.txt")))
    assert not new, "readable and not expected:\n" + "\n".join(new)


def test_I02_shut_files_are_shut(answers):
    found = {line.detail for line in answers.sheet.of("I02", "INFO")}
    bad = sorted(name for name in found if SHUT.search(name))
    assert not bad, "readable:\n" + "\n".join(bad)
