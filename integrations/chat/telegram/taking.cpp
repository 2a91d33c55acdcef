// A batch of updates: taken chat by chat, confirmed to Telegram up to the first one that must come again.
#include <algorithm>
#include <utility>

#include "integrations/chat/admission.hpp"
#include "integrations/chat/missed_messages.hpp"
#include "integrations/chat/scope_text.hpp"
#include "integrations/chat/telegram/bot.hpp"

namespace quell::integrations::chat::telegram {

std::optional<scope_path> bot::place_of(const update& u) {
  const auto scope = [](const std::string& chat, const std::string& topic) {
    return topic.empty() ? scope_of({"telegram", chat}) : scope_of({"telegram", chat, topic});
  };
  if (const auto* m = std::get_if<message>(&u.what)) return scope(m->chat, m->topic);
  if (const auto* p = std::get_if<pressed>(&u.what)) return scope(p->chat, p->topic);
  return std::nullopt;
}

std::vector<std::string> bot::names() const {
  std::vector<std::string> all;
  for (const auto& name : {me_.username, me_.name})
    if (!name.empty()) all.push_back(name);
  return all;
}

bool bot::stops(const message& m) const {
  return settings_.is_cancel && settings_.is_cancel(m.text, names()) && (m.is_addressed || !m.answers_others);
}

bool bot::stops(const update& u) const {
  const auto* m = std::get_if<message>(&u.what);
  return m && stops(*m) && chat::is_admitted(settings_.chats, settings_.users, m->chat, m->user);
}

void bot::take_batch(std::vector<update> batch) {
  std::vector<update_lines::entry> order;
  batch_.clear();
  std::int64_t buttons = 0;
  for (auto& u : batch) {
    if (u.id < offset_) continue;
    if (updates_.contains(std::to_string(u.id))) continue; // done, but behind one that was held back
    const auto where = place_of(u);
    const auto* m = std::get_if<message>(&u.what);
    // A button waits for nothing: its work exists already.
    auto chat = m ? m->chat : "button " + std::to_string(++buttons);
    order.push_back({u.id, std::move(chat), where, stops(u)});
    const auto id = u.id;
    batch_.emplace(id, std::move(u));
  }
  if (!batch.empty()) offset_ = std::max(offset_, batch.back().id + 1);
  lines_.assign(std::move(order), batch.size());
  is_batch_open_ = true;
  take_due();
}

void bot::take_due() {
  if (!is_batch_open_) return;
  for (auto due = lines_.due(); !due.empty(); due = lines_.due())
    for (const auto id : due) {
      const auto u = batch_.at(id); // a copy: the batch can end in this call
      take_update(u, [this, u](bool is_done) {
        if (!is_done && !is_quelld_ending_ && !lines_.may_hold()) {
          if (const auto* m = std::get_if<message>(&u.what)) tell_refused(*place_of(u), m->id, not_now());
          is_done = true;
        }
        if (is_done) {
          finish(u);
          lines_.done(u.id);
        } else {
          const auto overtaken = lines_.refused(u.id);
          for (const auto left : overtaken.left_out) finish(batch_.at(left));
          if (overtaken.stop) leave_out(overtaken.left_out.size(), batch_.at(*overtaken.stop));
        }
        loop->run([this] { take_due(); });
      });
    }
  if (lines_.is_over()) end_batch();
}

void bot::end_batch() {
  if (!std::exchange(is_batch_open_, false)) return;
  const auto held = lines_.first_held();
  if (!held) {
    set_state("connected as @" + me_.username);
    return poll();
  }
  offset_ = *held;
  set_state("connected as @" + me_.username + ", but quelld cannot take messages for the moment");
  after(settings_.retry_first, [this] { poll(); }); // no longer wait: a stop can come any time
}

void bot::finish(const update& u) { updates_.add(std::to_string(u.id)); }

void bot::leave_out(std::size_t count, const update& u) {
  const auto* m = std::get_if<message>(&u.what);
  if (count > 0 && m) box.note(*place_of(u), not_begun_text(count), m->id, web_loop::now());
}

void bot::stop_refused(const update& u) {
  const auto where = place_of(u);
  if (!where) return;
  const auto covered = refused_.stop(*where);
  for (const auto& number : covered) updates_.add(number);
  leave_out(covered.size(), u);
}

} // namespace quell::integrations::chat::telegram
