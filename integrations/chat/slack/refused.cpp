// Messages that quelld could not take for the moment, or that come behind their edits: what is said about them before
// Slack brings them.
#include "integrations/chat/missed_messages.hpp"
#include "integrations/chat/slack/bot.hpp"

namespace quell::integrations::chat::slack {

void bot::refused(const std::string& key, const message& m, const classified& what) {
  if (events_.contains(key)) return; // a stop has covered it since it came
  message place;                     // without its words
  place.team = m.team;
  place.channel = m.channel;
  place.ts = m.ts;
  place.thread = m.thread;
  // Left out, it is not fetched after a restart either.
  refused_.add(key, {what.where, posted_at(m), !what.is_cancel,
                     [this, place, where = what.where] { mark_handled(place, where); }});
}

const std::string& bot::posted_at(const message& m) { return m.stamp.empty() ? m.ts : m.stamp; }

void bot::stop_refused(const scope_path& where, const std::string& answers, const std::string& posted) {
  const auto covered = refused_.stop(where, posted);
  for (const auto& key : covered.keys) {
    leave_out_held(key);
    events_.add(key);
  }
  if (covered.requests > 0) box.note(where, not_begun_text(covered.requests), answers, web_loop::now());
}

bool bot::leave_out(const std::string& key) {
  if (!refused_.leave_out(key)) return false;
  leave_out_held(key);
  events_.add(key);
  return true;
}

bool bot::change_refused(const std::string& key, message& m, bool is_cancel) {
  if (const auto at = undecided_.find(key); at != undecided_.end()) at->second = m;
  if (!refused_.contains(key)) return false;
  switch (change_of_refused(settings_.changes, m.what == message::news::deleted, is_cancel)) {
  case refused_change::none:
    return false;
  case refused_change::leave_out:
    return leave_out(key) && !is_cancel;
  case refused_change::ask:
    m.what = message::news::posted;
    return false;
  }
  return false;
}

void bot::keep_early(const std::string& key, const message& m, const classified& what) {
  if (events_.contains(key) || undecided_.contains(key)) return; // it has come
  const auto then = change_of_refused(settings_.changes, false, what.is_cancel);
  if (then != refused_change::none) early_.put(key, {m, then == refused_change::ask});
}

bool bot::follow_early(const std::string& key, message& m) const {
  const auto known = early_.find(key);
  if (!known || known->newest.stamp <= m.stamp) return true;
  if (!known->may_begin) return false;
  m = known->newest;
  m.what = message::news::posted;
  return true;
}

void bot::change_again(const std::string& key, message change) {
  const auto what = classify(change);
  const bool is_edit = change.what == message::news::edited;
  if (change_refused(key, change, is_edit && what && what->is_cancel) || change.what != message::news::posted) return;
  // Nobody repeats the edit: it was answered.
  take_message(
      std::move(change), [](const web_answer&) {}, delivery::last);
}

} // namespace quell::integrations::chat::slack
