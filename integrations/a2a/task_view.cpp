// Artifacts can come whole, in pieces, and again; what is kept of them is bounded.
#include "integrations/a2a/task_view.hpp"

#include <algorithm>
#include <array>

#include "integrations/a2a/limits.hpp"
#include "integrations/mcp/media.hpp"
#include "integrations/models/text.hpp"
#include "protocol/utf8.hpp"

namespace quell::integrations::a2a {
namespace {

struct state_name {
  const char* text;
  task_state state;
};
constexpr std::array<state_name, 8> state_names{{{"TASK_STATE_SUBMITTED", task_state::working},
                                                 {"TASK_STATE_WORKING", task_state::working},
                                                 {"TASK_STATE_COMPLETED", task_state::completed},
                                                 {"TASK_STATE_FAILED", task_state::failed},
                                                 {"TASK_STATE_CANCELED", task_state::canceled},
                                                 {"TASK_STATE_REJECTED", task_state::rejected},
                                                 {"TASK_STATE_INPUT_REQUIRED", task_state::input_required},
                                                 {"TASK_STATE_AUTH_REQUIRED", task_state::auth_required}}};

task_state state_named(const std::string& text) {
  const auto at = std::find_if(state_names.begin(), state_names.end(), [&](const auto& n) { return text == n.text; });
  return at == state_names.end() ? task_state::unknown : at->state;
}

bool is_plain_id(const std::string& id) {
  return !id.empty() && id.size() <= a2a_limits::id_bytes &&
         std::none_of(id.begin(), id.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

json text_block(std::string text) { return {{"type", "text"}, {"text", std::move(text)}}; }

std::size_t artifact_bytes(const json& value) {
  const auto* text = value.get_ptr<const std::string*>();
  return text ? text->size() : 0;
}

std::string type_of_part(const json& part) { return excerpt(text_member(part, "mediaType"), 64); }
std::string name_of_part(const json& part) { return excerpt(text_member(part, "filename"), 200); }

std::string line_for_file(const json& part, const std::string& what) {
  const auto type = type_of_part(part);
  return "[file " + name_of_part(part) + (type.empty() ? "" : ", " + type) + ", " + what + "]";
}

/// One block for the text parts of a message about a state.
std::string text_of_message(const json& message) {
  std::string text;
  const json& parts = member(message, "parts");
  if (!parts.is_array()) return text;
  for (const json& part : parts)
    if (const auto one = text_member(part, "text"); !one.empty()) text += (text.empty() ? "" : " ") + one;
  return excerpt(text, a2a_limits::status_characters);
}

const char* name_of_state(task_state state) {
  switch (state) {
  case task_state::completed:
    return "completed";
  case task_state::input_required:
    return "input_required";
  case task_state::failed:
    return "FAILED";
  case task_state::canceled:
    return "CANCELED";
  case task_state::rejected:
    return "REJECTED";
  case task_state::auth_required:
    return "AUTH_REQUIRED";
  case task_state::working:
    return "WORKING";
  case task_state::unknown:
    break;
  }
  return "unknown";
}

std::string failure_text(task_state state, const std::string& says) {
  const std::string rest = says.empty() ? std::string(", and does not say why") : ": " + says;
  if (state == task_state::rejected) return "the remote agent does not take this task (REJECTED)" + rest;
  if (state == task_state::canceled) return "the task was cancelled at the remote agent's side (CANCELED)" + rest;
  if (state == task_state::auth_required)
    return "the remote agent wants a login or a permission before it goes on (AUTH_REQUIRED)" + rest +
           ". It is not waited for: its task was told to stop. Tell the user that somebody must grant it there";
  return "the remote agent's task ended as FAILED" + rest;
}

} // namespace

bool is_final(task_state state) {
  return state == task_state::completed || state == task_state::failed || state == task_state::canceled ||
         state == task_state::rejected;
}

bool task_view::is_over() const {
  return is_message_ || is_final(state_) || state_ == task_state::input_required || state_ == task_state::auth_required;
}

bool task_view::take_ids(const json& what, const char* id_name) {
  const auto id = text_member(what, id_name), context = text_member(what, "contextId");
  if (!is_plain_id(id) || (!id_.empty() && id != id_)) return false;
  id_ = id;
  if (is_plain_id(context)) context_ = context;
  return true;
}

bool task_view::take(const json& what) {
  if (!what.is_object()) return false;
  if (const json& task = member(what, "task"); task.is_object()) return take(task);
  if (const json& message = member(what, "message"); message.is_object() && id_.empty()) {
    if (const auto context = text_member(message, "contextId"); is_plain_id(context)) context_ = context;
    is_message_ = true;
    artifacts_.emplace_back();
    take_parts(member(message, "parts"), artifacts_.back().blocks);
    return true;
  }
  if (const json& update = member(what, "statusUpdate"); update.is_object()) {
    if (!take_ids(update, "taskId")) return false;
    take_status(member(update, "status"));
    return true;
  }
  if (const json& update = member(what, "artifactUpdate"); update.is_object()) {
    if (!take_ids(update, "taskId")) return false;
    take_artifact(member(update, "artifact"),
                  member(update, "append") == json(true) ? artifact_text::appends : artifact_text::replaces);
    return true;
  }
  if (!member(what, "status").is_object() || !take_ids(what, "id")) return false;
  if (const json& all = member(what, "artifacts"); all.is_array() && !all.empty()) {
    artifacts_.clear();
    text_bytes_ = blocks_ = 0;
    media_.give_all_back();
    truncated_ = false;
    for (const json& one : all) take_artifact(one, artifact_text::replaces);
  }
  take_status(member(what, "status"));
  return true;
}

/// A final state stands: what comes late changes nothing.
void task_view::take_status(const json& status) {
  if (is_final(state_)) return;
  if (const auto state = state_named(text_member(status, "state")); state != task_state::unknown) state_ = state;
  status_text_ = text_of_message(member(status, "message"));
}

void task_view::take_artifact(const json& what, artifact_text how) {
  if (!what.is_object()) return;
  const auto id = text_member(what, "artifactId");
  auto at = std::find_if(artifacts_.begin(), artifacts_.end(), [&](const artifact& a) { return a.id == id; });
  if (at == artifacts_.end()) {
    if (artifacts_.size() >= a2a_limits::artifacts) {
      truncated_ = true;
      return;
    }
    artifacts_.push_back({id.substr(0, a2a_limits::id_bytes), json::array()});
    at = std::prev(artifacts_.end());
  } else if (how == artifact_text::replaces) {
    for (const json& block : at->blocks) {
      const auto media =
          artifact_bytes(member(block, "data")) + artifact_bytes(member(member(block, "resource"), "blob"));
      text_bytes_ -= std::min(text_bytes_, artifact_bytes(member(block, "text")));
      media_.give_back(media);
    }
    blocks_ -= std::min(blocks_, at->blocks.size());
    at->blocks = json::array();
  }
  take_parts(member(what, "parts"), at->blocks);
}

void task_view::take_parts(const json& parts, json& into) {
  if (!parts.is_array()) return;
  for (const json& part : parts) {
    if (!part.is_object()) continue;
    if (part.contains("text")) {
      add_text(text_member(part, "text"), into);
    } else if (part.contains("data")) {
      add_text(dump_json(part["data"]), into);
    } else if (auto raw = text_member(part, "raw"); !raw.empty()) {
      add_file(part, std::move(raw), into);
    } else if (const auto url = text_member(part, "url"); !url.empty()) {
      add_text(line_for_file(part, "at " + excerpt(url, a2a_limits::url_bytes)), into);
    }
  }
}

/// A file that exceeds a limit leaves a line.
void task_view::add_file(const json& part, std::string raw, json& into) {
  if (blocks_ >= a2a_limits::parts) {
    truncated_ = true;
    return;
  }
  if (const auto got = media_.take(raw.size()); got != media_room::share::answer::taken) {
    truncated_ = true;
    add_text(line_for_file(part, got == media_room::share::answer::call_full
                                     ? "left out: the files of one call have at most 32 MiB as they are sent"
                                     : "left out: the open calls of this agent hold too many files now; ask for it "
                                       "again when some have ended"),
             into);
    return;
  }
  const auto type = type_of_part(part);
  if (type.starts_with("image/"))
    add_block({{"type", "image"}, {"mimeType", type}, {"data", std::move(raw)}}, into);
  else
    add_block({{"type", "resource"},
               {"resource", {{"mimeType", type}, {"name", name_of_part(part)}, {"blob", std::move(raw)}}}},
              into);
}

/// Pieces of one text that are appended become one block.
void task_view::add_text(std::string text, json& into) {
  if (text_bytes_ + text.size() > a2a_limits::text_bytes) {
    truncated_ = true;
    text.resize(utf8_prefix(text, a2a_limits::text_bytes - text_bytes_).size());
  }
  if (text.empty()) return;
  text_bytes_ += text.size();
  if (!into.empty() && text_member(into.back(), "type") == "text")
    into.back()["text"].get_ref<std::string&>() += text;
  else
    add_block(text_block(std::move(text)), into);
}

void task_view::add_block(json block, json& into) {
  if (blocks_ >= a2a_limits::parts) {
    truncated_ = true;
    return;
  }
  ++blocks_;
  into.push_back(std::move(block));
}

mcp_call_events::finished task_view::end() const {
  mcp_call_events::finished done;
  done.truncated = truncated_;
  done.ok = is_message_ || state_ == task_state::completed || state_ == task_state::input_required;
  if (!done.ok) {
    const auto text = failure_text(state_, status_text_);
    done.result = dump_json({{"content", json::array({text_block(text)})}, {"isError", true}});
    return done;
  }
  json blocks = json::array();
  for (const auto& one : artifacts_)
    for (const json& block : one.blocks) blocks.push_back(block);
  done.media = mcp::take_media(blocks);
  std::string text;
  for (const json& block : blocks) {
    auto line = text_member(block, "text");
    if (text_member(block, "type") == "resource") {
      const json& file = member(block, "resource");
      line = "[file " + text_member(file, "name") + ", " + text_member(file, "mimeType") + ", left out]";
    }
    text += (text.empty() ? "" : "\n") + line;
  }
  json shown{{"state", is_message_ ? "completed" : name_of_state(state_)}, {"text", std::move(text)}};
  if (!context_.empty()) shown["conversation"] = context_;
  if (!id_.empty()) shown["task"] = id_;
  if (truncated_) shown["truncated"] = true;
  if (state_ == task_state::input_required) {
    shown["asks"] = status_text_;
    shown["how_to_answer"] = "call this tool again with this task and conversation, and the answer as message";
  } else if (!status_text_.empty() && text_member(shown, "text").empty()) {
    shown["text"] = status_text_;
  }
  done.result = dump_json(shown);
  return done;
}

} // namespace quell::integrations::a2a
