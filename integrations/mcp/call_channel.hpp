// State shared by the holder of an MCP call and its server: the channel that delivers events until it is cut, and the
// outcome of a cancel.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "integrations/mcp/mcp.hpp"

namespace quell::integrations {

class mcp_call_channel {
 public:
  using listener = std::function<void(mcp_call_event)>;
  explicit mcp_call_channel(listener on_event) : listener_(std::move(on_event)) {}

  /// Delivers nothing once the line is cut or the end was delivered; even then an end records what a cancel was too
  /// late for. One thread at a time.
  void tell(mcp_call_event event);
  /// Any thread. No event is delivered after it returns: it waits for a running listener, unless called from inside it.
  void cut();
  bool is_over() const; ///< its end was delivered, or it was cut

  /// Records the outcome of the cancel. The first word wins; if the call had ended before, the word of that end.
  void became(const std::string& what);
  /// Sets the receiver of the outcome; it is called once, now or later.
  void hear(late_result_listener late);

 private:
  mutable std::recursive_mutex telling_; // recursive: a listener can cancel its own call
  listener listener_;
  bool inside_ = false, cut_ = false, ended_ = false;

  std::mutex outcome_guard_; ///< guards the members below; never held during a callback
  std::optional<std::string> became_;
  std::vector<late_result_listener> waiting_;
};

} // namespace quell::integrations
