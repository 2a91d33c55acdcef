// The output of `quell run`: both streams of its operation, byte exact and to their proven end; with --json as lines.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "cli/ordered_follower.hpp"
#include "cli/output_follower.hpp"
#include "cli/output_sink.hpp"
#include "cli/session.hpp"

namespace quell::cli {

class run_output {
 public:
  struct callbacks {
    /// Standard output has no reader any more.
    output_sink::gone_callback not_written; ///< of standard output
    /// Both streams have reached their end (the reader can still lag behind, see `drained`).
    std::function<void()> whole;
    std::function<std::optional<milliseconds>()> lost;
    std::function<void()> contact;
    std::function<bool()> is_lost;
  };
  run_output(session& s, api& controller, std::string operation, callbacks c);

  /// In the order received if both streams go to one place; otherwise, or if something is missing there, each stream
  /// separately.
  void start();
  /// From now on a stream without output for 10 s is asked for its stored bytes, and those are all that will come.
  void operation_ended();
  bool is_whole() const;
  /// Appends a JSON line after all output.
  void add_line(const nlohmann::json& object);
  /// True when everything taken has been written.
  bool drained() const { return sinks_[0]->drained() && sinks_[1]->drained(); }

 private:
  void follow_order();
  void leave_order();
  void follow_streams(std::uint64_t out_offset, std::uint64_t err_offset);
  bool show(std::size_t stream, std::uint64_t offset, std::string_view bytes);
  void stream_ended(std::size_t stream, const problem* why);
  void watch_stalled();

  session& s_;
  api& api_;
  std::string id_;
  callbacks callbacks_;
  std::array<std::unique_ptr<output_sink>, 2> sinks_;
  std::unique_ptr<ordered_follower> ordered_;
  bool order_is_whole_ = false; ///< both streams have come to their end in it
  std::array<std::unique_ptr<output_follower>, 2> streams_;
  std::array<std::string, 2> rests_; ///< --json: the first bytes of a character whose rest has not arrived
  std::chrono::steady_clock::time_point last_bytes_{};
};

} // namespace quell::cli
