// Options that both ends of a connection share: detection of a dead link, and the size limit of a frame.
#pragma once

#include <zmq.hpp>

namespace quell {

/// TCP keepalive; nothing lingers after a close unless the end says so. The client adds ZeroMQ's own heartbeats; their
/// TTL is enforced by the server. The server sends no heartbeats: libzmq 4.3.4 aborts (!_io_error) if it must send one
/// to a peer that hung up while its frames waited for us to read them.
inline void set_link_options(zmq::socket_t& socket, std::size_t max_frame_bytes) {
  socket.set(zmq::sockopt::linger, 0);
  constexpr std::size_t curve_overhead_bytes = 64; // ZeroMQ counts the encrypted frame: 33 bytes more
  socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(max_frame_bytes + curve_overhead_bytes));
  socket.set(zmq::sockopt::handshake_ivl, 10'000);
  socket.set(zmq::sockopt::tcp_keepalive, 1);
  socket.set(zmq::sockopt::tcp_keepalive_idle, 10);
  socket.set(zmq::sockopt::tcp_keepalive_intvl, 5);
  socket.set(zmq::sockopt::tcp_keepalive_cnt, 3);
}

} // namespace quell
