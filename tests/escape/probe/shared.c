/* SPDX-License-Identifier: Apache-2.0 */
/* shared.c - files that boxes share read-only (C26), and one box looking for another (C27). */
#include <dirent.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "probe.h"

#define IMMUTABLE EROFS, EACCES, EPERM, EBADF, EINVAL, ENOTSUP, ENOTTY, ETXTBSY, ENOSYS

/* ---- C26 ------------------------------------------------------------------------------------ */

static void try_names(const char *path)
{
    struct timespec times[2] = { { .tv_nsec = UTIME_NOW }, { .tv_nsec = UTIME_NOW } };

    REFUSED(named("open-w:%s", path), open(path, O_WRONLY | O_CLOEXEC), IMMUTABLE);
    REFUSED(named("open-rw:%s", path), open(path, O_RDWR | O_CLOEXEC), IMMUTABLE);
    REFUSED(named("append:%s", path), open(path, O_WRONLY | O_APPEND | O_CLOEXEC), IMMUTABLE);
    REFUSED(named("truncate:%s", path), truncate(path, 0), IMMUTABLE);
    REFUSED(named("chmod:%s", path), chmod(path, 0777), IMMUTABLE);
    REFUSED(named("chown:%s", path), chown(path, getuid(), getgid()), IMMUTABLE);
    REFUSED(named("utimes:%s", path), utimensat(AT_FDCWD, path, times, 0), IMMUTABLE);
    REFUSED(named("xattr:%s", path), setxattr(path, "user.x", "x", 1, 0), IMMUTABLE);
    REFUSED(named("unlink:%s", path), unlink(path), IMMUTABLE);
    REFUSED(named("rename:%s", path), rename(path, named("%s-moved", path)), IMMUTABLE);
    REFUSED(named("rename-out:%s", path), rename(path, "/tmp/moved"), IMMUTABLE, EXDEV);
    REFUSED(named("link:%s", path), link(path, "/tmp/linked"), IMMUTABLE, EXDEV);
}

/* The kernel's own way around a mapping that may only be read: of a private one it makes a copy, of
 * a shared one nothing. */
static void try_memory(const char *path, int fd)
{
    int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    void *shared = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    void *copied = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    char before = 0, after = 0;

    (void)!pread(fd, &before, 1, 0);
    char other = (char)~before;
    REFUSED(named("mem-shared:%s", path), pwrite(mem, &other, 1, (off_t)(uintptr_t)shared), EIO,
            EACCES, EPERM, EBADF);
    (void)!pwrite(mem, &other, 1, (off_t)(uintptr_t)copied);
    bool is_read = pread(fd, &after, 1, 0) == 1;
    verdict(named("mem-private:%s", path), !is_read || after != before, "");
    munmap(shared, 4096);
    munmap(copied, 4096);
    close(mem);
}

static pid_t stopped_child(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        (void)ptrace(PTRACE_TRACEME, 0, 0, 0);
        (void)raise(SIGSTOP);
        _exit(0);
    }
    (void)waitpid(pid, &status, WUNTRACED);
    return pid;
}

/* A debugger writes where its program may only read: the same way, from the outside. */
static void try_poke(const char *path, int fd)
{
    void *shared = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    void *copied = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    pid_t pid = stopped_child();
    long word = ptrace(PTRACE_PEEKDATA, pid, shared, 0), other = ~word, after = other;
    struct iovec here = { &other, sizeof(other) }, there = { shared, sizeof(other) };

    REFUSED(named("poke-shared:%s", path), ptrace(PTRACE_POKEDATA, pid, shared, other), EIO, EFAULT,
            EPERM);
    REFUSED(named("vm-write-shared:%s", path), process_vm_writev(pid, &here, 1, &there, 1, 0),
            EFAULT, EPERM);
    control(named("poke-private:%s", path), ptrace(PTRACE_POKEDATA, pid, copied, other) == 0,
            "a breakpoint");
    bool is_read = pread(fd, &after, sizeof(after), 0) == sizeof(after);
    verdict(named("poked:%s", path), !is_read || after != word, "");
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    munmap(shared, 4096);
    munmap(copied, 4096);
}

/* A page of the page cache, reached from a descriptor that may only read. */
static void try_pages(const char *path)
{
    static char byte = 'x';
    struct iovec vec = { &byte, 1 };
    int pipe_fds[2], flags = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    control(named("read:%s", path), fd >= 0, "");
    if (fd < 0 || pipe(pipe_fds) < 0)
        return;
    void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    verdict(named("mmap-shared:%s", path), map != MAP_FAILED, "");
    map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    REFUSED(named("mprotect:%s", path), mprotect(map, 4096, PROT_READ | PROT_WRITE), IMMUTABLE);
    REFUSED(named("madv-remove:%s", path), madvise(map, 4096, MADV_REMOVE), IMMUTABLE);
    try_memory(path, fd);
    try_poke(path, fd);
    REFUSED(named("write:%s", path), write(fd, &byte, 1), IMMUTABLE);
    REFUSED(named("ftruncate:%s", path), ftruncate(fd, 0), IMMUTABLE);
    REFUSED(named("punch:%s", path),
            fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), IMMUTABLE);
    /* Splicing from the file into a pipe is ordinary; the way back is not. */
    loff_t offset = 0;
    control(named("splice-in:%s", path), splice(fd, &offset, pipe_fds[1], NULL, 1, 0) == 1, "");
    REFUSED(named("splice-out:%s", path), splice(pipe_fds[0], NULL, fd, &offset, 1, 0), IMMUTABLE);
    REFUSED(named("vmsplice:%s", path), syscall(SYS_vmsplice, pipe_fds[1], &vec, 1, 0), ENOSYS,
            EPERM);
    REFUSED(named("setflags:%s", path), ioctl(fd, FS_IOC_SETFLAGS, &flags), IMMUTABLE);
    REFUSED(named("clone-range:%s", path), ioctl(fd, FICLONE, fd), IMMUTABLE);
    REFUSED(named("reopen:%s", path), open(named("/proc/self/fd/%d", fd), O_WRONLY | O_CLOEXEC),
            IMMUTABLE);
    REFUSED(named("lease:%s", path), fcntl(fd, F_SETLEASE, F_RDLCK), EACCES, EPERM);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    close(fd);
}

static void count_writable(const char *path)
{
    if (access(path, W_OK) == 0)
        leak(named("writable:%s", path), "");
}

/* args: files to try */
void row_c26(char **args)
{
    for (; *args; args++) {
        try_names(*args);
        try_pages(*args);
    }
    int direct = open("/usr/bin/env", O_WRONLY | O_DIRECT | O_CLOEXEC);
    REFUSED("o-direct", direct, IMMUTABLE);
    REFUSED("create-usr", open("/usr/planted", O_CREAT | O_WRONLY | O_CLOEXEC, 0600), IMMUTABLE);
    REFUSED("create-etc", open("/etc/planted", O_CREAT | O_WRONLY | O_CLOEXEC, 0600), IMMUTABLE);
    REFUSED("create-root", open("/planted", O_CREAT | O_WRONLY | O_CLOEXEC, 0600), IMMUTABLE);
    REFUSED("mkdir-root", mkdir("/planted", 0700), IMMUTABLE);
    REFUSED("tmpfile-usr", open("/usr/bin", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600), IMMUTABLE);
    REFUSED("ld-preload", open("/etc/ld.so.preload", O_CREAT | O_WRONLY | O_CLOEXEC, 0600),
            IMMUTABLE);
    walk("/etc", S_IFREG, NULL, count_writable);
    walk("/usr/bin", S_IFREG, NULL, count_writable);
    blocked("writable", "/etc and /usr/bin walked");
}

/* ---- C27 ------------------------------------------------------------------------------------ */

#define NEIGHBOUR_KEY  0x6e62
#define NEIGHBOUR_PORT 47801
#define NEIGHBOUR_LOCK "/usr/bin/env"

static int listen_abstract(const char *name)
{
    struct sockaddr_un here = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    size_t size = strlen(name);

    memcpy(here.sun_path + 1, name, size);
    if (bind(fd, (struct sockaddr *)&here,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + 1)) < 0 ||
        listen(fd, 8) < 0)
        return -1;
    return fd;
}

static int listen_tcp(void)
{
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons(NEIGHBOUR_PORT) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    return bind(fd, (struct sockaddr *)&here, sizeof(here)) < 0 || listen(fd, 8) < 0 ? -1 : fd;
}

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    (void)!write(fd, text, strlen(text));
    close(fd);
}

/* A box with secrets of its own, which it reads from its standard input; then waits for the end of
 * it and tells whether anybody came. */
void act_neighbour(char **args)
{
    char token[256] = { 0 };
    ssize_t n = read(0, token, sizeof(token) - 1);

    (void)args;
    token[n > 0 ? n : 0] = '\0';
    token[strcspn(token, "\n")] = '\0';
    write_file("/tmp/neighbour", token);
    write_file("/dev/shm/neighbour", token);
    write_file("/workspace/neighbour", token);
    (void)setenv("NEIGHBOUR", token, 1);
    int shm = shmget(NEIGHBOUR_KEY, 4096, IPC_CREAT | 0666);
    char *memory = shm < 0 ? (void *)-1 : shmat(shm, NULL, 0);
    if (memory != (void *)-1)
        (void)snprintf(memory, 4096, "%s", token);
    int sem = semget(NEIGHBOUR_KEY, 1, IPC_CREAT | 0666);
    int msg = msgget(NEIGHBOUR_KEY, IPC_CREAT | 0666);
    mqd_t queue = mq_open("/neighbour", O_CREAT | O_RDWR, 0666, NULL);
    int abstract = listen_abstract("neighbour"), tcp = listen_tcp();
    int locked = open(NEIGHBOUR_LOCK, O_RDONLY | O_CLOEXEC);
    int is_locked = flock(locked, LOCK_EX | LOCK_NB);

    printf("shm %d sem %d msg %d mq %d abstract %d tcp %d lock %d\nready\n", shm >= 0, sem >= 0,
           msg >= 0, queue != (mqd_t)-1, abstract >= 0, tcp >= 0, is_locked == 0);
    (void)fflush(stdout);
    while ((n = read(0, token, sizeof(token))) > 0)
        ;
    (void)fcntl(abstract, F_SETFL, O_NONBLOCK);
    (void)fcntl(tcp, F_SETFL, O_NONBLOCK);
    int came = (accept(abstract, NULL, NULL) >= 0) + (accept(tcp, NULL, NULL) >= 0);
    printf("visits %d\n", came);
    (void)fflush(stdout);
    _exit(0);
}

static void check_names(const char *folder, const char *bad)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    bool is_seen = false;

    while (dir && (entry = readdir(dir)))
        is_seen = is_seen || strstr(entry->d_name, bad);
    if (dir)
        closedir(dir);
    verdict(named("names:%s", folder), is_seen, dir ? "" : error_name(errno));
}

static long connect_neighbour(bool is_tcp)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "\0neighbour" };
    struct sockaddr_in port = { .sin_family = AF_INET,
                                .sin_port = htons(NEIGHBOUR_PORT),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(is_tcp ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    long rc = is_tcp ? connect(fd, (struct sockaddr *)&port, sizeof(port))
                     : connect(fd, (struct sockaddr *)&name,
                               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 10));
    int error = errno;

    close(fd);
    errno = error;
    return rc;
}

/* Looks for what act_neighbour() of another box has made.  Locks on files of the shared image are a
 * documented channel: told, not judged. */
void row_c27(char **args)
{
    static const char *const folders[] = { "/tmp",     "/dev/shm",    "/run", "/workspace",
                                           "/var/tmp", "/dev/mqueue", "/home" };

    (void)args;
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
        check_names(folders[i], "neighbour");
    REFUSED("shm", shmget(NEIGHBOUR_KEY, 0, 0), ENOENT);
    REFUSED("sem", semget(NEIGHBOUR_KEY, 0, 0), ENOENT);
    REFUSED("msg", msgget(NEIGHBOUR_KEY, 0), ENOENT);
    for (int id = 0; id < 64; id++)
        REFUSED(named("shm-id-%d", id), (long)shmat(id, NULL, SHM_RDONLY), EINVAL, EIDRM);
    REFUSED("mq", mq_open("/neighbour", O_RDONLY), ENOENT, EACCES);
    REFUSED("abstract", connect_neighbour(false), ECONNREFUSED, EPERM);
    REFUSED("tcp", connect_neighbour(true), ECONNREFUSED);
    char text[65536];
    for (int pid = 2; pid < 2000; pid++)
        if (pid != getpid() && slurp(named("/proc/%d/cmdline", pid), text, sizeof(text)) > 0 &&
            memmem(text, sizeof(text), "neighbour", 9))
            leak(named("process-%d", pid), text);
    int fd = open(NEIGHBOUR_LOCK, O_RDONLY | O_CLOEXEC);
    long rc = flock(fd, LOCK_EX | LOCK_NB);
    info("flock-on-shared-file", rc < 0 ? error_name(errno) : "ok");
    REFUSED("lease-on-shared-file", fcntl(fd, F_SETLEASE, F_RDLCK), EACCES, EPERM);
    close(fd);
}
