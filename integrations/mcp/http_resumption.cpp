// The conversation with one MCP server over HTTP: resuming an answer whose stream has ended too early.
//
// Up to 2025-11-25 a server may close a call's stream after an event with an id and continue in another one, which we
// open by GET with Last-Event-ID after the requested pause; this also repairs a lost connection. The newest version has
// no resumption: there the outcome of a lost stream is unknown.
#include <algorithm>

#include "integrations/mcp/http_conversation.hpp"
#include "integrations/mcp/http_faults.hpp"
#include "integrations/mcp/limits.hpp"
#include "integrations/mcp/server_code.hpp"
#include "integrations/models/text.hpp"

namespace quell::integrations {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds shortest_pause{100}; ///< even if the server asks for less
constexpr milliseconds usual_pause{1'000};
constexpr milliseconds longest_pause{600'000};

} // namespace

bool http_conversation::resume_later(call& one, const exchange& ended, const http_ending& end, time_point now) {
  if (ended_ || stateless_ || one.session != session_ || !end.broken.empty()) return false;
  const std::string last = ended.http->last_event_id();
  const bool came_about = end.status >= 200 && end.status <= 299;
  if (came_about) {
    one.failures = 0;
    one.resumptions = last.empty() || last == one.last_event ? one.resumptions + 1 : 0;
    if (!last.empty()) one.last_event = last;
  } else if (ended.why != purpose::resumption || !may_pass(end) || ++one.failures > settings_.options.retries) {
    return false;
  }
  if (one.last_event.empty() || one.resumptions > mcp_limits::idle_resumptions) return false;
  milliseconds pause = std::clamp(ended.http->retry().value_or(usual_pause), shortest_pause, longest_pause);
  if (one.failures > 0) pause = std::min(pause * (1 << std::min<std::uint32_t>(one.failures, 10)), longest_pause);
  one.resume_at = now + pause;
  return true;
}

void http_conversation::resume(time_point now) {
  while (!resumes_.empty() && resumes_.begin()->first <= now) {
    const call_number number = resumes_.begin()->second;
    resumes_.erase(resumes_.begin());
    const auto found = calls_.find(number);
    if (found == calls_.end()) continue;
    call& one = found->second;
    one.resume_at = time_point::max();
    if (stateless_ || one.session != session_) {
      tell_end(number, mcp_call_events::failed{
                           failure_of(server_code::mcp_unreachable,
                                      who_ + ", tool \"" + excerpt(one.tool, 80) +
                                          "\": the session in which it ran is gone, and its answer with it"),
                           true});
      continue;
    }
    one.at = open(purpose::resumption, {}, {}, {}, one.deadline, {"Last-Event-ID: " + one.last_event});
    exchange& made = exchanges_.at(one.at);
    made.request = one.request;
    made.call = number;
  }
}

/// Closes a session that we give up although the server may still know it, so that it is not left open for others.
void http_conversation::leave_session(long status, time_point now) {
  if (status != 400 || session_.empty()) return;
  const bool in_use = std::any_of(calls_.begin(), calls_.end(), [this](const auto& one) {
    return one.second.request != 0 && one.second.session == session_;
  });
  if (!in_use) open(purpose::goodbye, {}, {}, {}, after(settings_.options.cancel_timeout, now));
}

} // namespace quell::integrations
