// The providers' rules for messages, strictly applied.
#include "integrations/models/message_rules.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "integrations/models/history.hpp"
#include "integrations/models/json.hpp"
#include "integrations/models/text.hpp"

namespace quell::integrations {
namespace {

using rule = std::optional<std::string>;

bool text_is_blank(const json& value) { return !value.is_string() || blank(value.get_ref<const std::string&>()); }

rule wrong_tools(const json& body, bool anthropic) {
  const json& tools = member(body, "tools");
  if (tools.is_null()) return std::nullopt;
  if (!tools.is_array() || tools.empty()) return "tools is not a list, or an empty one";
  std::set<std::string> names;
  for (const json& tool : tools) {
    const json& what = anthropic ? tool : member(tool, "function");
    if (!anthropic && text_member(tool, "type") != "function") return "a tool's type is not function";
    const std::string name = text_member(what, "name");
    if (!valid_name(name)) return "the tool name \"" + name + "\" is not allowed";
    if (!names.insert(name).second) return "the tool " + name + " is there twice";
    const json& schema = member(what, anthropic ? "input_schema" : "parameters");
    if (text_member(schema, "type") != "object") return "the schema of tool " + name + " is not that of an object";
  }
  return std::nullopt;
}

/// Both providers' rules for the calls of a conversation.
class call_tracker {
 public:
  rule call(const std::string& id, const std::string& name) {
    if (id.empty()) return "a call without an id";
    if (!std::all_of(id.begin(), id.end(), [](char c) { return valid_name({&c, 1}); }))
      return "the call id " + id + " has a character that is not allowed";
    if (!used_.insert(id).second) return "the call id " + id + " is used twice";
    if (!valid_name(name)) return "call " + id + " names a tool \"" + name + "\", which is not a name";
    open_.push_back(id);
    return std::nullopt;
  }
  rule answer(const std::string& id) {
    if (open_.empty()) return "a result for " + id + ", which no message just before it calls";
    if (open_.front() != id) return "a result for " + id + " where that of " + open_.front() + " is due";
    open_.erase(open_.begin());
    return std::nullopt;
  }
  rule unanswered() const {
    if (open_.empty()) return std::nullopt;
    return "no result for call " + open_.front() + " right after it";
  }

 private:
  std::set<std::string> used_;
  std::vector<std::string> open_; ///< unanswered calls, in call order
};

bool is_data_uri(const std::string& text, std::string_view begin) {
  const auto comma = text.find(";base64,");
  return text.starts_with(begin) && comma != std::string::npos && comma + 8 < text.size();
}

rule wrong_source(const json& block) {
  const json& source = member(block, "source");
  if (text_member(source, "type") != "base64" || text_member(source, "data").empty())
    return "an " + text_member(block, "type") + " without bytes";
  const bool is_image = text_member(source, "media_type").starts_with("image/");
  return is_image == (text_member(block, "type") == "image") ? std::nullopt
                                                             : rule("a block with bytes of another type");
}

/// The content of a result: a text, or blocks of texts and, unless it is an error, bytes.
rule wrong_result_content(const json& block) {
  const json& content = member(block, "content");
  if (!content.is_array()) return text_is_blank(content) ? rule("a tool result without content") : std::nullopt;
  if (content.empty()) return "a tool result without content";
  for (const json& part : content) {
    if (text_member(part, "type") == "text") {
      if (text_is_blank(member(part, "text"))) return "a text block that is empty";
      continue;
    }
    if (member(block, "is_error") == json(true)) return "an error result with bytes";
    if (auto wrong = wrong_source(part)) return wrong;
  }
  return std::nullopt;
}

rule wrong_anthropic_block(const json& block, bool user, bool& answers_may_come, call_tracker& calls) {
  const std::string type = text_member(block, "type");
  if (type == "text") {
    if (user) {
      if (auto open = calls.unanswered()) return open;
      answers_may_come = false;
    }
    return text_is_blank(member(block, "text")) ? rule("a text block that is empty") : std::nullopt;
  }
  if (type == "image" || type == "document") {
    if (!user) return "the assistant sends an " + type;
    if (auto open = calls.unanswered()) return open;
    answers_may_come = false;
    return wrong_source(block);
  }
  if (type == "thinking" || type == "redacted_thinking") return user ? rule("the user thinks") : std::nullopt;
  if (type == "tool_use") {
    if (user) return "the user makes a tool call";
    if (!member(block, "input").is_object())
      return "the input of call " + text_member(block, "id") + " is not an object";
    return calls.call(text_member(block, "id"), text_member(block, "name"));
  }
  if (type != "tool_result") return "a block of type \"" + type + "\"";
  if (!user) return "the assistant gives a tool result";
  if (!answers_may_come) return "a tool result after a text";
  if (!member(block, "is_error").is_null() && !member(block, "is_error").is_boolean())
    return "is_error is not a boolean";
  if (auto wrong = wrong_result_content(block)) return wrong;
  return calls.answer(text_member(block, "tool_use_id"));
}

std::size_t marks_in(const json& value) {
  std::size_t marks = value.is_object() && value.contains("cache_control") ? 1 : 0;
  if (value.is_structured())
    for (const json& inner : value) marks += marks_in(inner);
  return marks;
}

rule wrong_marks(const json& body) {
  constexpr std::size_t most = 4;
  const auto marks =
      marks_in(member(body, "system")) + marks_in(member(body, "tools")) + marks_in(member(body, "messages"));
  return marks > most ? rule("more than 4 blocks are marked with cache_control") : std::nullopt;
}

rule wrong_anthropic(const json& body) {
  if (count_member(body, "max_tokens") == 0) return "max_tokens is missing";
  const json& system = member(body, "system");
  if (system.is_array()) {
    if (system.empty() || text_is_blank(member(system.back(), "text"))) return "system is empty";
  } else if (!system.is_null() && text_is_blank(system)) {
    return "system is empty";
  }
  if (auto wrong = wrong_marks(body)) return wrong;
  call_tracker calls;
  bool any_call = false;
  std::string before = "assistant";
  for (const json& message : member(body, "messages")) {
    const std::string role = text_member(message, "role");
    if (role != "user" && role != "assistant") return "a message of role \"" + role + "\"";
    if (role == before) return "two messages of " + role + " in a row, or the first is not the user's";
    before = role;
    const json& content = member(message, "content");
    if (!content.is_array() || content.empty()) return "a message of " + role + " without content";
    bool answers_may_come = true;
    for (const json& block : content) {
      if (auto wrong = wrong_anthropic_block(block, role == "user", answers_may_come, calls)) return wrong;
      any_call |= text_member(block, "type") == "tool_use";
    }
    if (auto open = calls.unanswered(); open && role == "user") return open;
  }
  if (before != "user") return "the last message is not the user's";
  if (any_call && member(body, "tools").is_null()) return "there are tool calls, but no tools are declared";
  return std::nullopt;
}

rule wrong_openai_calls(const json& message, call_tracker& calls) {
  const json& made = member(message, "tool_calls");
  if (made.is_null())
    return text_is_blank(member(message, "content")) ? rule("an assistant message without text and calls")
                                                     : std::nullopt;
  if (!made.is_array() || made.empty()) return "tool_calls is not a list, or an empty one";
  if (!member(message, "content").is_null() && text_is_blank(member(message, "content"))) return "empty assistant text";
  for (const json& call : made) {
    const json& function = member(call, "function");
    const auto arguments = parse_json(text_member(function, "arguments"));
    if (text_member(call, "type") != "function") return "a call's type is not function";
    if (!arguments || !arguments->is_object())
      return "the arguments of call " + text_member(call, "id") + " are not a JSON object";
    if (auto wrong = calls.call(text_member(call, "id"), text_member(function, "name"))) return wrong;
  }
  return std::nullopt;
}

rule wrong_openai_content(const json& message, const std::string& role) {
  const json& content = member(message, "content");
  if (!content.is_array())
    return text_is_blank(content) ? rule("a message of " + role + " without content") : std::nullopt;
  if (role != "user" || content.empty()) return "a message of " + role + " with parts";
  for (const json& part : content) {
    const std::string type = text_member(part, "type");
    if (type == "text" && text_is_blank(member(part, "text"))) return "a text part that is empty";
    if (type == "image_url" && !is_data_uri(text_member(member(part, "image_url"), "url"), "data:image/"))
      return "an image without bytes";
    if (type == "file" && (text_member(member(part, "file"), "filename").empty() ||
                           !is_data_uri(text_member(member(part, "file"), "file_data"), "data:application/pdf")))
      return "a file without name or bytes";
    if (type != "text" && type != "image_url" && type != "file") return "a part of type \"" + type + "\"";
  }
  return std::nullopt;
}

rule wrong_openai(const json& body) {
  call_tracker calls;
  std::string before;
  for (const json& message : member(body, "messages")) {
    const std::string role = text_member(message, "role");
    if (role == "tool") {
      if (text_is_blank(member(message, "content"))) return "a tool result without content";
      if (auto wrong = calls.answer(text_member(message, "tool_call_id"))) return wrong;
    } else {
      if (auto open = calls.unanswered()) return open;
    }
    if (role == "system" && !before.empty()) return "a system message that is not the first";
    if (role == "assistant") {
      if (before != "user" && before != "tool") return "an assistant message after \"" + before + "\"";
      if (auto wrong = wrong_openai_calls(message, calls)) return wrong;
    } else if (role == "user" && before == "user") {
      return "two user messages in a row";
    } else if (role != "tool" && role != "user" && role != "system") {
      return "a message of role \"" + role + "\"";
    }
    if (role != "assistant")
      if (auto wrong = wrong_openai_content(message, role)) return wrong;
    before = role;
  }
  if (auto open = calls.unanswered()) return open;
  if (before != "user" && before != "tool") return "the last message is not the user's or a tool's";
  return std::nullopt;
}

} // namespace

std::optional<std::string> broken_rule(provider whose, std::string_view request_json) {
  const bool anthropic = whose == provider::anthropic;
  const auto body = parse_json(request_json);
  if (!body || !body->is_object()) return "the request is not a JSON object";
  if (repaired(request_json) != request_json) return "the request is not valid UTF-8";
  if (text_member(*body, "model").empty()) return "no model is named";
  const json& messages = member(*body, "messages");
  if (!messages.is_array() || messages.empty()) return "there are no messages";
  if (auto wrong = wrong_tools(*body, anthropic)) return wrong;
  return anthropic ? wrong_anthropic(*body) : wrong_openai(*body);
}

} // namespace quell::integrations
