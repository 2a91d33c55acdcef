// What the holder of an MCP call and its server share: the line along which events are told, until somebody cuts it,
// and what became of a cancel.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "integrations/mcp/mcp.hpp"

namespace quell::integrations {

class mcp_line {
 public:
  using listener = std::function<void(mcp_call_event)>;
  explicit mcp_line(listener heard) : listener_(std::move(heard)) {}

  /// Nothing is told once the line is cut or the end was told; an end says what a cancel was too late for all the same.
  /// One thread at a time.
  void tell(mcp_call_event event);
  /// Any thread. Once it returns nothing is told: it waits for a listener that is running, unless this is its thread.
  void cut();
  bool is_over() const; ///< its end was told, or it was cut

  /// What became of the cancel: the first word counts; for a call that had ended before, the one that its end says.
  void became(const std::string& what);
  /// Called once, now or later.
  void hear(mcp_late late);

 private:
  mutable std::recursive_mutex telling_; // recursive: a listener may cancel its own call
  listener listener_;
  bool inside_ = false, cut_ = false, ended_ = false;

  std::mutex books_; ///< for what follows; never held while something is called
  std::optional<std::string> became_;
  std::vector<mcp_late> waiting_;
};

} // namespace quell::integrations
