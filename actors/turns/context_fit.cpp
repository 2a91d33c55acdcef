// Trims results, then leaves out whole exchanges: a message of a person with all that answers it.
#include "actors/turns/context_fit.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "protocol/note.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::turns {
namespace {

constexpr std::size_t tokens_of_a_message = 6; ///< role and separators
constexpr std::size_t untrimmed_bytes = 600;   ///< a result of this size is never trimmed
constexpr std::size_t kept_bytes = 300;        ///< of a trimmed result
constexpr std::size_t kept_of_newest = 4'000;  ///< of a result of the newest round
constexpr std::size_t request_bytes = 200, answer_bytes = 240;
constexpr std::size_t first_lines = 4; ///< of a note that has no room for all of them

struct exchange {
  std::size_t begin = 0, end = 0; ///< in the conversation
};

bool is_note_entry(const conversation_entry& entry) {
  const auto* user_words = std::get_if<user_message>(&entry);
  return user_words && is_note(user_words->text);
}

bool begins_exchange(const conversation_entry& entry) {
  return std::holds_alternative<user_message>(entry) && !is_note_entry(entry);
}

/// Where the turn's own exchange begins: at the last message of a person.
std::size_t own_begin(const conversation& all) {
  for (std::size_t i = all.size(); i > 0; --i)
    if (begins_exchange(all[i - 1])) return i - 1;
  return 0;
}

std::size_t tokens_of(const conversation_entry& entry) {
  std::size_t tokens = tokens_of_a_message;
  if (const auto* user_words = std::get_if<user_message>(&entry)) tokens += estimated_tokens(user_words->text);
  if (const auto* answer = std::get_if<assistant_message>(&entry)) {
    tokens += estimated_tokens(answer->text);
    for (const auto& block : answer->thinking) tokens += estimated_tokens(block.block);
    for (const auto& call : answer->calls)
      tokens += tokens_of_a_message + estimated_tokens(call.name) + estimated_tokens(call.input);
  }
  if (const auto* results = std::get_if<tool_results>(&entry))
    for (const auto& one : results->results) tokens += tokens_of_a_message + estimated_tokens(one.result);
  return tokens;
}

/// The beginning of a text on one line.
std::string beginning(std::string_view text, std::size_t most) {
  std::string line(utf8_prefix(text, most));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return line.size() < text.size() ? line + "…" : line;
}

/// True if the result became shorter.
bool trim(tool_result& result, std::size_t keep) {
  if (result.result.size() <= std::max(untrimmed_bytes, 2 * keep)) return false;
  const nlohmann::json shorter = {{"trimmed", true},
                                  {"bytes", result.result.size()},
                                  {"beginning", std::string(utf8_prefix(result.result, keep))},
                                  {"note", "cut to make room in the context; call the tool again for the rest"}};
  result.result = shorter.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return true;
}

class fitting {
 public:
  fitting(conversation all, std::size_t tokens) : all_(std::move(all)), room_(tokens) {
    for (const auto& entry : all_) used_ += tokens_of(entry);
  }

  fitted_conversation run() && {
    trim_results(0, own_begin(all_), kept_bytes);
    leave_out_oldest();
    const auto own = own_begin(all_);
    trim_results(own, newest_results(), kept_bytes);
    trim_results(own, all_.size(), kept_of_newest);
    return {std::move(all_), trimmed_, left_out_, used_, used_ <= room_};
  }

 private:
  /// The oldest first, until everything fits.
  void trim_results(std::size_t begin, std::size_t end, std::size_t keep) {
    for (auto i = begin; i < end && used_ > room_; ++i) {
      auto* results = std::get_if<tool_results>(&all_[i]);
      if (!results) continue;
      const auto before = tokens_of(all_[i]);
      for (auto& one : results->results) trimmed_ += trim(one, keep) ? 1 : 0;
      used_ -= before - tokens_of(all_[i]);
    }
  }

  std::size_t newest_results() const {
    for (std::size_t i = all_.size(); i > 0; --i)
      if (std::holds_alternative<tool_results>(all_[i - 1])) return i - 1;
    return all_.size();
  }

  void leave_out_oldest() {
    if (used_ <= room_) return;
    const auto own = own_begin(all_);
    std::size_t gone = 0, freed = 0;
    std::vector<std::string> lines;
    while (gone < own && used_ - freed + note_tokens(lines, gone) > room_) {
      auto next = gone + 1;
      while (next < own && !begins_exchange(all_[next])) ++next;
      lines.push_back(line_of({gone, next}));
      for (auto i = gone; i < next; ++i) freed += tokens_of(all_[i]);
      gone = next;
    }
    if (gone == 0) return;
    const user_message note_of_all{note_text(lines, gone)};
    used_ = used_ - freed + tokens_of(note_of_all);
    all_.erase(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(gone));
    all_.insert(all_.begin(), note_of_all);
    left_out_ = gone;
  }

  std::string line_of(exchange e) const {
    std::string request, answer, notes;
    for (auto i = e.begin; i < e.end; ++i) {
      if (const auto* user_words = std::get_if<user_message>(&all_[i]))
        (is_note(user_words->text) ? notes : request) +=
            (is_note(user_words->text) ? " " : "") + beginning(user_words->text, request_bytes);
      if (const auto* answered = std::get_if<assistant_message>(&all_[i]); answered && !answered->text.empty())
        answer = beginning(answered->text, answer_bytes); // the last one is what the person read
    }
    std::string line = "\n- ";
    if (!request.empty()) line += "user: " + request;
    if (!answer.empty()) line += (request.empty() ? "you: " : " — you: ") + answer;
    return line + notes;
  }

  /// The note takes at most a quarter of the room: then lines in its middle are only counted.
  std::string note_text(const std::vector<std::string>& lines, std::size_t messages) const {
    std::string text = std::to_string(messages) +
                       " older messages of this conversation were left out to make room. How each exchange began:";
    std::size_t most = room_ / 4, tokens = estimated_tokens(text);
    std::size_t head = 0;
    while (head < lines.size() && head < first_lines && tokens + estimated_tokens(lines[head]) <= most)
      tokens += estimated_tokens(lines[head++]);
    auto tail = lines.size();
    while (tail > head && tokens + estimated_tokens(lines[tail - 1]) <= most) tokens += estimated_tokens(lines[--tail]);
    for (std::size_t i = 0; i < head; ++i) text += lines[i];
    if (tail > head) text += "\n- (" + std::to_string(tail - head) + " more exchanges)";
    for (auto i = tail; i < lines.size(); ++i) text += lines[i];
    return note(text);
  }
  std::size_t note_tokens(const std::vector<std::string>& lines, std::size_t messages) const {
    return lines.empty() ? 0 : tokens_of(user_message{note_text(lines, messages)});
  }

  conversation all_;
  std::size_t room_;
  std::size_t used_ = 0, trimmed_ = 0, left_out_ = 0;
};

} // namespace

std::size_t estimated_tokens(std::string_view text) {
  std::size_t ascii = 0, other = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80)
      ++ascii;
    else if ((byte & 0xC0U) != 0x80)
      ++other;
  }
  return (2 * ascii + 6) / 7 + other;
}

std::size_t estimated_tokens(const conversation& messages) {
  std::size_t tokens = 0;
  for (const auto& entry : messages) tokens += tokens_of(entry);
  return tokens;
}

fitted_conversation fit_into(conversation messages, std::size_t tokens) {
  return fitting(std::move(messages), tokens).run();
}

} // namespace quell::controller::turns
