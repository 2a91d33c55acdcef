// Handles the client's messages and answers them.
#include "cli/columns.hpp"
#include "cli/fields.hpp"
#include "cli/mcp/server.hpp"
#include "cli/mcp/tools.hpp"
#include "cli/mcp/words.hpp"
#include "cli/terminal.hpp"

namespace quell::cli::mcp {
namespace {

constexpr std::size_t most_calls = 64;
constexpr std::size_t most_batch = 100;

json who_we_are() { return {{"name", "quell"}, {"title", "quell"}, {"version", QUELL_VERSION}}; }
json abilities() { return {{"tools", json::object()}}; }

} // namespace

void server::take_line(std::string_view line) {
  auto whole = read_line(line);
  if (whole.is_discarded()) return channel_->send(error_line(nullptr, parse_error, "the line is not valid JSON"));
  if (!whole.is_array()) return take(std::move(whole));
  if (!has_batches(version_) || whole.empty() || whole.size() > most_batch)
    return channel_->send(error_line(nullptr, invalid_request, "a line is one message, not a list of them"));
  for (auto& part : whole) take(std::move(part));
}

void server::take(json whole) {
  auto m = read_message(std::move(whole));
  switch (m.what) {
  case message::kind::invalid:
    return channel_->send(error_line(m.id, invalid_request, m.why));
  case message::kind::reply:
    return; // the message was not a request
  case message::kind::notification:
    return take_notification(m);
  case message::kind::request:
    return take_request(std::move(m));
  }
}

void server::take_request(message m) {
  if (calls_.contains(m.id.dump()))
    return channel_->send(error_line(m.id, invalid_request, "a request with this id is still open"));
  if (m.method == "initialize") return initialize(m);
  if (m.method == "ping") return answer_request(m, json::object());
  if (m.method == "tools/list") return answer_request(m, tool_list());
  if (m.method == "tools/call") return call_tool(std::move(m));
  if (m.method == "server/discover")
    return answer_request(
        m,
        {{"supportedVersions", {stateless_version}}, {"capabilities", abilities()}, {"instructions", instructions()}});
  channel_->send(
      error_line(m.id, method_not_found, "quell has no method " + cut(one_line(m.method), 80, character_set::utf8)));
}

void server::initialize(const message& m) {
  version_ = agreed_version(text_of(m.params, "protocolVersion"));
  answer_request(m, {{"protocolVersion", version_},
                     {"capabilities", abilities()},
                     {"serverInfo", who_we_are()},
                     {"instructions", instructions()}});
}

void server::answer_request(const message& m, json result) {
  if (version_in(m.params) == stateless_version) result = stateless_result(std::move(result), m.method, who_we_are());
  channel_->send(result_line(m.id, std::move(result)));
}

void server::take_notification(const message& m) {
  if (m.method != "notifications/cancelled") return;
  give_up_call(member(m.params, "requestId"), text_of(m.params, "reason"));
}

void server::call_tool(message m) {
  const auto name = text_of(m.params, "name");
  if (name.empty()) return channel_->send(error_line(m.id, invalid_params, "params.name must be the name of a tool"));
  const auto version = version_in(m.params);
  const auto refused = [&](const std::string& why) { send_result(m.id, version, {clipped(why), json(), true}); };
  if (own_.over()) return refused(*own_.over());
  const auto& given = member(m.params, "arguments");
  auto arguments = read_arguments(name, given.is_null() ? json::object() : given);
  if (!arguments) return refused(arguments.error());
  if (is_leaving_) return refused("This MCP server is ending: nothing is started any more.");
  if (calls_.size() >= most_calls)
    return refused(std::to_string(most_calls) + " calls are open already: wait until one of them is answered.");
  const auto key = m.id.dump();
  auto& open = calls_[key];
  open.id = std::move(m.id);
  open.version = version;
  if (own_.is_registered()) return start(key, std::move(*arguments));
  open.arguments = std::move(*arguments);
  // Contact was lost before it was ever established: callers are notified now, not when it comes back.
  if (own_.lost()) start_waiting_calls();
}

void server::answer_call(const std::string& key, call_answer a) {
  const auto found = calls_.find(key);
  if (found == calls_.end()) return;
  const auto one = std::move(found->second);
  calls_.erase(found);
  send_result(one.id, one.version, std::move(a));
}

void server::send_result(const json& id, const std::string& version, call_answer a) {
  json result{{"content", {{{"type", "text"}, {"text", std::move(a.text)}}}}, {"isError", a.is_error}};
  if (a.structured.is_object()) result["structuredContent"] = std::move(a.structured);
  if (version == stateless_version) result = stateless_result(std::move(result), "tools/call", who_we_are());
  channel_->send(result_line(id, std::move(result)));
}

void server::give_up_call(const json& request_id, const std::string& reason) {
  const auto found = calls_.find(request_id.dump());
  if (found == calls_.end()) return; // already answered, or unknown
  const auto started = found->second.work ? found->second.work->started() : std::string();
  calls_.erase(found);
  if (started.empty()) return;
  const auto why = clipped(one_line(reason), 300);
  stop_operation(started, "the agent gave up its call" + (why.empty() ? "" : ": " + why), json());
}

} // namespace quell::cli::mcp
