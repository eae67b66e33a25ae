/* SPDX-License-Identifier: Apache-2.0 */
/* lingering.c - programs that want to outlive their run (C23) or that are hard to kill (C24).
 *
 * Each prints "ready" when it is in the state that its name says.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

static void ignore_all(void)
{
    for (int signo = 1; signo <= 64; signo++)
        (void)signal(signo, SIG_IGN);
}

static _Noreturn void wait_forever(void)
{
    for (;;)
        (void)pause();
}

static void ready(void)
{
    (void)!write(1, "ready\n", 6);
}

static _Noreturn void be_daemon(void)
{
    (void)setsid();
    if (fork() != 0)
        _exit(0);
    ignore_all();
    (void)close_range(0, ~0U, 0);
    wait_forever();
}

/* args: how many; then, if given, "stay": do not end either */
void act_daemons(char **args)
{
    long n = args[0] ? strtol(args[0], NULL, 10) : 50;

    for (long i = 0; i < n; i++) {
        pid_t pid = fork();

        if (pid == 0)
            be_daemon();
        if (pid > 0)
            (void)waitpid(pid, NULL, 0);
    }
    ready();
    if (args[0] && args[1]) {
        ignore_all();
        wait_forever();
    }
    _exit(0);
}

void act_stopped(char **args)
{
    (void)args;
    for (int i = 0; i < 20; i++) {
        if (fork() == 0) {
            raise(SIGSTOP);
            wait_forever();
        }
    }
    ready();
    raise(SIGSTOP);
    wait_forever();
}

static pid_t start_tracee(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        (void)ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        wait_forever();
    }
    (void)waitpid(pid, &status, WUNTRACED);
    return pid;
}

/* Children in ptrace-stop, their tracer stopped and deaf. */
void act_traced(char **args)
{
    (void)args;
    for (int i = 0; i < 20; i++)
        (void)start_tracee();
    ignore_all();
    ready();
    raise(SIGSTOP);
    wait_forever();
}

/* The parent, which is the glove when this is a run's main program, becomes the tracer. */
void act_traceme(char **args)
{
    (void)args;
    ignore_all();
    (void)ptrace(PTRACE_TRACEME, 0, 0, 0);
    ready();
    raise(SIGSTOP);
    raise(SIGTRAP);
    wait_forever();
}

/* The same, and then another program: its exec is a stop too.  It ends with 1. */
void act_traceme_exec(char **args)
{
    (void)args;
    (void)ptrace(PTRACE_TRACEME, 0, 0, 0);
    ready();
    (void)execl("/usr/bin/false", "false", NULL);
    _exit(99);
}

void act_vforked(char **args)
{
    (void)args;
    ignore_all();
    ready();
    for (int depth = 0; depth < 20; depth++) {
        /* The parent waits in the kernel until its child has ended, which it never does. */
        if (vfork() != 0)
            _exit(0);
    }
    wait_forever();
}

void act_storm(char **args)
{
    (void)args;
    ignore_all();
    ready();
    for (;;) {
        (void)fork();
        (void)setsid();
    }
}

static void *sit(void *arg)
{
    wait_forever();
    return arg;
}

void act_threads(char **args)
{
    pthread_attr_t attr;
    pthread_t thread;

    (void)args;
    ignore_all();
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setstacksize(&attr, 65536);
    for (int i = 0; i < 10000 && pthread_create(&thread, &attr, sit, NULL) == 0; i++)
        ;
    ready();
    wait_forever();
}
