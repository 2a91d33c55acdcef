// Handles libzmq's monitor events one by one.
#include "protocol/socket_monitor.hpp"

#include <cstring>

namespace quell {

namespace {
constexpr int watched_events = ZMQ_EVENT_CONNECTED | ZMQ_EVENT_CLOSED | ZMQ_EVENT_CONNECT_RETRIED |
                               ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
                               ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                               ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
} // namespace

connection_monitor::connection_monitor(zmq::context_t& context, zmq::socket_t& watched, const std::string& name,
                                       std::string address, std::string own_key, connection_state before)
    : pair_(context, zmq::socket_type::pair), address_(std::move(address)), own_key_(std::move(own_key)),
      state_(std::move(before)) {
  state_.connected = false;
  state_.abandoned = false;
  const std::string place = "inproc://" + name;
  if (zmq_socket_monitor(watched.handle(), place.c_str(), watched_events) != 0) throw zmq::error_t();
  pair_.set(zmq::sockopt::linger, 0);
  pair_.set(zmq::sockopt::rcvhwm, 0); // libzmq's I/O thread would block on a full queue
  pair_.connect(place);
}

void connection_monitor::update() {
  for (;;) {
    zmq::message_t event, place;
    if (zmq_msg_recv(event.handle(), pair_.handle(), ZMQ_DONTWAIT) < 0) return;
    if (event.more()) (void)zmq_msg_recv(place.handle(), pair_.handle(), 0);
    if (event.size() < 6) continue;
    std::uint16_t what = 0;
    std::uint32_t value = 0;
    std::memcpy(&what, event.data(), sizeof what);
    std::memcpy(&value, event.data<char>() + sizeof what, sizeof value);
    take(what, value);
  }
}

void connection_monitor::take(std::uint16_t event, std::uint32_t value) {
  switch (event) {
  case ZMQ_EVENT_CONNECTED: // TCP only: a wrong key is discovered after it
    refused_ = false;
    state_.abandoned = false;
    break;
  case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
    state_.connected = true;
    state_.refused = false;
    ++state_.connections;
    state_.trouble.reset();
    break;
  case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
    refused_ = true;
    state_.refused = state_.abandoned = true;
    state_.trouble =
        "the controller at " + address_ + " refuses our key " + own_key_ + " (status " + std::to_string(value) +
        "): it is not enrolled there; run `quell worker add NAME --key KEY` with this key on the controller";
    break;
  case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
  case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
    refused_ = true;
    state_.refused = state_.abandoned = true;
    state_.trouble = "the handshake with " + address_ +
                     " failed: either the controller's public key that we hold is not the one of the controller there, "
                     "or that port is no "
                     "quell control port; compare both with what `quell worker add` printed";
    break;
  case ZMQ_EVENT_DISCONNECTED:
    if (state_.connected)
      state_.trouble = "the connection to the controller at " + address_ + " was lost; trying again";
    else
      state_.refused = true;
    if (!state_.connected && !refused_)
      state_.trouble = "the controller at " + address_ + " closed the connection during the handshake; trying again";
    state_.connected = false;
    state_.abandoned = true;
    break;
  case ZMQ_EVENT_CONNECT_RETRIED: // also sent for the first retry after a loss, which has not failed yet
    state_.abandoned = false;
    if (state_.trouble) break;
    [[fallthrough]];
  case ZMQ_EVENT_CLOSED:
    if (!refused_)
      state_.trouble =
          "nobody answers at " + address_ + ": is quelld running there, and is the way to it open?; trying again";
    break;
  default:
    break;
  }
}

} // namespace quell
