/* SPDX-License-Identifier: Apache-2.0 */
/* glove/catch_ports.h - where caught connections arrive; for the rules (tools/redirect.c) too. */
#pragma once

/* The box's own address; all others lie behind it. */
#define CATCH_ADDRESS "198.19.255.255"

/* Below 1024, so that they are no port of the program's own servers. */
#define CATCH_TCP_PORT 2
#define CATCH_DNS_PORT 53

/* Where programs find a proxy that ask for one; the port that proxies usually have. */
#define CATCH_PROXY_PORT      3128
#define CATCH_PROXY_AUTHORITY "127.0.0.1:3128"
