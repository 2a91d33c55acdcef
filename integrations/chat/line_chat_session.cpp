// Received messages, and the decisions about them.
#include "integrations/chat/line_chat_session.hpp"

#include "integrations/chat/stored_state.hpp"
#include "integrations/models/text.hpp"

namespace quell::integrations::chat {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_undecided = 64, most_undecided_cancels = 1024;

} // namespace

line_chat_session::line_chat_session(outbox_rules rules, cancel_test is_cancel, bool needs_address)
    : outbox_(std::move(rules)), is_cancel_(std::move(is_cancel)), needs_address_(needs_address), warnings_({10s, 3}) {}

void line_chat_session::on_event(const event& e, boot_time now) {
  outbox_.on_event(e, now);
  speak(now);
  plan(now);
}

bool line_chat_session::is_stop(const address_split& words, const std::vector<std::string>& names) const {
  return is_cancel_ && is_cancel_(words.text, names) && (words.is_addressed || !words.answers_others);
}

std::uint64_t line_chat_session::take(const scope_path& place, const address_split& words, const person& by,
                                      std::string id, std::vector<std::string> names, boot_time now, std::string key) {
  if (words.is_addressed && answers_question(place, words.text, by)) return 0;
  const bool is_cancel = is_stop(words, names);
  if (!is_cancel && is_cancel_ && is_cancel_(words.text, names)) return 0; // it tells somebody else to stop
  if (!words.is_addressed && needs_address_ && !is_cancel) return 0;
  // Bounded: a flood of messages is dropped; cancels have a larger limit of their own.
  if (undecided_.size() >= (is_cancel ? most_undecided_cancels : most_undecided)) {
    complain(place, "Too many messages at once; some are left out.", now);
    return 0;
  }
  undecided_.emplace(++last_mark_, place);
  received_.push_back(
      {last_mark_, message_of(place, words, by, std::move(id), std::move(names)), is_cancel ? "" : std::move(key)});
  return last_mark_;
}

incoming_message line_chat_session::message_of(const scope_path& place, const address_split& words, const person& by,
                                               std::string id, std::vector<std::string> names) const {
  incoming_message message;
  message.scope = place;
  message.id = std::move(id);
  message.text = words.text;
  message.author = by;
  message.addressed = words.is_addressed || !needs_address_;
  message.bot_names = std::move(names);
  return message;
}

void line_chat_session::drop(const operation_id& turn, boot_time now) {
  outbox_.drop(turn, now);
  speak(now);
  plan(now);
}

bool line_chat_session::answers_question(const scope_path& place, std::string_view text, const person& by) {
  const auto answer = read_approval(text);
  const auto call = answer ? questions_.find(place, answer->tail) : std::nullopt;
  if (!call) return false;
  undecided_.emplace(++last_mark_, place);
  approvals_.push_back({last_mark_, {place, *call, answer->approved, by, {}}});
  return true;
}

void line_chat_session::decided(std::uint64_t mark, const result<decision>& what, boot_time now) {
  if (const auto it = undecided_.find(mark); what && it != undecided_.end()) outbox_.passed_by(it->second, *what, now);
  is_settled(mark, !what && is_transient(what.error()));
  close(mark, what ? nullptr : &what.error(), "Not taken: ", now);
}

void line_chat_session::approved(std::uint64_t mark, const result<void>& what, boot_time now) {
  close(mark, what ? nullptr : &what.error(), "No: ", now);
}

void line_chat_session::close(std::uint64_t mark, const fault* why, const char* refusal, boot_time now) {
  const auto it = undecided_.find(mark);
  if (it == undecided_.end()) return;
  if (why) complain(it->second, refusal + why->detail, now);
  undecided_.erase(it);
  speak(now);
  plan(now);
}

std::vector<operation_id> line_chat_session::recall(std::string_view kept, boot_time now) {
  const auto known = read_stored_state(kept);
  is_behind_ = true;
  if (!known.more.empty()) recall_more(known.more);
  return outbox_.recover(known.shown, now);
}

void line_chat_session::events_are_complete(std::uint64_t newest, bool is_whole, boot_time now) {
  outbox_.caught_up(newest, is_whole);
  is_behind_ = false;
  speak(now);
  plan(now);
}

void line_chat_session::looked(const operation_id& which, std::optional<status> how, boot_time now) {
  outbox_.looked(which, how, now);
  speak(now);
  plan(now);
}

std::string line_chat_session::to_keep() const { return chat::text_of(stored_state{outbox_.kept(), more_to_keep()}); }

void line_chat_session::complain(const scope_path& place, const std::string& text, boot_time now) {
  if (!warnings_.take(place.text(), now)) return;
  outbox_.note(place, excerpt(text, 300), {}, now);
}

void line_chat_session::speak(boot_time now) {
  if (is_leaving_ || is_behind_ || !may_speak()) return;
  for (auto all = outbox_.due(now); !all.empty(); all = outbox_.due(now))
    for (const auto& a : all) outbox_.done(a.number, say(a), now);
}

std::optional<boot_time> line_chat_session::next_words(boot_time now) const {
  return is_behind_ ? std::nullopt : outbox_.next_at(now);
}

void line_chat_session::hang_up(std::string why, redial when) {
  if (!is_leaving_) disconnect_ = disconnect_request{std::move(why), when};
  is_leaving_ = true;
}

std::string line_chat_session::text_of(const action& a) {
  auto text = a.text;
  if (a.asks && a.asks->is_open) text += questions_.ask(a.place, a.asks->call);
  if (a.asks && !a.asks->is_open) questions_.answered(a.asks->call);
  return text;
}

} // namespace quell::integrations::chat
