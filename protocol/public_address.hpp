// Decides which addresses a request that others choose may go to.
#pragma once

#include <sys/socket.h>

namespace quell {

/// True for addresses of the public internet: not loopback, private, link-local (cloud metadata), shared, multicast,
/// unspecified or reserved, nor any of these inside an IPv6 form (mapped, 6to4, NAT64).
bool is_public_address(const sockaddr* address);

} // namespace quell
