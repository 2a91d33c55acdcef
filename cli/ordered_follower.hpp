// Both streams of one operation's output in the order received, for when standard output and error are the same place
// (a terminal, 2>&1).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/api.hpp"
#include "cli/event_stream.hpp"

namespace quell::cli {

/// Reads the output as events, resumed by event id; repeated bytes are skipped by their offset, so the output stays
/// exact. The output is complete if the controller says so at the end of the events (the trailer `Quell-End: true`) and
/// no byte was missing. Otherwise, and if there are no events, the owner continues with one `output_follower` per
/// stream from `offset`.
class ordered_follower {
 public:
  struct callbacks {
    /// False = no bytes can be taken now: the transfer pauses until `resume`.
    std::function<bool()> ready;
    /// `stream` 0 = stdout, 1 = stderr.
    std::function<void(std::size_t stream, std::uint64_t offset, std::string_view bytes)> bytes;
    /// Called once. `is_whole`: both streams have come to their end.
    std::function<void(bool is_whole)> over;
    std::function<std::optional<milliseconds>()> lost;
    std::function<void()> contact;
  };
  enum class until : std::uint8_t {
    now,    ///< the output so far
    its_end ///< what comes, too
  };
  ordered_follower(api& controller, std::string operation, until when, callbacks c);
  ~ordered_follower();
  ordered_follower(const ordered_follower&) = delete;
  ordered_follower& operator=(const ordered_follower&) = delete;

  void start();
  void resume();
  void stop();
  /// The offset of the next byte of the stream.
  std::uint64_t offset(std::size_t stream) const { return seen_[stream]; }

 private:
  void take(const stream_event& event);
  void on_end(const http_end& end);

  api& api_;
  std::string operation_;
  until until_;
  callbacks callbacks_;
  std::unique_ptr<event_parser> parser_;
  std::string last_id_;
  std::array<std::uint64_t, 2> seen_{};
  event_loop::handle transfer_ = 0, timer_ = 0;
  bool is_stream_ = false; ///< the answer is an event stream
  bool has_gap_ = false;
};

/// True if both descriptors are the same file, pipe or terminal.
bool same_place(int one, int other);

} // namespace quell::cli
