// State over a restart, and messages sent while we were offline: fetched one channel after the other, page by page, at
// the pace that Slack allows.
//
// New messages in such a channel wait behind the fetched ones, because otherwise a stop of an hour ago would end them;
// but not for long. A cancel word never waits.
#include <algorithm>
#include <chrono>

#include <nlohmann/json.hpp>

#include "integrations/chat/json_text.hpp"
#include "integrations/chat/scope_text.hpp"
#include "integrations/chat/slack/bot.hpp"

namespace quell::integrations::chat::slack {
namespace {

using nlohmann::json;

constexpr unsigned most_pages = 5, most_tries = 6;
constexpr std::size_t most_threads = 20; ///< of one channel
constexpr std::chrono::hours oldest{24}; ///< as long as repeated messages are recognised
constexpr std::size_t most_nonce = 40;
constexpr milliseconds longest_wait{30'000}; ///< longest wait of new messages

/// ts, or the time one day ago if ts is older.
std::string not_too_old(const std::string& ts) {
  const auto now = std::chrono::system_clock::now().time_since_epoch() - oldest;
  auto least = ts_of(std::chrono::duration_cast<std::chrono::seconds>(now).count());
  return handled_marks::by_number{}(ts, least) ? least : ts;
}

void take_over(handled_marks& marks, const json& known, const char* name,
               const std::function<void(const std::string&)>& each) {
  if (!known.is_object() || !known.contains(name) || !known[name].is_object()) return;
  for (const auto& [place, ts] : known[name].items()) {
    if (!ts.is_string()) continue;
    marks.recall(place, ts.get<std::string>());
    each(place);
  }
}

} // namespace

std::string bot::more_to_keep() const {
  const json kept{{"heard", marks_.all()},
                  {"threads", thread_marks_.all()},
                  {"nonce", nonce_},
                  {"held", held_.to_keep()},
                  {"stops", stops_to_keep()}};
  return kept.dump(-1, ' ', false, json::error_handler_t::replace);
}

void bot::recall_more(const std::string& kept) {
  const auto known = json::parse(kept, nullptr, false);
  if (auto nonce = text_of(known, "nonce"); !nonce.empty() && nonce.size() <= most_nonce) nonce_ = std::move(nonce);
  take_over(marks_, known, "heard", [](const std::string&) {});
  take_over(thread_marks_, known, "threads", [this](const std::string& place) { threads_.add(place); });
  held_.recall(member(known, "held"));
  for (const auto& key : held_.left_out().in_order()) events_.add(key);
  recall_stops(member_of(known, "stops"));
}

json bot::stops_to_keep() const {
  json all = json::array();
  for (const auto& [channel, past] : pasts_)
    for (const auto& s : past.missed_here.stops())
      if (s.all_left_out() > 0)
        all.push_back({{"scope", s.scope.text()}, {"id", s.id}, {"left_out", s.all_left_out()}});
  return all;
}

void bot::recall_stops(const json& kept) {
  for (const auto& one : kept) {
    const auto where = scope_path::parse(text_of(one, "scope"));
    const auto texts = where ? texts_of(*where) : std::nullopt;
    const auto& left_out = member_of(one, "left_out");
    if (!texts || texts->size() < 3 || !left_out.is_number_unsigned()) continue;
    const auto channel = scope((*texts)[1], (*texts)[2], "");
    if (channel) untold_.push_back({*channel, *where, text_of(one, "id"), left_out.get<std::size_t>()});
  }
}

void bot::comes(const message& m, const scope_path& where) {
  const auto channel = scope(m.team, m.channel, "");
  if (pasts_.contains(channel->text())) return; // otherwise the missed messages would count as processed
  if (m.thread.empty())
    marks_.comes(channel->text(), m.ts);
  else if (threads_.contains(where.text()))
    thread_marks_.comes(where.text(), m.ts);
}

void bot::mark_handled(const message& m, const scope_path& where) {
  const auto channel = scope(m.team, m.channel, "");
  if (pasts_.contains(channel->text())) return;
  if (m.thread.empty())
    marks_.done(channel->text(), m.ts);
  else if (threads_.contains(where.text()))
    thread_marks_.done(where.text(), m.ts);
}

void bot::plan_to_catch_up() {
  for (const auto& [place, ts] : marks_.all()) {
    const auto where = scope_path::parse(place);
    const auto texts = where ? texts_of(*where) : std::nullopt;
    if (!texts || texts->size() != 3) continue;
    to_ask_.push_back({(*texts)[1], (*texts)[2], "", not_too_old(ts)});
  }
  std::stable_sort(to_ask_.begin(), to_ask_.end(), [](const history_question& a, const history_question& b) {
    return handled_marks::by_number{}(b.after, a.after);
  });
  for (const auto& q : to_ask_) pasts_[scope(q.team, q.channel, "")->text()];
  for (const auto& [place, ts] : thread_marks_.all()) {
    const auto thread = scope_path::parse(place);
    const auto texts = thread ? texts_of(*thread) : std::nullopt;
    if (!texts || texts->size() != 4 || not_too_old(ts) != ts) continue;
    const auto channel = scope((*texts)[1], (*texts)[2], "");
    if (const auto past = channel ? pasts_.find(channel->text()) : pasts_.end(); past != pasts_.end())
      past->second.threads.push_back(texts->back());
  }
  for (auto& [channel, p] : pasts_)
    std::sort(p.threads.begin(), p.threads.end(), [](const std::string& a, const std::string& b) {
      return handled_marks::by_number{}(b, a); // newest first
    });
  hold_again();
}

void bot::catch_up_next() {
  while (!to_ask_.empty()) {
    // Channels with waiting messages first.
    auto at = std::find_if(to_ask_.begin(), to_ask_.end(), [this](const history_question& q) {
      const auto past = pasts_.find(scope(q.team, q.channel, "")->text());
      return past != pasts_.end() && past->second.is_waited_for;
    });
    if (at == to_ask_.end()) at = to_ask_.begin();
    auto q = std::move(*at);
    to_ask_.erase(at);
    if (pasts_.contains(scope(q.team, q.channel, "")->text())) return ask_missed(std::move(q), most_pages, 1);
  }
}

void bot::wait_at_most(const std::string& channel) {
  if (std::exchange(pasts_[channel].is_waited_for, true)) return;
  after(longest_wait, [this, channel] {
    if (!pasts_.contains(channel)) return;
    log("what was said in " + channel + " while quelld was away was not to be had in time");
    caught_up(channel);
  });
}

void bot::hold_again() {
  for (const auto& s : std::exchange(untold_, {})) {
    pasts_[s.channel.text()].missed_here.recall_stop(s.where, s.id, s.left_out);
    wait_at_most(s.channel.text());
  }
  const auto all = held_.all();
  for (const auto& [key, m] : all) {
    const auto what = classify(m);
    const auto channel = scope(m.team, m.channel, "");
    if (!what || !channel || not_too_old(m.ts) != m.ts) {
      leave_out_held(key);
      continue;
    }
    wait_at_most(channel->text());
    auto& missed_here = pasts_[channel->text()].missed_here;
    if (!missed_here.add(what->where, m.ts, m) && !missed_here.is_full()) leave_out_held(key);
  }
}

bool bot::holds(const message& m, const classified& what, const answer& done) {
  const auto channel = scope(m.team, m.channel, "")->text();
  const auto key = m.team + "/" + m.channel + "/" + m.ts;
  auto now = m;
  now.what = message::news::posted;
  const bool is_edit = m.what == message::news::edited;
  const auto past = pasts_.find(channel);
  if (past == pasts_.end() || what.is_cancel) {
    // Its present form, if a crash comes before quelld has decided about the first one.
    if (is_edit && what.is_cancel)
      leave_out_held(key);
    else if (is_edit && held_.contains(key) && held_.has_room_for(key, now))
      held_.put(key, std::move(now));
    return false;
  }
  auto& p = past->second;
  if (is_edit && !p.missed_here.find(m.ts)) return false;
  if (!held_.has_room_for(key, m) || (p.missed_here.is_full() && !p.missed_here.find(m.ts))) {
    done({503, "too many messages wait for what was said before; repeat it\n"});
    return true;
  }
  if (is_edit)
    p.missed_here.change(m.ts, now);
  else if (!p.missed_here.add(what.where, m.ts, m)) { // a stop that came before it covers it
    leave_out_for_good(key);
    answer_when_kept(done);
    return true;
  }
  held_.put(key, *p.missed_here.find(m.ts)); // possibly a later form, which was fetched
  wait_at_most(channel);
  answer_when_kept(done);
  return true;
}

void bot::leave_out_for_good(const std::string& key) {
  held_.leave_out(key);
  events_.add(key);
  ++stop_changes_; // it can be a stop that left it out
}

void bot::leave_out_held(const std::string& key) {
  if (held_.contains(key)) leave_out_for_good(key);
}

void bot::answer_when_kept(const answer& done) {
  when_kept([done](bool is_stored) {
    done(is_stored ? web_answer{200, ""} : web_answer{503, "it cannot be stored for the moment; repeat it\n"});
  });
}

void bot::ask_missed(history_question q, unsigned pages, unsigned tries) {
  auto request = slack::request_of(settings_, q);
  loop->fetch(std::move(request), [this, q = std::move(q), pages, tries](const web_response& r) {
    missed(q, pages, tries, read_history(r, q, user_));
  });
}

void bot::missed(const history_question& q, unsigned pages, unsigned tries, history_answer a) {
  using end = history_answer::end;
  if (a.what == end::later && tries < most_tries) {
    const auto wait = std::max<milliseconds>(a.wait, std::chrono::seconds(1U << tries));
    return after(wait, [this, q, pages, tries] { ask_missed(q, pages, tries + 1); });
  }
  const auto where = scope(q.team, q.channel, q.thread);
  if (a.what == end::gone && where) (q.thread.empty() ? marks_ : thread_marks_).forget(where->text());
  if ((a.what == end::later || a.what == end::refused) && std::exchange(trouble_, a.error) != a.error)
    log("what was said in " + where->text() + " while quelld was away cannot be fetched (" + a.error + ")");
  const auto past = pasts_.find(scope(q.team, q.channel, "")->text());
  if (a.what != end::good || past == pasts_.end()) return go_on(q);
  auto& p = past->second;
  for (auto& ts : a.below)
    if (std::find(p.threads.begin(), p.threads.end(), ts) == p.threads.end()) p.threads.push_back(std::move(ts));
  for (auto& m : a.messages) hear_missed(std::move(m));
  if (a.cursor.empty() || pages <= 1) return go_on(q);
  auto next = q;
  next.cursor = std::move(a.cursor);
  after(settings_.pace, [this, next, pages] { ask_missed(next, pages - 1, 1); });
}

void bot::hear_missed(message m) {
  const auto what = classify(m);
  const auto is_ours = what && (what->is_meant || what->is_cancel) && is_admitted(m.team, m.user);
  const auto channel = scope(m.team, m.channel, "");
  const auto past = channel ? pasts_.find(channel->text()) : pasts_.end();
  if (past == pasts_.end()) return;
  if (!is_ours || events_.contains(m.team + "/" + m.channel + "/" + m.ts)) return;
  if (what->is_cancel)
    return take_message(
        std::move(m), [](const web_answer&) {}, delivery::last);
  threads_.add(what->where.text()); // every answer there is meant for us
  const auto ts = m.ts;
  const auto key = m.team + "/" + m.channel + "/" + ts;
  if (!past->second.missed_here.add(what->where, ts, std::move(m)) && !past->second.missed_here.is_full())
    leave_out_for_good(key);
}

void bot::go_on(const history_question& last) {
  const auto channel = *scope(last.team, last.channel, "");
  const auto past = pasts_.find(channel.text());
  auto* threads = past == pasts_.end() ? nullptr : &past->second.threads;
  if (threads && threads->size() > most_threads) threads->resize(most_threads);
  if (threads && !threads->empty()) {
    history_question next{last.team, last.channel, threads->front(), last.after};
    threads->pop_front();
    const auto marks = thread_marks_.all();
    const auto where = scope(next.team, next.channel, next.thread);
    const auto last_mark = where ? marks.find(where->text()) : marks.end();
    next.after = not_too_old(last_mark == marks.end() ? next.thread : last_mark->second);
    return after(settings_.pace, [this, next] { ask_missed(next, most_pages, 1); });
  }
  caught_up(channel.text());
  after(settings_.pace, [this] { catch_up_next(); });
}

void bot::caught_up(const std::string& channel) {
  const auto at = pasts_.find(channel);
  if (at == pasts_.end()) return;
  auto past = std::move(at->second);
  pasts_.erase(at);
  ++stop_changes_;
  for (const auto& s : past.missed_here.stops())
    if (s.all_left_out() > 0) box.note(s.scope, not_begun_text(s.all_left_out()), s.id, web_loop::now());
  for (auto& m : past.missed_here.take())
    take_message(
        std::move(m), [](const web_answer&) {}, delivery::last);
}

void bot::stops_missed(const scope_path& channel, const scope_path& where, const std::string& ts) {
  const auto past = pasts_.find(channel.text());
  const auto texts = texts_of(channel);
  if (past == pasts_.end() || !texts) return;
  for (const auto& id : past->second.missed_here.stop(where, ts))
    leave_out_for_good((*texts)[1] + "/" + (*texts)[2] + "/" + id); // Slack can bring it for five minutes
}

} // namespace quell::integrations::chat::slack
