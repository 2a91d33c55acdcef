// What both ends of a connection set alike: how a dead link is noticed and what a frame may weigh.
#pragma once

#include <zmq.hpp>

namespace quell {

/// TCP keepalive; nothing lingers after a close. The client adds ZeroMQ's own heartbeats, whose time to live the server
/// keeps. The server sends none: libzmq 4.3.4 aborts (!_io_error) when it is to send one to a peer that hung up while
/// its frames waited for us to read.
inline void set_link_options(zmq::socket_t& socket, std::size_t max_frame_bytes) {
  socket.set(zmq::sockopt::linger, 0);
  constexpr std::size_t curve_overhead_bytes = 64; // ZeroMQ weighs the encrypted frame: 33 bytes more than its content
  socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(max_frame_bytes + curve_overhead_bytes));
  socket.set(zmq::sockopt::handshake_ivl, 10'000);
  socket.set(zmq::sockopt::tcp_keepalive, 1);
  socket.set(zmq::sockopt::tcp_keepalive_idle, 10);
  socket.set(zmq::sockopt::tcp_keepalive_intvl, 5);
  socket.set(zmq::sockopt::tcp_keepalive_cnt, 3);
}

} // namespace quell
