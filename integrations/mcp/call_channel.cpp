// State shared by the holder of an MCP call and its server.
#include "integrations/mcp/call_channel.hpp"

#include <utility>

#include "integrations/mcp/server_code.hpp"

namespace quell::integrations {
namespace {

/// The late outcome of a cancel that comes after this end; null for progress.
const char* after(const mcp_call_event& event) {
  if (std::holds_alternative<mcp_call_events::finished>(event)) return "too_late";
  const auto* failed = std::get_if<mcp_call_events::failed>(&event);
  if (!failed) return nullptr;
  if (!failed->sent) return "not_sent";
  return is_refusal(failed->why) ? "done" : "ignored";
}

} // namespace

void mcp_call_channel::tell(mcp_call_event event) {
  const char* word = after(event);
  listener dropped; // destroyed after the lock is released: its captures can lead back here
  {
    const std::lock_guard lock(telling_);
    if (ended_) return;
    ended_ = word != nullptr;
    if (!cut_ && listener_) {
      inside_ = true;
      listener_(std::move(event));
      inside_ = false;
    }
    if (cut_ || ended_) dropped = std::exchange(listener_, nullptr);
  }
  // Also for a call whose end and cancel have crossed.
  if (word) became(word);
}

void mcp_call_channel::cut() {
  listener dropped;
  const std::lock_guard lock(telling_);
  cut_ = true;
  if (!inside_) dropped = std::exchange(listener_, nullptr);
}

bool mcp_call_channel::is_over() const {
  const std::lock_guard lock(telling_);
  return cut_ || ended_;
}

void mcp_call_channel::became(const std::string& what) {
  std::vector<late_result_listener> waiting;
  {
    const std::lock_guard lock(outcome_guard_);
    if (became_) return;
    became_ = what;
    waiting.swap(waiting_);
  }
  for (const late_result_listener& late : waiting) late(what);
}

void mcp_call_channel::hear(late_result_listener late) {
  if (!late) return;
  std::string what;
  {
    const std::lock_guard lock(outcome_guard_);
    if (!became_) {
      waiting_.push_back(std::move(late));
      return;
    }
    what = *became_;
  }
  late(what);
}

} // namespace quell::integrations
