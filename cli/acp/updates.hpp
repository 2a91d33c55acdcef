// A turn as an editor reads it: our events and stored messages as updates of an ACP session. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace quell::cli::acp {

using nlohmann::json;

enum class editor_request : std::uint8_t { permission, form };
/// The method of ACP.
const char* name_of(editor_request what);

/// Whether the editor shows forms (ACP's elicitation): then what a call asks is a form, else options to choose from.
enum class editor_shows : std::uint8_t { options, forms };

/// Names the matter that a person is asked about; the event `approval_resolved` has the same. `question`: "" = whether
/// the call may begin.
inline std::string question_key(const std::string& operation, const std::string& question) {
  return operation + " " + question;
}

/// A call of a tool that waits for a human.
struct human_question {
  std::string operation; ///< of the call
  std::string question;  ///< the id of what a call asks that has begun; "" = it waits to begin
  std::string scope;     ///< of the conversation
  bool is_agents;        ///< an agent asks the person whose message its turn answers
  editor_request how;
  json params; ///< of the request, without the session's id
  /// By `optionId`: the values that it gives to the question. Others give none.
  std::map<std::string, json> values = {};

  std::string key() const { return question_key(operation, question); }
};
/// Without the option to allow the call for longer.
human_question once_only(human_question q);

struct human_decision {
  bool accepts = false;
  bool is_dismissed = false; ///< neither yes nor no
  json values = json::object();
  bool is_always = false; ///< accepts, and the same call again for a while
  bool is_none = false;   ///< nobody decided: an error, a prompt that is being cancelled, what was not offered
};
/// `result` of the editor's answer; null: it was an error, which decides nothing.
human_decision decision_in(const human_question& q, const json& result);

/// One turn, event by event. Events can come twice after lost contact: text counts by its offset.
class turn_updates {
 public:
  explicit turn_updates(std::string turn) : turn_(std::move(turn)) {}

  /// The updates for this event, in order.
  std::vector<json> take(const json& event);
  /// The text that no event has shown.
  std::vector<json> rest(const std::string& whole_text);
  /// The question in an event `approval_required`.
  human_question question(const json& event, editor_shows editor) const;

 private:
  std::vector<json> text_update(std::uint64_t offset, const std::string& text);
  std::string call_key(const json& event) const;

  std::string turn_;
  std::uint64_t shown_ = 0;                  ///< code points of the turn's text
  std::map<std::string, std::string> calls_; ///< id of a call's operation, by agent and call; those that were shown
  std::map<std::string, bool> pending_;      ///< calls shown because they wait for a human
};

/// Words of ours at a call that is shown.
json call_note(const std::string& operation, const std::string& words);

/// A stored message (GET /v1/messages) as updates, for a session that is loaded.
std::vector<json> replayed(const json& message);

/// The past of a session: what its agent still reads of it, or reads a summary of.
class shown_past {
 public:
  /// The stored messages, in their order.
  void take(const json& message);
  bool is_empty() const { return !any_; } ///< no message was there, shown or not
  std::vector<json> updates() && { return std::move(updates_); }

 private:
  std::vector<json> updates_;
  std::set<std::string> gone_; ///< turns whose request the conversation no longer has
  bool any_ = false;
};

/// An image of a prompt, decoded and checked.
struct prompt_image {
  std::string type, name, bytes;
};
struct prompt_content {
  std::string text; ///< links are named, embedded texts are part of it
  std::vector<prompt_image> images;
};
/// The text and the images of a prompt; nullopt if a part of it cannot be sent, with `why`.
std::optional<prompt_content> prompt_content_of(const json& blocks, std::string& why);

/// `end_turn`, `max_tokens` or `refusal`.
std::string stop_reason_of(const std::string& ours);

} // namespace quell::cli::acp
