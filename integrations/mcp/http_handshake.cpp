// The conversation with one MCP server over HTTP: handshake, list of tools, and the ends of exchanges.
//
// The newest version has no handshake, which `server/discover` reveals; any other answer to it means an older server,
// and then `initialize` is tried. A lost session is replaced by a new one, once for each call.
#include <algorithm>
#include <cmath>

#include "integrations/mcp/http_conversation.hpp"
#include "integrations/mcp/http_faults.hpp"
#include "integrations/mcp/limits.hpp"
#include "integrations/mcp/server_code.hpp"
#include "integrations/models/text.hpp"

namespace quell::integrations {
namespace {

using std::chrono::milliseconds;

constexpr auto tools_kept = std::chrono::seconds(60); ///< the server cannot announce changes while nothing is listening
constexpr std::string_view initialized = "notifications/initialized";

bool ok(const http_ending& end) { return end.status >= 200 && end.status <= 299 && end.broken.empty(); }

} // namespace

void http_conversation::begin_handshake(time_point now) {
  if (phase_ != phase::none || ended_) return;
  tries_ = 0;
  pages_.reset();
  confirm_again_ = probe_again_ = handshake_renewed_ = false;
  shake(phase::probing, now);
}

void http_conversation::shake(phase with, time_point now) {
  phase_ = with;
  stateless_ = false;
  rest_ = time_point::max();
  const std::uint64_t request = ++next_request_;
  const milliseconds limit = settings_.options.handshake_timeout;
  if (with == phase::confirming) {
    open(purpose::handshake, rpc::notification(initialized, nullptr), initialized, {}, after(limit, now));
    return;
  }
  session_.clear();
  const bool probe = with == phase::probing;
  const std::string_view method = probe ? "server/discover" : "initialize";
  json params = probe ? mcp::with_stateless_meta(json::object()) : mcp::initialize_params();
  // An old server may leave an unknown request without any answer.
  const exchange_id id = open(purpose::handshake, rpc::request(request, method, std::move(params)), method, {},
                              after(probe ? limit / 3 : limit, now));
  exchanges_.at(id).request = request;
}

void http_conversation::take_handshake(exchange_id id, const rpc::message& answer, time_point now) {
  if (phase_ == phase::initializing) return take_initialized(id, answer, now);
  linger(id, now);
  if (phase_ != phase::probing) return;
  const json& versions = member(answer.body, "supportedVersions");
  if (!versions.is_array() || std::find(versions.begin(), versions.end(), mcp::stateless_version) == versions.end())
    return shake(phase::initializing, now);
  const json& info = member(member(answer.body, "_meta"), "io.modelcontextprotocol/serverInfo");
  server_name_ = excerpt(text_member(info, "name"), 80);
  server_version_ = excerpt(text_member(info, "version"), 80);
  protocol_ = mcp::stateless_version;
  stateless_ = true;
  be_ready(now);
}

void http_conversation::take_initialized(exchange_id id, const rpc::message& answer, time_point now) {
  const std::string session = exchanges_.at(id).http->session();
  linger(id, now);
  if (answer.what == rpc::message::kind::error)
    return handshake_failed(nullptr, mcp::of_error(who_, "the handshake", answer.body), now);
  protocol_ = text_member(answer.body, "protocolVersion");
  if (protocol_ != mcp::stateless_version && !mcp::knows_handshake_version(protocol_))
    return handshake_failed(nullptr,
                            failure_of(server_code::mcp_refused, who_ + " speaks version \"" + excerpt(protocol_, 40) +
                                                                     "\" of MCP, which quell does not know"),
                            now);
  const json& info = member(answer.body, "serverInfo");
  server_name_ = excerpt(text_member(info, "name"), 80);
  server_version_ = excerpt(text_member(info, "version"), 80);
  session_ = session;
  shake(phase::confirming, now);
}

void http_conversation::be_ready(time_point now) {
  phase_ = phase::ready;
  tries_ = 0;
  may_listen_ = !stateless_ && !session_.empty();
  if (listening_ != 0) close(listening_); // belongs to an earlier session
  listen(now);
  if (settings_.hooks.ready) settings_.hooks.ready(server_name_, server_version_, protocol_);
  for (auto& [number, one] : calls_)
    if (one.request == 0 && !one.is_renewing) send_call(number, one, now);
  if (!askers_.empty() && !pages_) ask_page(now);
}

void http_conversation::handshake_ended(const http_ending& end, time_point now) {
  if (phase_ == phase::confirming && ok(end)) {
    stateless_ = protocol_ == mcp::stateless_version;
    return be_ready(now);
  }
  if (phase_ == phase::confirming && may_have_lost_the_session(end) && !std::exchange(confirm_again_, true))
    return shake(phase::initializing, now);
  if (phase_ == phase::probing && offers_stateless_version(end) && !std::exchange(probe_again_, true))
    return shake(phase::probing, now);
  const bool about_us = end.status == 401 || end.status == 403 || end.status == 429;
  if (phase_ == phase::probing && end.status != 0 && !about_us) return shake(phase::initializing, now);
  handshake_failed(&end, fault_of("handshake", end), now);
}

void http_conversation::handshake_failed(const http_ending* end, fault why, time_point now) {
  if (end && may_pass(*end) && rest(now)) return;
  phase_ = phase::none; // the next request starts a new handshake
  session_.clear();
  why = clean(std::move(why));
  std::vector<call_number> waiting;
  for (const auto& [number, one] : calls_)
    if (one.request == 0) waiting.push_back(number);
  for (const call_number number : waiting) tell_end(number, mcp_call_events::failed{why, false});
  answer_list(tl::unexpected(why));
}

bool http_conversation::rest(time_point now) {
  const mcp_http_options& options = settings_.options;
  if (++tries_ > options.retries) return false;
  const double doubled =
      static_cast<double>(options.first_backoff.count()) * std::ldexp(1.0, std::min<int>(tries_ - 1, 30));
  const double most = std::min(doubled, static_cast<double>(options.longest_backoff.count()));
  rest_ = now + milliseconds(static_cast<std::int64_t>(most * (0.5 + settings_.random() / 2)));
  return true;
}

void http_conversation::session_gone(const std::string& session, time_point now) {
  // If several calls learn of the loss, only the first one starts a new session.
  if (phase_ != phase::ready || session != session_) return;
  phase_ = phase::none;
  tools_.reset();
  std::vector<exchange_id> pages;
  for (const auto& [id, one] : exchanges_)
    if (one.why == purpose::page) pages.push_back(id);
  for (const exchange_id id : pages) close(id);
  begin_handshake(now);
}

void http_conversation::list(mcp_server::tools_reply reply, time_point now) {
  if (tools_ && now < tools_until_) {
    if (reply) reply(*tools_);
    return;
  }
  askers_.push_back(std::move(reply));
  if (phase_ != phase::ready) return begin_handshake(now);
  if (!pages_) ask_page(now);
}

void http_conversation::ask_page(time_point now) {
  if (!pages_) {
    pages_ = std::make_unique<mcp::tool_pages>();
    cursor_.clear();
  }
  const std::uint64_t request = ++next_request_;
  json params = mcp::list_params(cursor_);
  if (stateless_) params = mcp::with_stateless_meta(std::move(params));
  const exchange_id id = open(purpose::page, rpc::request(request, "tools/list", std::move(params)), "tools/list", {},
                              after(settings_.options.handshake_timeout, now));
  exchanges_.at(id).request = request;
}

void http_conversation::take_page(const rpc::message& answer, time_point now) {
  if (!pages_) return;
  result<mcp::tool_pages::step> read = mcp::tool_pages::step{};
  if (answer.what == rpc::message::kind::answer)
    read = pages_->take(who_, answer.body);
  else if (member(answer.body, "code") != json(rpc::method_not_found)) // method_not_found: the server has no tools
    read = tl::unexpected(mcp::of_error(who_, "to list its tools", answer.body));
  if (!read) return page_failed(std::move(read.error()), false, now);
  for (std::string& what : read->bad_messages) complain(who_ + ": " + std::move(what));
  tries_ = 0;
  if (read->next_cursor) {
    cursor_ = std::move(*read->next_cursor);
    return ask_page(now);
  }
  tools_ = std::move(pages_->tools());
  take_param_headers();
  tools_until_ = now + tools_kept;
  pages_.reset();
  page_again_ = page_renewed_ = false;
  answer_list(*tools_);
}

/// Since the newest version a tool can want parameters in headers; a tool that wants invalid headers is left out.
void http_conversation::take_param_headers() {
  param_headers_.clear();
  if (!stateless_) return;
  std::erase_if(*tools_, [this](const mcp_tool& tool) {
    const auto schema = parse_json(tool.input_schema);
    auto wanted = mcp::param_headers_of(schema.value_or(json::object()));
    if (!wanted) complain(who_ + ": the tool \"" + excerpt(tool.name, 80) + "\" is left out: " + wanted.error().detail);
    if (wanted && !wanted->empty()) param_headers_.emplace(tool.name, std::move(*wanted));
    return !wanted.has_value();
  });
}

void http_conversation::page_failed(fault why, bool may_help, time_point now) {
  if (may_help && rest(now)) return;
  pages_.reset();
  page_again_ = page_renewed_ = false;
  tries_ = 0;
  answer_list(tl::unexpected(clean(std::move(why))));
}

void http_conversation::answer_list(const result<std::vector<mcp_tool>>& tools) {
  for (const auto& reply : std::exchange(askers_, {}))
    if (reply) reply(tools);
}

void http_conversation::take_ending(exchange_id id, time_point now) {
  exchange& one = exchanges_.at(id);
  const http_ending end = *one.http->ending();
  const std::string session = one.session;
  if (renew_token(id, end)) return;
  switch (one.why) {
  case purpose::call:
  case purpose::resumption:
    return call_ended(id, end, now);
  case purpose::listening: {
    const exchange ended = std::move(one);
    close(id);
    return listening_ended(ended, end, now);
  }
  case purpose::cancel:
    if (one.channel) one.channel->became(ok(end) ? "ignored" : "refused");
    return close(id);
  case purpose::handshake:
    close(id);
    return handshake_ended(end, now);
  case purpose::page:
    close(id);
    if (!session.empty() && may_have_lost_the_session(end) && !std::exchange(page_again_, true)) {
      leave_session(end.status, now);
      return session_gone(session, now);
    }
    return page_failed(fault_of("list of tools", end), may_pass(end), now);
  case purpose::notice:
  case purpose::goodbye:
  case purpose::lingering:
    return close(id);
  }
}

void http_conversation::call_ended(exchange_id id, const http_ending& end, time_point now) {
  const call_number number = exchanges_.at(id).call;
  const exchange ended = std::move(exchanges_.at(id));
  close(id);
  const auto found = calls_.find(number);
  if (found == calls_.end()) return;
  call& one = found->second;
  one.at = 0;
  if (!ended.session.empty() && may_have_lost_the_session(end) && !ended_) {
    // The server does not know the session: it did nothing with the call, and a stream to resume is lost.
    const bool send_again = ended.why == purpose::call && !std::exchange(one.again, true);
    if (send_again) {
      one.request = 0;
      leave_session(end.status, now);
    }
    if (send_again || ended.why == purpose::resumption) session_gone(ended.session, now);
    if (send_again) {
      if (phase_ == phase::ready) send_call(number, one, now);
      return;
    }
  }
  if (resume_later(one, ended, end, now)) {
    resumes_.insert({one.resume_at, number});
    return;
  }
  const std::string what = "tool \"" + excerpt(one.tool, 80) + "\"";
  const bool sent = end.sent || ended.why == purpose::resumption;
  fault why = fault_of(what, end);
  const bool is_unread = has_code(why, server_code::mcp_login_needed) && ended.why == purpose::call;
  tell_end(number, mcp_call_events::failed{std::move(why), sent && !is_unread});
}

void http_conversation::ring(exchange_id id, time_point now) {
  look(id, now); // an answer that arrived in time counts
  const auto found = exchanges_.find(id);
  if (found == exchanges_.end()) return;
  exchange& one = found->second;
  if (one.alarm > now) return;
  const auto timeout = [&](std::string_view what, milliseconds limit) {
    return failure_of(server_code::mcp_timeout,
                      who_ + ", " + std::string(what) + ": no answer after " + std::to_string(limit.count()) + " ms");
  };
  const purpose why = one.why;
  const call_number number = one.call;
  const std::uint64_t request = one.request;
  const bool sent = why == purpose::resumption || one.http->sent();
  if (why == purpose::cancel && one.channel) one.channel->became("refused");
  close(id);
  if (is_call(why)) {
    if (sent && !stateless_) send_cancel(request, nullptr, "time is over", now);
    if (const auto call = calls_.find(number); call != calls_.end())
      tell_end(number,
               mcp_call_events::failed{
                   timeout("tool \"" + excerpt(call->second.tool, 80) + "\"", settings_.options.call_timeout), sent});
  } else if (why == purpose::page) {
    page_failed(timeout("list of tools", settings_.options.handshake_timeout), false, now);
  } else if (why == purpose::handshake && phase_ == phase::probing) {
    shake(phase::initializing, now);
  } else if (why == purpose::handshake) {
    handshake_failed(nullptr, timeout("handshake", settings_.options.handshake_timeout), now);
  }
}

void http_conversation::end(time_point now) {
  ended_ = true;
  rest_ = listen_at_ = time_point::max();
  may_listen_ = false;
  std::vector<exchange_id> over;
  for (const auto& [id, one] : exchanges_)
    if (one.why != purpose::cancel) over.push_back(id);
  for (const exchange_id id : over) {
    if (is_call(exchanges_.at(id).why)) look(id, now); // an answer that arrived in time counts
    const auto found = exchanges_.find(id);
    const call_number number = found != exchanges_.end() && is_call(found->second.why) ? found->second.call : 0;
    const bool sent = number != 0 && (found->second.why == purpose::resumption || found->second.http->sent());
    close(id);
    if (number != 0)
      tell_end(number,
               mcp_call_events::failed{failure_of(server_code::mcp_unreachable, who_ + " is no longer wanted"), sent});
  }
  const fault gone = failure_of(server_code::mcp_unreachable, who_ + " is no longer wanted");
  while (!calls_.empty()) {
    const auto& [number, one] = *calls_.begin();
    tell_end(number, mcp_call_events::failed{gone, one.request != 0});
  }
  answer_list(tl::unexpected(gone));
  news_.clear();
  if (!session_.empty()) open(purpose::goodbye, {}, {}, {}, after(settings_.options.cancel_timeout, now));
}

void http_conversation::abandon() {
  for (auto& [id, one] : exchanges_)
    if (one.channel) one.channel->became("ignored");
  exchanges_.clear();
  alarms_.clear();
}

} // namespace quell::integrations
