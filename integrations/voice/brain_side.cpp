// Contexts: a cancel overrides and clears a rephrasing; an answer uses up either one, a failed query does not.
#include "integrations/voice/brain_side.hpp"

#include "integrations/voice/words.hpp"
#include "protocol/utf8.hpp"

namespace quell::integrations::voice {

namespace {
constexpr std::size_t most_remembered = 20, most_excerpt_bytes = 200;
}

void brain_side::begin() { send(tag::session_start, R"({"agent_file":null,"session_dir":null})"); }

void brain_side::on_gateway_message(const frame& f) {
  switch (f.tag) {
  case tag::transcript:
    return ask(f.payload);
  case tag::brain_cancel:
    return cancelled();
  case tag::brain_choice:
    return chosen(choice_in(f.payload));
  case tag::brain_summary_request:
    return send(tag::brain_summary, summary());
  default:
    return;
  }
}

void brain_side::ask(const std::string& text) {
  has_exchange_ = true;
  if (open_) effect(brain_effects::drop{open_->n});
  open_ = query{++last_, text};
  std::string_view before;
  if (next_ == context::cancelled) before = cancel_context;
  if (next_ == context::rephrased) before = retry_context;
  effect(brain_effects::ask{last_, std::string(before), text});
}

void brain_side::answered(query_number n, std::string text) {
  if (!open_ || open_->n != n || open_->answer) return;
  next_ = context::none;
  text = std::string(utf8_prefix(text, most_text_bytes));
  if (how_ == manner::asks) {
    send(tag::question, text);
    open_->answer = std::move(text);
    return;
  }
  keep(*open_, text);
  open_.reset();
  send(tag::answer, std::move(text));
}

void brain_side::failed(query_number n, const std::string& why) {
  if (!open_ || open_->n != n || open_->answer) return;
  open_.reset();
  send(tag::answer, why);
}

/// Before the first exchange there is nothing to cancel, and so no context.
void brain_side::cancelled() {
  if (!has_exchange_) return;
  next_ = context::cancelled;
  if (open_) effect(brain_effects::drop{open_->n});
  open_.reset();
  if (!past_.empty() && past_.back().n == last_) past_.pop_back(); // cancelled while or after it was spoken
}

void brain_side::chosen(user_choice what) {
  if (!open_ || !open_->answer) return;
  const auto q = *std::exchange(open_, std::nullopt);
  if (what == user_choice::go_on) {
    keep(q, *q.answer);
    return send(tag::answer, *q.answer);
  }
  if (next_ != context::cancelled) next_ = context::rephrased;
}

void brain_side::keep(const query& q, std::string answer) {
  past_.push_back({q.n, q.text, std::move(answer)});
  if (past_.size() > most_remembered) past_.pop_front();
}

std::string brain_side::summary() const {
  if (past_.empty()) return "Nothing was answered yet.";
  std::string all;
  for (const auto& s : past_) {
    all += std::string(you_prefix) + std::string(utf8_prefix(s.text, most_excerpt_bytes)) + "\n";
    all += std::string(ai_prefix) + std::string(utf8_prefix(s.answer, most_excerpt_bytes)) + "\n";
  }
  return all;
}

} // namespace quell::integrations::voice
