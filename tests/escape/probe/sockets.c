/* SPDX-License-Identifier: Apache-2.0 */
/* sockets.c - families (C14), listeners of the host (C18), the network (N01). */
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"

#define FAMILIES 64

static const char *rc_text(long rc)
{
    return rc < 0 ? error_name(errno) : "ok";
}

static void tell_socket(const char *variant, long fd)
{
    info(variant, rc_text(fd));
    if (fd >= 0)
        close((int)fd);
}

static void tell_pair(int family, int type)
{
    int pair[2] = { -1, -1 };
    long rc = socketpair(family, type, 0, pair);

    info(named("pair-%d-%d", family, type), rc_text(rc));
    if (rc == 0) {
        close(pair[0]);
        close(pair[1]);
    }
}

void row_c14(char **args)
{
    static const int types[] = { SOCK_STREAM,    SOCK_DGRAM, SOCK_RAW,   SOCK_RDM,
                                 SOCK_SEQPACKET, SOCK_DCCP,  SOCK_PACKET };
    static const int protocols[] = { IPPROTO_SCTP,  262 /* MPTCP */, 33 /* DCCP */, 115 /* L2TP */,
                                     256 /* SMC */, IPPROTO_UDPLITE, IPPROTO_ICMP };

    (void)args;
    for (int family = 0; family < FAMILIES; family++) {
        for (size_t i = 0; i < ARRAY_SIZE(types); i++)
            tell_socket(named("socket-%d-%d", family, types[i]), socket(family, types[i], 0));
        tell_pair(family, SOCK_STREAM);
        tell_pair(family, SOCK_DGRAM);
    }
    for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
        for (int type = SOCK_STREAM; type <= SOCK_RAW; type++) {
            tell_socket(named("inet-%d-proto-%d", type, protocols[i]),
                        socket(AF_INET, type, protocols[i]));
            tell_socket(named("inet6-%d-proto-%d", type, protocols[i]),
                        socket(AF_INET6, type, protocols[i]));
        }
    }
    for (int protocol = 0; protocol <= 22; protocol++)
        tell_socket(named("netlink-%d", protocol), socket(AF_NETLINK, SOCK_RAW, protocol));
    /* The kernel takes the family as an int: bits above the 32nd are nothing to it. */
    static const long families[] = { 40, 38, 17, 16 };
    for (size_t i = 0; i < ARRAY_SIZE(families); i++)
        tell_socket(named("high-%ld", families[i]),
                    syscall(SYS_socket, (1L << 32) | families[i], (long)SOCK_RAW, 12L));
    tell_socket("cloexec-vsock", socket(40, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/* ---- C18 ------------------------------------------------------------------------------------ */

static long connect_unix(const char *name, bool is_abstract, int type)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    size_t size = strnlen(name, sizeof(to.sun_path) - 2);
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    memcpy(to.sun_path + is_abstract, name, size);
    long rc = connect(fd, (struct sockaddr *)&to,
                      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + 1));
    int error = errno;
    close(fd);
    errno = error;
    return rc;
}

static void try_path_socket(const char *path)
{
    REFUSED(named("found:%s", path), connect_unix(path, false, SOCK_STREAM), NO_FILE, ECONNREFUSED,
            EPROTOTYPE);
}

static bool is_vast(const char *path)
{
    return !strcmp(path, "/usr") || !strcmp(path, "/proc") || !strcmp(path, "/sys");
}

/* args: abstract name, path of a listener of the host, then abstract names of other boxes */
void row_c18(char **args)
{
    static const char *const famous[] = {
        "/var/run/docker.sock",
        "/run/docker.sock",
        "/run/podman/podman.sock",
        "/run/containerd/containerd.sock",
        "/run/systemd/private",
        "/run/systemd/notify",
        "/run/dbus/system_bus_socket",
        "/run/user/0/bus",
        "/run/user/1000/bus",
        "/tmp/.X11-unix/X0",
        "/run/postgresql/.s.PGSQL.5432",
        "/var/run/nscd/socket",
        "/run/systemd/journal/socket",
        "/dev/log",
    };

    for (unsigned i = 0; args[i]; i++) {
        if (args[i][0] == '/') {
            REFUSED("path", connect_unix(args[i], false, SOCK_STREAM), NO_FILE, ECONNREFUSED);
            continue;
        }
        REFUSED(named("abstract-%u", i), connect_unix(args[i], true, SOCK_STREAM), ECONNREFUSED,
                EPERM);
        REFUSED(named("abstract-%u-dgram", i),
                connect_unix(named("%s-dgram", args[i]), true, SOCK_DGRAM), ECONNREFUSED, EPERM);
    }
    for (size_t i = 0; i < ARRAY_SIZE(famous); i++)
        REFUSED(named("famous:%s", famous[i]), connect_unix(famous[i], false, SOCK_STREAM), NO_FILE,
                ECONNREFUSED);
    const char *agent = getenv("SSH_AUTH_SOCK");
    verdict("ssh-agent", agent != NULL, agent ? agent : "");
    walk("/", S_IFSOCK, is_vast, try_path_socket);
}

/* ---- N01 ------------------------------------------------------------------------------------ */

static double now_ms(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/* An address with the port in it; the size of it. */
static socklen_t address_of(const char *host, unsigned port, struct sockaddr_storage *to)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)to;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)to;

    memset(to, 0, sizeof(*to));
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        return sizeof(*v4);
    }
    (void)inet_pton(AF_INET6, host, &v6->sin6_addr);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons((uint16_t)port);
    return sizeof(*v6);
}

static void try_address(const char *host, unsigned port, int type, double slow_ms)
{
    struct sockaddr_storage to;
    socklen_t size = address_of(host, port, &to);
    int fd = socket(to.ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const char *what = named("%s:%s:%u", type == SOCK_STREAM ? "tcp" : "udp", host, port);
    double start = now_ms();
    long rc = connect(fd, (struct sockaddr *)&to, size);
    int error = errno;

    if (rc < 0 && error == EINPROGRESS) {
        struct pollfd poll_fd = { fd, POLLOUT, 0 };
        socklen_t len = sizeof(error);

        (void)poll(&poll_fd, 1, (int)slow_ms);
        (void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
        rc = poll_fd.revents && !error ? 0 : -1;
        error = poll_fd.revents ? error : ETIMEDOUT;
    } else if (rc == 0 && type == SOCK_DGRAM) {
        /* A datagram to the box's own loopback is answered by ICMP, which the next call tells. */
        (void)send(fd, "x", 1, 0);
        rc = send(fd, "x", 1, 0) < 0 ? -1 : 0;
        error = errno;
    }
    double took = now_ms() - start;
    close(fd);
    verdict(what, rc == 0 || took >= slow_ms,
            named("%s after %.0f ms", rc == 0 ? "reached" : error_name(error), took));
}

static void check_interfaces(void)
{
    struct if_nameindex *list = if_nameindex();

    for (struct if_nameindex *one = list; one && one->if_index; one++)
        verdict(named("interface-%s", one->if_name), strcmp(one->if_name, "lo") != 0, "");
    if_freenameindex(list);
    char text[4096];
    long n = slurp("/proc/net/route", text, sizeof(text));
    verdict("routes", n > 0 && strchr(text, '\n') && strchr(text, '\n')[1], "");
}

static void check_loopback(void)
{
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(here);
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool works = bind(server, (struct sockaddr *)&here, size) == 0 && listen(server, 1) == 0 &&
                 getsockname(server, (struct sockaddr *)&here, &size) == 0 &&
                 connect(client, (struct sockaddr *)&here, size) == 0;

    control("own-loopback", works, "");
    close(client);
    close(server);
}

/* args: milliseconds after which an answer is too slow, then host=port pairs as host/port */
void row_n01(char **args)
{
    static const char *const outside[] = {
        "8.8.8.8",
        "1.1.1.1",
        "169.254.169.254",
        "10.0.0.1",
        "172.17.0.1",
        "192.168.0.1",
        "192.168.1.1",
        "100.100.100.200",
        "255.255.255.255",
        "224.0.0.1",
        "fd00:ec2::254",
        "fe80::1",
        "2001:4860:4860::8888",
        "ff02::1",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
    };
    double slow_ms = args[0] ? strtod(args[0], NULL) : 1000;

    check_interfaces();
    for (size_t i = 0; i < ARRAY_SIZE(outside); i++) {
        try_address(outside[i], 53, SOCK_STREAM, slow_ms);
        try_address(outside[i], 53, SOCK_DGRAM, slow_ms);
    }
    for (char **pair = args[0] ? args + 1 : args; *pair; pair++) {
        char *slash = strrchr(*pair, '/');
        unsigned port = slash ? (unsigned)strtoul(slash + 1, NULL, 10) : 0;

        if (!slash)
            continue;
        *slash = '\0';
        try_address(*pair, port, SOCK_STREAM, slow_ms);
        try_address(*pair, port, SOCK_DGRAM, slow_ms);
    }
    check_loopback();
    REFUSED("raw-icmp", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP), EPERM);
    REFUSED("raw-ip", socket(AF_INET, SOCK_RAW, IPPROTO_RAW), EPERM);
    REFUSED("packet", socket(AF_PACKET, SOCK_RAW, htons(3)), EAFNOSUPPORT, EPERM);
    REFUSED("packet-inet", socket(AF_INET, SOCK_PACKET, htons(3)), EPERM, EAFNOSUPPORT,
            ESOCKTNOSUPPORT, EINVAL);
    REFUSED("bluetooth", socket(31, SOCK_RAW, 1), EAFNOSUPPORT, EPERM);
    REFUSED("vsock", socket(40, SOCK_STREAM, 0), EAFNOSUPPORT, EPERM);
}
