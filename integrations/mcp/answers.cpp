// The messages to and from MCP servers that both transports share.
#include "integrations/mcp/answers.hpp"

#include <algorithm>
#include <cmath>

#include "integrations/mcp/limits.hpp"
#include "integrations/mcp/media.hpp"
#include "integrations/mcp/messages.hpp"
#include "integrations/mcp/server_code.hpp"
#include "integrations/models/text.hpp"
#include "protocol/utf8.hpp"

namespace quell::integrations::mcp {
namespace {

json own_name() { return {{"name", "quell"}, {"version", "0.1.0"}}; }

/// Elicitation by form only: we do not send people to URLs.
json own_capabilities() { return {{"elicitation", {{"form", json::object()}}}}; }

/// Member names of the stateless version.
constexpr const char* version_key = "io.modelcontextprotocol/protocolVersion";
constexpr const char* client_key = "io.modelcontextprotocol/clientInfo";
constexpr const char* capabilities_key = "io.modelcontextprotocol/clientCapabilities";

std::string cut_at_character(std::string text, std::size_t bytes) {
  text.resize(utf8_prefix(text, bytes).size());
  return text;
}

/// The text blocks of an oversized result, as far as they fit, and a note about the omitted rest.
std::string shortened(const json& result, std::size_t size, bool ok) {
  std::string text;
  const json& content = member(result, "content");
  if (content.is_array())
    for (const json& block : content)
      if (text.size() < mcp_limits::cut_text_bytes) text += text_member(block, "text");
  text = cut_at_character(std::move(text), mcp_limits::cut_text_bytes);
  text += "\n[The result was " + std::to_string(size) + " bytes of JSON, more than the " +
          std::to_string(mcp_limits::result_bytes) + " that are passed on. " +
          (text.empty() ? "Nothing of it is shown: " : "Only the beginning of its text is shown: ") +
          "ask the tool for less.]";
  json whole{{"isError", !ok}};
  whole["content"] = json::array({json{{"type", "text"}, {"text", text}}});
  return dump_json(whole);
}

} // namespace

bool knows_handshake_version(std::string_view version) {
  return std::find(std::begin(handshake_versions), std::end(handshake_versions), version) !=
         std::end(handshake_versions);
}

json initialize_params() {
  return {{"protocolVersion", handshake_versions[0]}, {"capabilities", own_capabilities()}, {"clientInfo", own_name()}};
}

json with_stateless_meta(json params) {
  json& meta = params["_meta"];
  meta[version_key] = stateless_version;
  meta[client_key] = own_name();
  meta[capabilities_key] = own_capabilities();
  return params;
}

json list_params(const std::string& cursor) {
  json params = json::object();
  if (!cursor.empty()) params["cursor"] = cursor;
  return params;
}

json call_params(const std::string& tool, json input, std::uint64_t progress_token, const std::string& operation) {
  json meta{{"progressToken", progress_token}};
  if (!operation.empty()) meta["quell/operation"] = operation;
  return {{"name", tool}, {"arguments", std::move(input)}, {"_meta", std::move(meta)}};
}

json cancel_params(std::uint64_t id, std::string_view reason) {
  json params{{"requestId", id}};
  if (!blank(reason)) params["reason"] = excerpt(reason, mcp_limits::message_characters);
  return params;
}

std::optional<json> input_object(const std::string& input_json) {
  if (blank(input_json)) return json::object();
  auto value = parse_json(input_json);
  if (!value || !value->is_object()) return std::nullopt;
  return value;
}

std::string who_is(const std::string& name) { return "MCP server \"" + excerpt(name, 80) + "\""; }

result<tool_pages::step> tool_pages::take(const std::string& who, const json& page) {
  const json& tools = member(page, "tools");
  if (!tools.is_array()) return failure(server_code::mcp_broken, who + ": its list of tools is none");
  step done;
  for (const json& tool : tools)
    if (auto wrong = add(tool)) done.bad_messages.push_back(std::move(*wrong));
  const json& cursor = member(page, "nextCursor");
  if (!cursor.is_string()) return done;
  std::string next = cursor.get<std::string>();
  if (next.empty()) return done;
  if (tools_.size() >= mcp_limits::tools || ++pages_ >= mcp_limits::pages) {
    done.bad_messages.push_back("there are more tools than the " + std::to_string(tools_.size()) + " that are read");
    return done;
  }
  if (next.size() > mcp_limits::cursor_bytes || !cursors_.insert(next).second) {
    done.bad_messages.push_back("the list of tools runs in a circle, or its cursor is too long; it is taken as it is");
    return done;
  }
  done.next_cursor = std::move(next);
  return done;
}

std::optional<std::string> tool_pages::add(const json& tool) {
  mcp_tool one;
  one.name = text_member(tool, "name");
  const std::string who = "the tool \"" + excerpt(one.name, 80) + "\" ";
  if (blank(one.name) || one.name.size() > mcp_limits::tool_name_bytes)
    return who + "is left out: a name is 1 to " + std::to_string(mcp_limits::tool_name_bytes) + " bytes";
  if (tools_.size() >= mcp_limits::tools) return who + "is left out: there are too many";
  if (names_.contains(one.name)) return who + "is left out: there is one of that name already";
  const json& schema = member(tool, "inputSchema");
  if (!schema.is_object()) return who + "is left out: its input schema is not a JSON object";
  one.input_schema = dump_json(schema);
  if (one.input_schema.size() > mcp_limits::schema_bytes) return who + "is left out: its input schema is too long";
  one.description = text_member(tool, "description");
  if (one.description.size() > mcp_limits::description_characters)
    one.description = cut_at_character(std::move(one.description), mcp_limits::description_characters) + "…";
  const json& hints = member(tool, "annotations");
  one.title = text_member(tool, "title");
  if (one.title.empty()) one.title = text_member(hints, "title");
  one.title = excerpt(one.title, 200);
  one.read_only = member(hints, "readOnlyHint") == json(true);
  one.destructive = member(hints, "destructiveHint") == json(true);
  const std::size_t size = one.name.size() + one.description.size() + one.input_schema.size() + one.title.size();
  if (bytes_ + size > mcp_limits::tools_bytes) return who + "is left out: all tools together are too long";
  bytes_ += size;
  names_.insert(one.name);
  tools_.push_back(std::move(one));
  return std::nullopt;
}

std::optional<std::uint64_t> progress_token(const json& params) { return rpc::own_id(member(params, "progressToken")); }

mcp_call_events::progress progress_of(const json& params) {
  mcp_call_events::progress made;
  made.message = excerpt(text_member(params, "message"), mcp_limits::message_characters);
  if (const json& at = member(params, "progress"); at.is_number()) made.progress = at.get<double>();
  if (const json& of = member(params, "total"); of.is_number()) made.total = of.get<double>();
  return made;
}

bool wants_input(const json& result) { return text_member(result, "resultType") == "input_required"; }

mcp_call_event ended_with(const std::string& who, const json& result) {
  if (!result.is_object())
    return mcp_call_events::failed{
        failure_of(server_code::mcp_broken, who + ": the result of a tool is not a JSON object"), true};
  if (wants_input(result)) // in a version that does not have this
    return mcp_call_events::failed{
        failure_of(server_code::mcp_refused,
                   who + ": the tool asks for input in a way that its version of MCP does not have"),
        true};
  json kept = json::object();
  for (const char* name : {"content", "structuredContent", "isError"})
    if (const json& found = member(result, name); !found.is_null()) kept[name] = found;
  const bool ok = member(result, "isError") != json(true);
  auto media = take_media(kept["content"]);
  if (kept["content"].is_null()) kept.erase("content");
  mcp_call_events::finished end{ok, dump_json(kept), false, std::move(media)};
  if (end.result.size() > mcp_limits::result_bytes) {
    end.result = shortened(kept, end.result.size(), ok);
    end.truncated = true;
  }
  return end;
}

fault of_error(const std::string& who, std::string_view what, const json& error) {
  std::string detail = who + " refuses " + std::string(what);
  if (const json& code = member(error, "code"); code.is_number_integer())
    detail += " (" + std::to_string(code.get<std::int64_t>()) + ")";
  const std::string words = excerpt(text_member(error, "message"), mcp_limits::shown_characters);
  return failure_of(server_code::mcp_refused, detail + ": " + (words.empty() ? "it does not say why" : words));
}

std::string answer_to_server(const json& id, std::string_view method) {
  if (method == "ping") return rpc::response(id, json::object());
  return rpc::refusal(id, rpc::method_not_found, "quell does not do " + excerpt(method, 80) + " for servers");
}

} // namespace quell::integrations::mcp
