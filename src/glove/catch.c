/* SPDX-License-Identifier: Apache-2.0 */
/* glove/catch.c - a network that leads nowhere but to the glove. */
#include "glove/catch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gen/redirect.h"
#include "glove/catch_ports.h"

/* The first device of every network namespace. */
#define LO_INDEX 1

#define BACKLOG 1024

/* Of questions for names that wait; the kernel gives twice what its own bound allows. */
#define QUESTIONS_SIZE (1 << 20)

/* ---- netlink -------------------------------------------------------------------------------- */

/* Reads answers until n messages were acknowledged; the first that was refused ends it. */
static int await_acks(int fd, unsigned n)
{
    _Alignas(struct nlmsghdr) char bytes[4096];

    while (n > 0) {
        ssize_t len = recv(fd, bytes, sizeof(bytes), 0);
        const struct nlmsghdr *head = (const struct nlmsghdr *)bytes;

        if (len < 0)
            return -errno;
        for (; NLMSG_OK(head, (size_t)len); head = NLMSG_NEXT(head, len)) {
            const struct nlmsgerr *answer = NLMSG_DATA(head);

            if (head->nlmsg_type != NLMSG_ERROR)
                continue;
            if (answer->error != 0)
                return answer->error;
            n -= n > 0;
        }
    }
    return 0;
}

static int tell(int fd, const void *bytes, size_t len, unsigned n_acks)
{
    struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

    if (sendto(fd, bytes, len, 0, (const struct sockaddr *)&kernel, sizeof(kernel)) != (ssize_t)len)
        return errno ? -errno : -EIO;
    return await_acks(fd, n_acks);
}

static int tell_netlink(int protocol, const void *bytes, size_t len, unsigned n_acks)
{
    cleanup_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);

    return fd < 0 ? -errno : tell(fd, bytes, len, n_acks);
}

/* ---- device, address, route ----------------------------------------------------------------- */

static int lo_up(void)
{
    struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
    cleanup_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    return fd < 0 || ioctl(fd, SIOCSIFFLAGS, &ifr) < 0 ? -errno : 0;
}

static int add_address(void)
{
    struct {
        struct nlmsghdr head;
        struct ifaddrmsg body;
        struct rtattr attr;
        struct in_addr address;
    } msg = {
        .head = { .nlmsg_len = sizeof(msg),
                  .nlmsg_type = RTM_NEWADDR,
                  .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL },
        .body = { .ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = LO_INDEX },
        .attr = { .rta_len = RTA_LENGTH(sizeof(struct in_addr)), .rta_type = IFA_LOCAL },
        .address = { .s_addr = inet_addr(CATCH_ADDRESS) },
    };

    return tell_netlink(NETLINK_ROUTE, &msg, sizeof(msg), 1);
}

static int add_route(void)
{
    struct {
        struct nlmsghdr head;
        struct rtmsg body;
        struct rtattr attr;
        uint32_t device;
    } msg = {
        .head = { .nlmsg_len = sizeof(msg),
                  .nlmsg_type = RTM_NEWROUTE,
                  .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL },
        .body = { .rtm_family = AF_INET,
                  .rtm_table = RT_TABLE_MAIN,
                  .rtm_protocol = RTPROT_STATIC,
                  .rtm_scope = RT_SCOPE_LINK,
                  .rtm_type = RTN_UNICAST },
        .attr = { .rta_len = RTA_LENGTH(sizeof(uint32_t)), .rta_type = RTA_OIF },
        .device = LO_INDEX,
    };

    return tell_netlink(NETLINK_ROUTE, &msg, sizeof(msg), 1);
}

static int add_rules(void)
{
    return tell_netlink(NETLINK_NETFILTER, gb_redirect, sizeof(gb_redirect), GB_REDIRECT_ACKS);
}

/* ---- sockets -------------------------------------------------------------------------------- */

static int bind_own(int type, uint16_t port, int *ret)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    cleanup_close int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int size = QUESTIONS_SIZE;

    if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0)
        return -errno;
    if (type == SOCK_DGRAM)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    if (type == SOCK_STREAM && listen(fd, BACKLOG) < 0)
        return -errno;
    *ret = take_fd(&fd);
    return 0;
}

/* The sockets first: a rule that leads to nobody is never in force.  The route last: without it
 * nothing leaves, whatever else is there. */
static int catch_all(struct catch *catch)
{
    int r = bind_own(SOCK_STREAM, CATCH_TCP_PORT, &catch->tcp_fd);

    if (r == 0)
        r = catch->dns_fd < 0 ? -EADDRNOTAVAIL : add_address();
    if (r == 0)
        r = add_rules();
    if (r == 0)
        r = add_route();
    if (r < 0)
        drop_fd(&catch->tcp_fd);
    return r;
}

int catch_set(struct catch *ret)
{
    int r;

    *ret = (struct catch){ .tcp_fd = -1, .dns_fd = -1, .proxy_fd = -1 };
    (void)lo_up(); /* where it is up already, it may be nobody's to do so */
    r = bind_own(SOCK_STREAM, CATCH_PROXY_PORT, &ret->proxy_fd);
    if (r < 0)
        return r;
    /* Names have addresses for programs that look them up before they ask the proxy. */
    (void)bind_own(SOCK_DGRAM, CATCH_DNS_PORT, &ret->dns_fd);
    ret->is_transparent = catch_all(ret) == 0;
    return 0;
}

/* The kernel tells our own port of a connection that no rule turned around. */
int catch_target(int fd, struct sockaddr_in *ret)
{
    socklen_t len = sizeof(*ret);

    if (getsockopt(fd, SOL_IP, SO_ORIGINAL_DST, ret, &len) < 0)
        return -errno;
    if (len != sizeof(*ret) || ret->sin_family != AF_INET)
        return -EPROTO;
    return ntohl(ret->sin_addr.s_addr) >> 24 == 127 ? -ENOENT : 0;
}
