// The client's side of MCP over a pair of byte streams: incoming messages, the handshake, the list of tools.
#include <algorithm>

#include "integrations/mcp/limits.hpp"
#include "integrations/mcp/server_code.hpp"
#include "integrations/mcp/session_parts.hpp"
#include "integrations/models/text.hpp"
#include "protocol/utf8.hpp"

namespace quell::integrations {

using namespace mcp_effects;

void mcp_session::start() {
  if (phase_ != phase::unstarted) return;
  phase_ = phase::shaking;
  control_id_ = ++next_id_;
  send_line(rpc::request(control_id_, "initialize", mcp::initialize_params()));
}

void mcp_session::receive(std::string_view bytes) {
  if (phase_ == phase::over) return;
  lines_.take(bytes, {[this](std::string_view line) { take_line(line); },
                      [this](std::string_view first, std::string_view last) { take_cut_line(first, last); }});
}

void mcp_session::take_line(std::string_view line) {
  if (phase_ == phase::over || blank(line)) return;
  if (!is_utf8(line)) complain(who_ + " sends what is not UTF-8; it is repaired");
  auto whole = parse_json(line);
  if (!whole) return complain(who_ + " prints what is not JSON: " + excerpt(line, 80));
  // Version 2025-03-26 has batches.
  if (!whole->is_array()) {
    incoming one{rpc::read(std::move(*whole))};
    return take_message(one);
  }
  for (json& part : *whole) {
    incoming one{rpc::read(std::move(part))};
    take_message(one);
  }
}

// The answer cannot be delivered, but its call must not wait for ever.
void mcp_session::take_cut_line(std::string_view first, std::string_view last) {
  if (phase_ == phase::over) return;
  const std::string size = "more than " + std::to_string(mcp_limits::line_bytes >> 20) + " MiB";
  complain(who_ + " sends a message of " + size + "; it is not read");
  const auto id = rpc::id_of_cut_answer(first, last);
  const auto found = id ? call_of_request(*id) : calls_.end();
  if (found == calls_.end()) return;
  if (found->second.cancelled) {
    incoming answer;
    answer.message.what = rpc::message::kind::answer;
    return take_call_end(found, answer);
  }
  const mcp_call_number number = found->first;
  const std::string tool = excerpt(found->second.tool, 80);
  forget(found);
  effects_.emplace_back(tell{
      number, mcp_call_events::failed{failure_of(server_code::mcp_broken, who_ + ": the result of tool \"" + tool +
                                                                              "\" has " + size + "; ask it for less"),
                                      true}});
}

void mcp_session::take_message(incoming& one) {
  using kind = rpc::message::kind;
  if (phase_ == phase::over) return;
  switch (one.message.what) {
  case kind::answer:
  case kind::error:
    return take_reply(one);
  case kind::notification:
    return take_notification(one);
  case kind::request:
    return take_request(one);
  case kind::nothing:
    return complain(who_ + " sends JSON that is not a message of JSON-RPC");
  }
}

void mcp_session::take_request(incoming& one) {
  if (one.message.method == "elicitation/create" && !stateless_ && phase_ == phase::ready) return take_question(one);
  send_line(mcp::answer_to_server(one.message.id, one.message.method));
}

/// On a stream that all calls share, a question does not name its call. It may only go to the people of that call, so
/// there must be only one call, or the question must carry the call's progress token or operation id.
void mcp_session::take_question(incoming& one) {
  const json& meta = member(one.message.body, "_meta");
  const std::string operation = text_member(meta, "quell/operation");
  const auto token = rpc::own_id(member(meta, "progressToken"));
  auto found = calls_.end();
  if (token) {
    found = call_of_request(*token);
  } else if (!operation.empty()) {
    found = std::find_if(calls_.begin(), calls_.end(), [&](const auto& c) { return c.second.operation == operation; });
  } else if (calls_.size() == 1) {
    found = calls_.begin();
  }
  if (found != calls_.end() && found->second.sent && !found->second.cancelled)
    return take_step(found, found->second.questions.on_request(one.message.id, one.message.body));
  send_line(rpc::refusal(one.message.id, mcp::no_call_asks, mcp::which_call));
}

void mcp_session::take_reply(incoming& one) {
  const auto id = rpc::own_id(one.message.id);
  if (id && *id != 0 && *id == control_id_) {
    control_id_ = 0;
    switch (phase_) {
    case phase::shaking:
      return take_initialized(one);
    case phase::discovering:
      return take_discovered(one);
    case phase::ready:
      return take_page(one);
    case phase::unstarted:
    case phase::over:
      return;
    }
  }
  const auto found = id ? call_of_request(*id) : calls_.end();
  if (found != calls_.end()) return take_call_end(found, one);
  if (one.message.what == rpc::message::kind::error && one.message.id.is_null())
    return complain(mcp::of_error(who_, "a message", one.message.body).detail);
  complain(who_ + " answers what nobody asked, or no longer waits for");
}

void mcp_session::take_notification(incoming& one) {
  const std::string& method = one.message.method;
  if (method == "notifications/progress") {
    const auto token = mcp::progress_token(one.message.body);
    const auto found = token ? call_of_request(*token) : calls_.end();
    // Servers continue to report progress of cancelled calls.
    if (found != calls_.end() && !found->second.cancelled)
      effects_.emplace_back(tell{found->first, mcp::progress_of(one.message.body)});
  } else if (method == "notifications/cancelled") {
    for (auto at = calls_.begin(); at != calls_.end(); ++at)
      take_step(at, at->second.questions.took_back(member(one.message.body, "requestId")));
  } else if (method == "notifications/tools/list_changed" && phase_ == phase::ready) {
    tools_.reset();
    stale_ = listing_;
    effects_.emplace_back(tools_changed{});
  }
}

void mcp_session::take_initialized(incoming& one) {
  if (one.message.what == rpc::message::kind::error) {
    // A server whose version has no handshake answers like this.
    initialize_no_ = mcp::of_error(who_, "the handshake", one.message.body);
    phase_ = phase::discovering;
    control_id_ = ++next_id_;
    return send_line(rpc::request(control_id_, "server/discover", mcp::with_stateless_meta(json::object())));
  }
  const json& info = member(one.message.body, "serverInfo");
  const std::string protocol = text_member(one.message.body, "protocolVersion");
  stateless_ = protocol == mcp::stateless_version;
  if (!stateless_ && !mcp::knows_handshake_version(protocol))
    return end(failure_of(server_code::mcp_refused,
                          who_ + " speaks version \"" + excerpt(protocol, 40) + "\" of MCP; quell knows " +
                              std::string(mcp::handshake_versions[std::size(mcp::handshake_versions) - 1]) + " to " +
                              std::string(mcp::stateless_version)));
  send_line(rpc::notification("notifications/initialized", nullptr));
  be_ready(text_member(info, "name"), text_member(info, "version"), protocol);
}

void mcp_session::take_discovered(incoming& one) {
  const json& versions = member(one.message.body, "supportedVersions");
  if (!versions.is_array() || std::find(versions.begin(), versions.end(), mcp::stateless_version) == versions.end())
    return end(initialize_no_);
  stateless_ = true;
  const json& info = member(member(one.message.body, "_meta"), "io.modelcontextprotocol/serverInfo");
  be_ready(text_member(info, "name"), text_member(info, "version"), std::string(mcp::stateless_version));
}

void mcp_session::be_ready(std::string name, std::string version, std::string protocol) {
  phase_ = phase::ready;
  effects_.emplace_back(ready{excerpt(name, 80), excerpt(version, 80), std::move(protocol)});
  for (auto& [number, one] : calls_) send_call(number, one); // none was sent before
  if (wanted_) ask_page({});
}

void mcp_session::list_tools() {
  if (phase_ == phase::over) {
    effects_.emplace_back(list{tl::unexpected(over_)});
  } else if (tools_) {
    effects_.emplace_back(list{*tools_});
  } else {
    wanted_ = true;
    if (phase_ == phase::ready && !listing_) ask_page({});
  }
}

void mcp_session::ask_page(const std::string& cursor) {
  if (!listing_) {
    pages_ = std::make_unique<pages>();
    stale_ = false;
    listing_ = true;
  }
  json params = mcp::list_params(cursor);
  if (stateless_) params = mcp::with_stateless_meta(std::move(params));
  control_id_ = ++next_id_;
  send_line(rpc::request(control_id_, "tools/list", std::move(params)));
}

void mcp_session::take_page(incoming& one) {
  result<mcp::tool_pages::step> read = mcp::tool_pages::step{};
  if (one.message.what == rpc::message::kind::answer)
    read = pages_->read.take(who_, one.message.body);
  else if (member(one.message.body, "code") != json(rpc::method_not_found)) // method_not_found: the server has no tools
    read = tl::unexpected(mcp::of_error(who_, "to list its tools", one.message.body));
  if (read) {
    for (std::string& what : read->bad_messages) complain(who_ + ": " + std::move(what));
    if (read->next_cursor) return ask_page(*read->next_cursor);
  }
  listing_ = false;
  const auto done = std::exchange(pages_, nullptr);
  if (read && stale_ && ++relists_ <= mcp_limits::relists) return ask_page({});
  relists_ = 0;
  wanted_ = false;
  if (!read) {
    effects_.emplace_back(list{tl::unexpected(read.error())});
    return;
  }
  if (!stale_) tools_ = done->read.tools();
  effects_.emplace_back(list{std::move(done->read.tools())});
}

} // namespace quell::integrations
