// The events between a connector's stored state and the present: they are read from the store and applied before any
// live one, so that the state is the same as if its process had not died.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "integrations/chat/chat.hpp"
#include "protocol/time.hpp"

namespace quell::integrations::chat {

/// Used on a connector's thread only.
class missed_events {
 public:
  struct tools {
    host& at;
    std::string service;
    /// Returns a function, callable from any thread, that runs a job on the connector's thread while the connector
    /// lives.
    std::function<std::function<void(std::function<void()>)>()> runner;
    std::function<void(const event&)> apply;
    /// The stored events were applied; the live ones that waited for them follow. `newest`: the id of the last stored
    /// one. `is_whole`: none of those that were wanted had been deleted.
    std::function<void(std::uint64_t newest, bool is_whole)> caught_up;
    /// The status of an operation whose end may still be unknown; nullopt: ended.
    std::function<void(const operation_id&, std::optional<status>)> looked;
    std::function<void(const std::string&)> log;
  };
  explicit missed_events(tools t) : tools_(std::move(t)) {}

  /// Begins to read behind the id `after`; 0 = without a stored state nothing was missed. `unfinished`: the
  /// operations to look at afterwards.
  void fetch(std::uint64_t after, std::vector<operation_id> unfinished);
  /// The store takes too long: goes on without what was not read.
  void give_up();
  static constexpr milliseconds longest_wait{10'000}; ///< before `give_up`
  /// A live event. It is applied at once if everything before it was.
  void hear(const event& e);
  /// Before this nothing should be sent: it could be out of date.
  bool is_over() const { return is_over_; }

 private:
  static constexpr std::size_t most_waiting = 4096;

  void ask();
  void take(result<event_page> page);
  void apply(const event& e);
  void finish(std::uint64_t newest, bool is_whole);

  const tools tools_;
  std::vector<operation_id> unfinished_;
  std::deque<event> waiting_;
  std::uint64_t after_ = 0;   ///< the last id that was read
  std::uint64_t applied_ = 0; ///< the last id that was applied
  bool is_over_ = false;
  bool is_whole_ = true;
  bool has_left_out_ = false; ///< too many waited: these are in the store, too
};

} // namespace quell::integrations::chat
