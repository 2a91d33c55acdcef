// One stream of one operation's output, followed to its end: byte exact, resumed by offset when the controller goes
// away and comes back.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cli/api.hpp"

namespace quell::cli {

class output_follower {
 public:
  struct callbacks {
    /// Takes bytes that begin at `offset`; false = later (then call `resume`).
    std::function<bool(std::uint64_t offset, std::string_view bytes)> bytes;
    /// Bytes up to here are unavailable: `lost` of them were never stored or are no longer kept.
    std::function<void(std::uint64_t lost)> gap;
    /// The end of the stream was reached, or (with a problem) the controller refuses the stream.
    std::function<void(const problem*)> end;
    /// Contact was lost; the pause before another attempt, or nullopt to give up (then `end` is not called).
    std::function<std::optional<milliseconds>()> lost;
    std::function<void()> contact;
  };
  struct range {
    std::uint64_t offset = 0;
    std::uint64_t tail_bytes = 0; ///< 0 = from `offset`
    bool follow = true;
  };

  output_follower(api& controller, std::string operation, std::string stream, range from, callbacks c);
  ~output_follower();
  output_follower(const output_follower&) = delete;
  output_follower& operator=(const output_follower&) = delete;

  void start();
  void resume();
  /// No further callbacks.
  void stop();
  /// Asks once without following: the stored bytes are all that will come (for a terminal operation whose stream
  /// stalls).
  void stop_following();
  bool ended() const { return ended_; }
  /// The offset of the next byte.
  std::uint64_t offset() const { return range_.offset; }
  const std::string& stream() const { return stream_; }

 private:
  void on_head(const http_head& head);
  bool on_bytes(std::string_view bytes);
  void on_end(const http_end& end);
  void retry(milliseconds pause);
  void finish(const problem* why);

  api& api_;
  std::string operation_, stream_;
  range range_;
  callbacks callbacks_;
  event_loop::handle transfer_ = 0, timer_ = 0;
  std::string refusal_; ///< body of a problem answer
  bool refused_ = false;
  bool progress_ = false; ///< this attempt delivered bytes
  bool ended_ = false;
};

} // namespace quell::cli
