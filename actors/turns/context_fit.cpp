// Trims results, then leaves out whole exchanges: a message of a person with all that answers it.
#include "actors/turns/context_fit.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "actors/turns/summary.hpp"
#include "protocol/note.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::turns {
namespace {

constexpr std::size_t tokens_of_a_message = 6; ///< role and separators
constexpr std::size_t untrimmed_bytes = 600;   ///< a result of this size is never trimmed
constexpr std::size_t kept_bytes = 300;        ///< of a trimmed result
constexpr std::size_t kept_of_newest = 4'000;  ///< of a result of the newest round
constexpr std::size_t request_bytes = 200, answer_bytes = 240;
constexpr std::size_t first_lines = 4;          ///< of a note that has no room for all of them
constexpr std::size_t tokens_around_lines = 60; ///< of such a note besides its lines

struct exchange {
  std::size_t begin = 0, end = 0; ///< in the conversation
};

bool is_summary_entry(const conversation_entry& entry) {
  const auto* user_words = std::get_if<user_message>(&entry);
  return user_words && is_summary_note(user_words->text);
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
    first_ = !all_.empty() && is_summary_entry(all_.front()) ? 1 : 0;
  }

  fitted_conversation run() && {
    trim_files(0, own_begin(all_));
    trim_results(0, own_begin(all_), kept_bytes);
    cut_summary();
    leave_out_oldest();
    const auto own = own_begin(all_);
    trim_results(own, newest_results(), kept_bytes);
    trim_results(own, all_.size(), kept_of_newest);
    trim_files(own, all_.size());
    return {std::move(all_), trimmed_, files_, left_out_, used_, used_ <= room_};
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

  /// The oldest first, until everything fits.
  void trim_files(std::size_t begin, std::size_t end) {
    for (auto i = begin; i < end && used_ > room_; ++i) {
      const auto before = tokens_of(all_[i]);
      for (auto* files : files_of(all_[i]))
        for (auto& one : *files) {
          if (!one.missing.empty()) continue;
          one.missing = "it was left out to make room in the context";
          one.content = nullptr;
          ++files_;
        }
      used_ -= before - tokens_of(all_[i]);
    }
  }

  std::size_t newest_results() const {
    for (std::size_t i = all_.size(); i > 0; --i)
      if (std::holds_alternative<tool_results>(all_[i - 1])) return i - 1;
    return all_.size();
  }

  /// The summary of a larger model's conversation can fill a smaller one: its ends stay, the newest facts last.
  void cut_summary() {
    if (first_ == 0 || used_ <= room_ || tokens_of(all_.front()) <= room_ / 2) return;
    auto& text = std::get<user_message>(all_.front()).text;
    const auto half = room_ / 2; // of the bytes that about room / 3 tokens take
    if (text.size() <= 2 * half) return;
    used_ -= tokens_of(all_.front());
    const auto end = character_boundary(text, text.size() - half);
    text = std::string(utf8_prefix(text, half)) + "\n(…)\n" + text.substr(end);
    used_ += tokens_of(all_.front());
  }

  void leave_out_oldest() {
    if (used_ <= room_) return;
    const auto own = own_begin(all_);
    std::size_t gone = first_, freed = 0, noted = 0;
    std::vector<std::string> lines;
    // The note's length from above, without writing it again for each exchange.
    const auto most_noted = [&] { return lines.empty() ? 0 : tokens_around_lines + std::min(noted, room_ / 4); };
    while (gone < own && used_ - freed + most_noted() > room_) {
      auto next = gone + 1;
      while (next < own && !begins_exchange(all_[next])) ++next;
      lines.push_back(line_of({gone, next}));
      noted += estimated_tokens(lines.back());
      for (auto i = gone; i < next; ++i) freed += tokens_of(all_[i]);
      gone = next;
    }
    if (gone == first_) return;
    left_out_ = gone - first_;
    const user_message note_of_all{note_text(lines, left_out_)};
    used_ = used_ - freed + tokens_of(note_of_all);
    const auto begin = all_.begin() + static_cast<std::ptrdiff_t>(first_);
    all_.erase(begin, all_.begin() + static_cast<std::ptrdiff_t>(gone));
    all_.insert(all_.begin() + static_cast<std::ptrdiff_t>(first_), note_of_all);
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

  conversation all_;
  std::size_t room_;
  std::size_t first_ = 0; ///< 1: the conversation begins with a summary, which stays
  std::size_t used_ = 0, trimmed_ = 0, files_ = 0, left_out_ = 0;
};

} // namespace

std::size_t estimated_tokens(std::string_view text) {
  std::size_t ascii = 0, other = 0;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x80)
      ++ascii;
    else if (!continues_character(c))
      ++other;
  }
  return (2 * ascii + 6) / 7 + other;
}

bool begins_exchange(const conversation_entry& entry) {
  const auto* stated = std::get_if<user_message>(&entry);
  return stated && !stated->steers && !is_note(stated->text);
}

std::size_t own_begin(const conversation& all) {
  for (std::size_t i = all.size(); i > 0; --i)
    if (begins_exchange(all[i - 1])) return i - 1;
  return 0;
}

std::vector<attachments*> files_of(conversation_entry& entry) {
  std::vector<attachments*> all;
  if (auto* message = std::get_if<user_message>(&entry); message && !message->files.empty())
    all.push_back(&message->files);
  if (auto* results = std::get_if<tool_results>(&entry))
    for (auto& one : results->results)
      if (!one.files.empty()) all.push_back(&one.files);
  return all;
}

std::size_t tokens_of(const conversation_entry& entry) {
  const auto of_files = [](const attachments& files) {
    std::size_t sum = 0;
    for (const auto& one : files) sum += attachment_tokens(one);
    return sum;
  };
  std::size_t tokens = tokens_of_a_message;
  if (const auto* user_words = std::get_if<user_message>(&entry))
    tokens += estimated_tokens(user_words->text) + of_files(user_words->files);
  if (const auto* answer = std::get_if<assistant_message>(&entry)) {
    tokens += estimated_tokens(answer->text);
    for (const auto& block : answer->thinking) tokens += estimated_tokens(block.block);
    for (const auto& call : answer->calls)
      tokens += tokens_of_a_message + estimated_tokens(call.name) + estimated_tokens(call.input);
  }
  if (const auto* results = std::get_if<tool_results>(&entry))
    for (const auto& one : results->results)
      tokens += tokens_of_a_message + estimated_tokens(one.result) + of_files(one.files);
  return tokens;
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
