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

bool bot::is_meant(const message& m) const {
  if (m.command == "start" || !chat::is_admitted(settings_.chats, settings_.users, m.chat, m.user)) return false;
  if (stops(m)) return true;
  if (settings_.is_cancel && settings_.is_cancel(m.text, names())) return false; // for somebody else
  return m.is_addressed || !settings_.only_addressed;
}

void bot::take_batch(std::vector<update> batch, bool is_first) {
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
  if (is_first)
    for (const auto& covered : lines_.leave_out_stopped()) leave_out(covered);
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
          updates_.add(std::to_string(u.id));
          lines_.done(u.id);
        } else {
          leave_out(lines_.refused(u.id));
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
  for (const auto& [id, u] : batch_)
    if (id > *held && updates_.contains(std::to_string(id))) updates_.add_kept(std::to_string(id)); // it comes again
  set_state("connected as @" + me_.username + ", but quelld cannot take messages for the moment");
  after(settings_.retry_first, [this] { poll(); }); // no longer wait: a stop can come any time
}

void bot::leave_out(const update_lines::overtaken& covered) {
  std::size_t count = 0; // of those that would have begun
  for (const auto id : covered.left_out) {
    const auto& u = batch_.at(id);
    updates_.add_kept(std::to_string(id));
    if (const auto* m = std::get_if<message>(&u.what); m && m->stamp.empty() && is_meant(*m)) ++count;
  }
  if (covered.stop) tell_left_out(count, batch_.at(*covered.stop));
}

void bot::tell_left_out(std::size_t count, const update& stop) {
  const auto* m = std::get_if<message>(&stop.what);
  if (count > 0 && m) box.note(*place_of(stop), not_begun_text(count), m->id, web_loop::now());
}

void bot::stop_refused(const update& u) {
  const auto where = place_of(u);
  if (!where) return;
  const auto covered = refused_.stop(*where, std::to_string(u.id));
  for (const auto& number : covered.keys) updates_.add_kept(number);
  tell_left_out(covered.requests, u);
}

} // namespace quell::integrations::chat::telegram
