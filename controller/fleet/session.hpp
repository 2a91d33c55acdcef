// One session of one worker: an accepted hello, its connection, and the two halves of its ordered channel. Decides
// nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "protocol/channel.hpp"
#include "protocol/messages.hpp"

namespace quell::controller {

struct session {
  session_id id;
  std::string route; ///< the connection that it began on; frames from another connection are not part of this session
  wire::hello greeting;  ///< the hello without its inventory and results
  wire::welcome welcome; ///< frame 1, kept so that a repeated hello gets exactly the same answer
  channel_sender sender;
  channel_receiver receiver;

  /// The news in an acknowledgement.
  struct news {
    bool sane = true;                 ///< false: it acknowledges a frame that was never sent
    bool welcome_taken = false;       ///< now, for the first time
    std::vector<std::uint64_t> stops; ///< seqs of the stops applied now, each once, in order
    bool starts_taken = false;
  };

  /// Numbers `body` and keeps it until it is acknowledged.
  std::uint64_t push(wire::message body, boot_time now) {
    if (!outstanding()) progress_at = now; // set again when the frame leaves, if the owner reports that
    const auto* stop = std::get_if<wire::stop>(&body);
    const bool is_start = std::holds_alternative<wire::start>(body);
    const std::uint64_t seq = stop ? stop->seq : 0;
    const bool is_stop = stop != nullptr;
    const std::uint64_t number = sender.push(std::move(body), now);
    if (is_stop) stops.emplace_back(number, seq);
    if (is_start) starts.push_back(number);
    return number;
  }

  news acknowledged(std::uint64_t number, boot_time now) {
    const std::uint64_t before = sender.last_acknowledged();
    news n;
    n.sane = sender.acknowledged(number, now);
    if (!n.sane || number <= before) return n;
    progress_at = now;
    n.welcome_taken = before == 0;
    for (; !stops.empty() && stops.front().first <= number; stops.pop_front()) n.stops.push_back(stops.front().second);
    for (; !starts.empty() && starts.front() <= number; starts.pop_front()) n.starts_taken = true;
    return n;
  }

  /// Records that the frame has left.
  void departed(std::uint64_t number, boot_time now) {
    if (number <= left || number > sender.last_sent()) return;
    if (left <= sender.last_acknowledged()) progress_at = now;
    left = number;
  }
  /// True if the worker has frames that it has not applied. `are_departures_known`: frames that have not left do not
  /// count.
  bool owes(bool are_departures_known) const {
    return are_departures_known ? left > sender.last_acknowledged() : outstanding();
  }

  bool outstanding() const { return sender.last_sent() > sender.last_acknowledged(); }
  std::size_t unacknowledged_starts() const { return starts.size(); }

  boot_time progress_at{}; ///< when the worker last applied something, or first had to
  std::uint64_t left = 0;  ///< the highest number that has left
  bool ack_due = false;    ///< a frame came, or a repeat, whose ack waits for no other frame
  bool gap_seen = false;   ///< request a resend at the end of the transaction
  std::deque<std::pair<std::uint64_t, std::uint64_t>> stops; ///< (number, stop seq), unacknowledged
  std::deque<std::uint64_t> starts;                          ///< numbers of unacknowledged STARTs
};

} // namespace quell::controller
