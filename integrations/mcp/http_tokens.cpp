// The conversation with one MCP server over HTTP: handling of a refused account token.
//
// A request that is answered 401 was not read, so it may be sent again once, with a new token if the account gets one.
// The wait for it can meet any other event: a cancel, the end of the server, a new handshake.
#include "integrations/mcp/http_conversation.hpp"
#include "integrations/mcp/http_faults.hpp"
#include "integrations/mcp/server_code.hpp"
#include "integrations/models/text.hpp"

namespace quell::integrations {
namespace {

bool is_about_rights(const http_ending& end) {
  return end.status == 401 || (end.status == 403 && !end.challenge.empty());
}

} // namespace

/// True: the exchange is gone; its purpose continues or fails once the account has answered.
bool http_conversation::renew_token(exchange_id id, const http_ending& end) {
  const auto& account = settings_.options.credentials;
  if (!account || !settings_.key.empty() || !is_about_rights(end) || ended_) return false;
  exchange& one = exchanges_.at(id);
  const purpose why = one.why;
  const call_number number = one.call;
  if (why != purpose::handshake && why != purpose::page && !is_call(why)) return false;
  const auto found = calls_.find(number);
  if (is_call(why) && found == calls_.end()) return false;
  bool& renewed = why == purpose::handshake ? handshake_renewed_
                  : why == purpose::page    ? page_renewed_
                                            : found->second.renewed;
  if (std::exchange(renewed, true)) {
    account->refused(one.token, end.status, end.challenge, nullptr);
    return false;
  }
  const std::string token = one.token;
  close(id);
  if (is_call(why)) {
    found->second.at = 0;
    found->second.is_renewing = true;
    if (why == purpose::call) found->second.request = 0; // it was not read
  }
  account->refused(token, end.status, end.challenge, [post = settings_.post, why, number, end](bool is_good) {
    post([=](http_conversation& self, time_point now) { self.token_renewed(why, number, end, is_good, now); });
  });
  return true;
}

void http_conversation::token_renewed(purpose why, call_number number, const http_ending& end, bool is_good,
                                      time_point now) {
  if (ended_) return;
  if (why == purpose::handshake) {
    if (phase_ == phase::none || phase_ == phase::ready) return;
    return is_good ? shake(phase_, now) : handshake_failed(&end, fault_of("handshake", end), now);
  }
  if (why == purpose::page) {
    if (!pages_ || phase_ != phase::ready) return;
    return is_good ? ask_page(now) : page_failed(fault_of("list of tools", end), false, now);
  }
  const auto found = calls_.find(number);
  if (found == calls_.end()) return; // cancelled
  call& one = found->second;
  one.is_renewing = false;
  if (!is_good) {
    const fault no = fault_of("tool \"" + excerpt(one.tool, 80) + "\"", end);
    // The request whose answer was to be resumed may have done its work.
    if (why == purpose::resumption)
      return tell_end(number, mcp_call_events::failed{failure_of(server_code::mcp_unreachable, no.detail), true});
    return tell_end(number, mcp_call_events::failed{no, false});
  }
  if (why == purpose::resumption) {
    one.resume_at = now;
    resumes_.insert({now, number});
  } else if (phase_ == phase::ready) {
    send_call(number, one, now);
  } else {
    begin_handshake(now); // or it is already running
  }
}

fault http_conversation::fault_of(std::string_view what, const http_ending& end) const {
  if (!settings_.options.credentials || !settings_.key.empty() || !is_about_rights(end))
    return of_http_ending(who_, what, end);
  return failure_of(
      server_code::mcp_login_needed,
      who_ + ", " + std::string(what) +
          (end.status == 401 ? ": it wants a login" : ": it wants more rights than the present login has") +
          "; run `quell mcp login " + excerpt(settings_.name, 80) + "`");
}

} // namespace quell::integrations
