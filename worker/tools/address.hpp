// Decides from which addresses a page may be fetched.
#pragma once

#include <sys/socket.h>

namespace quell::worker::tools {

/// True for addresses of the public internet: not loopback, private, link-local (cloud metadata), shared, multicast,
/// unspecified or reserved, nor any of these inside an IPv6 form (mapped, 6to4, NAT64).
bool is_public(const sockaddr* address);

} // namespace quell::worker::tools
