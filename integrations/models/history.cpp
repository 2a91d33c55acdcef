// Reorders a conversation so that every provider accepts it.
#include "integrations/models/history.hpp"

#include <algorithm>
#include <map>

#include "integrations/models/limits.hpp"
#include "integrations/models/text.hpp"
#include "protocol/note.hpp"

namespace quell::integrations {
namespace {

constexpr std::size_t longest_name = 64;
constexpr std::size_t longest_sent_id = 40; // OpenAI refuses longer ones
constexpr std::string_view interrupted =
    R"({"ok":false,"error":{"code":"interrupted","message":"The tool call was interrupted; its result is not known."}})";

bool plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

std::string sendable_name(const std::string& name) {
  std::string fit = name.substr(0, longest_name);
  std::replace_if(
      fit.begin(), fit.end(), [](char c) { return !plain(c); }, '_');
  return fit.empty() ? "unnamed" : fit;
}

class orderer {
 public:
  void take(const user_message& user) {
    open_calls_end();
    const bool is_empty = blank(user.text);
    add_user(!is_empty ? repaired(user.text) : user.files.empty() ? "(empty message)" : "", user.files, user.steers);
  }

  void take(const assistant_message& assistant) {
    open_calls_end();
    assistant_message fit;
    if (!blank(assistant.text)) fit.text = repaired(assistant.text);
    for (const tool_call& call : assistant.calls) {
      const bool sendable =
          call.call.size() <= longest_sent_id && std::all_of(call.call.begin(), call.call.end(), plain);
      fit.calls.push_back({ids_.unique(sendable ? call.call : ""), sendable_name(call.name), call.input});
      open_calls_.push_back(call.call);
    }
    if (fit.text.empty() && fit.calls.empty()) return;
    fit.thinking = assistant.thinking;
    if (out.empty()) add_user("(The beginning of the conversation is left out.)");
    auto* before = std::get_if<assistant_message>(&out.back());
    if (!before) {
      out.emplace_back(std::move(fit));
      return;
    }
    // The calls of a message are answered before the next message is taken, so the previous one has no open calls.
    if (!before->text.empty() && !fit.text.empty()) before->text += "\n\n";
    for (auto& one : fit.thinking) one.text_before += before->text.size();
    before->text += fit.text;
    before->calls = std::move(fit.calls);
    before->thinking = std::move(fit.thinking);
  }

  void take(const tool_results& results) {
    if (open_calls_.empty()) return;
    std::multimap<std::string_view, const tool_result*> came;
    for (const tool_result& result : results.results) came.emplace(result.call, &result);
    const auto& calls = std::get<assistant_message>(out.back()).calls;
    tool_results fit;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      tool_result answer{calls[i].call, calls[i].name, false, false, std::string(interrupted)};
      if (const auto found = came.find(open_calls_[i]); found != came.end()) {
        answer.ok = found->second->ok;
        answer.cancelled = found->second->cancelled;
        answer.result = blank(found->second->result) ? "(no output)" : repaired(found->second->result);
        answer.files = found->second->files;
        came.erase(found); // if two calls share an id, each gets its own result
      }
      fit.results.push_back(std::move(answer));
    }
    open_calls_.clear();
    out.emplace_back(std::move(fit));
  }

  void end() {
    open_calls_end();
    if (out.empty()) add_user("(empty message)");
    if (std::holds_alternative<assistant_message>(out.back())) add_user("(Go on.)");
  }

  conversation out;

 private:
  void open_calls_end() { take(tool_results{}); }

  /// `steers`: it was told to the turn of the message before it, so that one is answered together with it.
  void add_user(std::string text, const attachments& files = {}, bool steers = false) {
    const bool note_comes = is_note(text);
    auto* before = out.empty() ? nullptr : std::get_if<user_message>(&out.back());
    if (before) {
      // Keeps two user requests apart, so that they do not read as one.
      if (!last_was_note_ && !steers && !is_note(text))
        before->text += (before->text.empty() ? "" : "\n\n") + no_answer_note();
      if (!before->text.empty() && !text.empty()) before->text += "\n\n";
      before->text += text;
      before->files.insert(before->files.end(), files.begin(), files.end());
    } else
      out.emplace_back(user_message{std::move(text), files, steers});
    last_was_note_ = note_comes;
  }

  bool last_was_note_ = false; ///< whether the newest user message was a note
  call_ids ids_;
  std::vector<std::string> open_calls_; ///< the stored ids of the last message's unanswered calls
};

} // namespace

bool valid_name(std::string_view name) {
  return !name.empty() && name.size() <= longest_name && std::all_of(name.begin(), name.end(), plain);
}

conversation orderly(const conversation& messages) {
  orderer order;
  for (const conversation_entry& entry : messages) std::visit([&](const auto& one) { order.take(one); }, entry);
  order.end();
  return std::move(order.out);
}

call_ids::call_ids(const conversation& messages) {
  for (const conversation_entry& entry : messages)
    if (const auto* assistant = std::get_if<assistant_message>(&entry))
      for (const tool_call& call : assistant->calls) used_.insert(call.call);
}

std::string call_ids::unique(const std::string& wanted) {
  if (!wanted.empty() && wanted.size() <= limits::call_id_bytes && character_length(wanted) != 0 &&
      repaired(wanted) == wanted && used_.insert(wanted).second)
    return wanted;
  for (;;) {
    std::string own = "call_" + std::to_string(next_++);
    if (used_.insert(own).second) return own;
  }
}

} // namespace quell::integrations
