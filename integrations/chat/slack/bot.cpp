// A Slack app's handling of its deliveries.
//
// A delivery is answered once quelld has decided, durably: Slack repeats a delivery that is not answered within three
// seconds, and a repeated message is recognised by its id. So nothing is lost if quelld dies in between.
#include "integrations/chat/slack/bot.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>

#include <nlohmann/json.hpp>

#include "integrations/chat/admission.hpp"
#include "integrations/chat/attached.hpp"
#include "integrations/chat/json_text.hpp"
#include "integrations/chat/scope_text.hpp"
#include "integrations/chat/slack/found_post.hpp"
#include "integrations/chat/slack/signature.hpp"
#include "integrations/chat/slack/slack.hpp"
#include "integrations/chat/slack/write.hpp"
#include "integrations/chat/web_files.hpp"

namespace quell::integrations::chat {
namespace slack {
namespace {

using nlohmann::json;

constexpr milliseconds answer_limit{2500}; ///< Slack waits 3 s
constexpr long most_repetitions = 3;       ///< of an event that was not taken: at once, after 1 and 5 minutes
constexpr std::size_t most_text = 64 << 10;

std::int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

web_answer only_for_you(const std::string& text) {
  return {200, json{{"response_type", "ephemeral"}, {"text", text}}.dump(), "application/json"};
}

std::string stopped_text(const stop_answer& a) {
  if (a.outcome == "repeated") return "That was done already.";
  if (a.outcome == "nothing_live" || (a.operations == 0 && a.outcome != "joined"))
    return a.outcome == "already_finished" ? "That has finished already." : "Nothing is running here.";
  return "Stopping " + std::to_string(a.operations) + (a.operations == 1 ? " operation." : " operations.");
}

std::string fresh_nonce() {
  std::random_device random;
  return std::to_string((std::uint64_t{random()} << 32U) | random());
}

} // namespace

bot::bot(slack_settings settings, host& at)
    : web_connector("slack", rules_of(settings), at, settings.log, settings.memory, settings.changes),
      settings_(std::move(settings)), nonce_(fresh_nonce()), began_(seconds_now()) {}

void bot::begin() {
  plan_to_catch_up();
  introduce();
}

void bot::introduce() {
  loop->fetch(call(settings_, "auth.test", "{}"), [this](const web_response& r) { introduced(r); });
}

void bot::introduced(const web_response& r) {
  const auto a = json::parse(r.body, nullptr, false);
  if (r.is_good() && a.is_object() && a.value("ok", json(false)) == true) {
    user_ = text_of(a, "user_id");
    name_ = text_of(a, "user");
    if (!std::exchange(catches_up_, true)) catch_up_next();
    const auto team = text_of(a, "team");
    return set_state("connected as " + (name_.empty() ? user_ : name_) + " in " +
                     (team.empty() ? "its workspace" : team));
  }
  std::string why = r.error;
  if (const auto error = text_of(a, "error"); r.what == web_end::answered)
    why = r.is_good() && a.is_object() ? "Slack says " + (error.empty() ? "no reason" : error.substr(0, 100))
                                       : "status " + std::to_string(r.status);
  const auto doubled = std::min(introductions_++, 6U);
  const auto wait = std::max(r.retry_after(), std::min(milliseconds{1000} * (1 << doubled), milliseconds{60'000}));
  set_state("retrying in " + std::to_string(wait.count() / 1000) + " s: " + why);
  after(wait, [this] { introduce(); });
}

std::optional<scope_path> bot::scope(const std::string& team, const std::string& channel, const std::string& thread) {
  if (thread.empty()) return scope_of({"slack", team, channel});
  return scope_of({"slack", team, channel, thread});
}

bool bot::is_admitted(const std::string& team, const std::string& user) {
  if (chat::is_admitted(settings_.teams, settings_.users, team, user)) return true;
  turned_away(user + " spoke in the workspace " + team + " and is not admitted ([slack] teams, users)");
  return false;
}

void bot::hear(const event& e) {
  if (e.type != event_type::turn_start) return;
  threads_.add(e.scope.text());
  // From now on its thread is fetched after a restart.
  if (const auto texts = texts_of(e.scope); texts && texts->size() == 4)
    thread_marks_.done(e.scope.text(), texts->back());
}

web_request bot::request_of(const action& a) { return slack::request_of(settings_, a, nonce_); }

done_how bot::outcome_of(const action& a, const web_response& r) {
  if (a.what == action_kind::find) return found_post(r, destination_of(a.place), post_key(nonce_, a.key), user_);
  std::string error;
  auto how = slack::outcome_of(a, r, error);
  if (!error.empty() && how.what != outcome::later)
    log(std::string(name_of(a.what)) + " at " + a.place.text() + " was not taken: " + error);
  return how;
}

void bot::take(web_call c, answer done) {
  const auto signature = c.header("x-slack-signature"), at = c.header("x-slack-request-timestamp");
  switch (check_slack(settings_.signing_secret, signature, at, c.body, seconds_now())) {
  case slack_check::wrong:
    return done({401, "the signature does not fit\n"});
  case slack_check::stale:
    return done({401, "the timestamp is more than five minutes off\n"});
  case slack_check::good:
    break;
  }
  if (c.method != "POST") return done({405, "POST only\n", "text/plain", {{"Allow", "POST"}}});
  const auto answer_in_time = in_time(std::move(done), answer_limit, {503, "not decided in time; repeat it\n"});
  if (c.path == "events") return take_event(c, answer_in_time);
  if (c.path == "commands") return take_command(c, answer_in_time);
  if (c.path == "actions") return take_action(c, answer_in_time);
  answer_in_time({404, "there are events, commands and actions here\n"});
}

void bot::take_event(const web_call& c, const answer& done) {
  auto read = read_event(c.body, user_);
  if (!read) return done({400, read.error().detail + "\n"});
  if (const auto* url_challenge = std::get_if<challenge>(&*read)) return done({200, url_challenge->text});
  if (const auto* gone = std::get_if<channel_end>(&*read)) end_of(*gone);
  auto* m = std::get_if<message>(&*read);
  if (!m) return done({200, ""});
  const auto repetition = std::strtol(c.header("x-slack-retry-num").c_str(), nullptr, 10);
  take_message(std::move(*m), done, repetition < most_repetitions ? delivery::comes_again : delivery::last);
}

std::optional<bot::classified> bot::classify(const message& m) const {
  if (m.ts.size() > 128 || m.user.size() > 128) return std::nullopt;
  classified j;
  if (!name_.empty()) j.names.push_back(name_);
  j.is_cancel = settings_.is_cancel && settings_.is_cancel(m.text, j.names);
  // In the channel itself, a cancel word applies to the whole channel; any other message opens its own thread.
  auto thread = m.thread;
  if (thread.empty() && settings_.in_threads && !m.is_direct && !j.is_cancel) thread = m.ts;
  const auto where = scope(m.team, m.channel, thread);
  if (!where) return std::nullopt;
  j.where = *where;
  // The message that begins a thread is not an answer in it: it needs its own mention.
  const bool is_answer = !m.thread.empty() && m.thread != m.ts;
  j.is_meant = m.is_addressed || !settings_.only_addressed || (is_answer && threads_.contains(where->text()));
  return j;
}

void bot::take_message(message m, const answer& done, delivery how) {
  const auto first = m.team + "/" + m.channel + "/" + m.ts;
  if (m.what == message::news::deleted) {
    if (m.channel.empty()) return done({200, ""});
    leave_out_held(first);
    if (change_refused(first, m, false)) return answer_when_kept(done);
    const auto channel = scope(m.team, m.channel, "");
    const auto past = channel ? pasts_.find(channel->text()) : pasts_.end();
    if (past != pasts_.end() && past->second.missed_here.forget(m.ts)) {
      leave_out_for_good(first);
    } else {
      if (settings_.changes.deletion == on_deletion::stop && !undecided_.contains(first))
        events_.add(first); // Slack can still bring it
      // It was answered in its thread, in a thread of its own, or in the channel.
      std::vector<scope_path> places;
      for (const auto& thread : {m.thread, m.ts, std::string()})
        if (const auto place = scope(m.team, m.channel, thread)) places.push_back(*place);
      after_words.deleted(m.channel + "/" + m.ts, std::move(places), m.ts);
    }
    return answer_when_kept(done);
  }
  const bool begins = m.what != message::news::posted || follow_early(first, m);
  const auto what = classify(m);
  if (!what || !is_admitted(m.team, m.user)) {
    leave_out_held(first);
    return done({200, ""});
  }
  if (m.what == message::news::edited && change_refused(first, m, what->is_cancel)) return done({200, ""});
  if (m.what == message::news::edited) keep_early(first, m, *what);
  const bool is_new = m.what == message::news::posted;
  const auto key = first + (is_new ? "" : "/" + m.stamp);
  if (events_.contains(key)) return done({200, ""});
  if (is_new) comes(m, what->where);
  const auto ignored = [&] {
    if (is_new) mark_handled(m, what->where);
    if (is_new) leave_out(key); // refused in an earlier form
    if (is_new) leave_out_held(key);
    done({200, ""});
  };
  // An edit that took the mention away still concerns the turn of the first form.
  const bool is_for_another = !what->is_meant && !what->is_cancel;
  if ((is_for_another && is_new) || !begins) return ignored();
  if (what->is_cancel) stops_missed(*scope(m.team, m.channel, ""), what->where, is_new ? m.ts : m.stamp);
  if (what->is_cancel) stop_refused(what->where, m.ts, posted_at(m));
  if (holds(m, *what, done)) return;
  incoming_message s;
  s.scope = what->where;
  s.id = m.ts;
  s.text = with_attached(m.text, m.attached, what->is_cancel);
  if (is_for_another && s.text.size() > most_text) s.text.resize(fitting(s.text, most_text, length_unit::bytes));
  if (what->is_meant && !what->is_cancel)
    for (const auto& file : m.files)
      if (is_at_origin(file.place, settings_.file_urls)) s.files.push_back(file);
  if (!s.files.empty())
    s.source = files_of(s.scope, m.ts, [this](const offered_file& file) { return file_request(settings_, file); });
  s.author = {m.user, m.user, m.user};
  s.addressed = what->is_meant;
  s.bot_names = what->names;
  if (s.text.size() > most_text) {
    box.note(what->where, "That is too long for me: at most 64 KiB at a time.", m.ts, web_loop::now());
    events_.add(key);
    return ignored();
  }
  const auto own = m.channel + "/" + m.ts;
  if (!is_new) {
    events_.add(key);
    after_words.edited(own, std::move(s), m.stamp, what->is_cancel);
    return answer_when_kept(done);
  }
  after_words.message_posted(own, s);
  undecided_.try_emplace(key);
  tell(std::move(s), m.channel, m.ts, [this, key, m, what = *what, done, how](const result<decision>& d) {
    const auto& where = what.where;
    const auto change = undecided_.extract(key);
    if (what.is_cancel) stop_refused(where, m.ts, m.ts); // what came before it can have been refused since it came
    if (!d && is_transient(d.error())) {
      // After a shutdown it is fetched.
      if (how == delivery::comes_again || has_code(d.error(), error_code::shutting_down)) {
        refused(key, m, what);
        done({503, "try again\n"});
        if (change && change.mapped()) change_again(key, *change.mapped());
        return;
      }
      tell_refused(where, m.ts, not_now());
    }
    refused_.taken(key);
    held_.decided(key);
    events_.add(key);
    mark_handled(m, where);
    what.is_cancel ? answer_when_kept(done) : done({200, ""}); // repeating it would not help
  });
}

void bot::tell(incoming_message s, const std::string& channel, const std::string& answers,
               std::function<void(const result<decision>&)> then) {
  in_turn(channel,
          [this, s = std::move(s), channel, answers, then = std::move(then)](const std::function<void()>& next) {
            say(s, [this, s, channel, answers, then, next](const result<decision>& d) {
              if (d) box.on_decision(s.scope, *d, answers, web_loop::now());
              if (!d) log("a message in " + s.scope.text() + " was not taken: " + d.error().detail);
              if (!d && !is_transient(d.error())) tell_refused(s.scope, answers, d.error());
              after_words.decided(channel + "/" + s.id, d);
              then(d);
              next();
            });
          });
}

void bot::say_again(incoming_message message, std::string answers) {
  const auto to = destination_of(message.scope);
  const auto where = message.scope;
  tell(std::move(message), to.channel, answers, [this, where, answers](const result<decision>& d) {
    if (!d && is_transient(d.error())) tell_refused(where, answers, not_now());
  });
}

void bot::end_of(const channel_end& gone) {
  const auto where = scope(gone.team, gone.channel, "");
  if (!where) return;
  box.forget(*where, web_loop::now());
  stop_work({*where, {}, {"slack", "Slack", {}}, gone.why}, [](const result<stop_answer>&) {});
}

void bot::in_turn(const std::string& channel, step job) {
  auto& line = lines_[channel];
  line.push_back(std::move(job));
  if (line.size() == 1) begin_next(channel);
}

void bot::begin_next(const std::string& channel) {
  const auto job = lines_[channel].front(); // a copy: it keeps its place in the queue until it is finished
  job([this, channel] {
    auto& line = lines_[channel];
    line.pop_front();
    if (!line.empty()) return begin_next(channel);
    lines_.erase(channel);
  });
}

/// Slack repeats only events; anything else with a repeated signature is a copy.
bool bot::is_new_signature(const web_call& c) { return signatures_.add(c.header("x-slack-signature")); }

void bot::take_command(const web_call& c, const answer& done) {
  const auto read = read_command(c.body);
  if (!read) return done({400, read.error().detail + "\n"});
  if (!is_new_signature(c)) return done(only_for_you("That was done already."));
  const auto where = scope(read->team, read->channel, "");
  if (!where || !is_admitted(read->team, read->user)) return done(only_for_you("This does not work here."));
  const auto& stops = settings_.commands;
  if (std::find(stops.begin(), stops.end(), read->name) == stops.end()) return say_command(*read, *where, done);
  stop_order order{*where, {}, {read->user, read->user_name, read->user}, read->text.empty() ? read->name : read->text};
  if (order.reason.size() > 500) order.reason.resize(fitting(order.reason, 500, length_unit::bytes));
  const auto at = std::chrono::seconds(std::strtoll(c.header("x-slack-request-timestamp").c_str(), nullptr, 10));
  signed_stop once{std::move(order), c.header("x-slack-signature"), wall_time(at), at.count() <= began_};
  if (!once.is_from_before) box.drop_all(*where, web_loop::now());
  stops_missed(*where, *where, ts_of(at.count() + 1));
  stop_refused(*where, "", ts_of(at.count() + 1));
  in_turn(read->channel, [this, once, done](const std::function<void()>& next) {
    stop_signed(once, [this, where = once.order.scope, done, next](const result<stop_answer>& a) {
      if (!a) log("a stop command was not taken: " + a.error().detail);
      if (a && a->operations > 0) box.stopping(where, a->cancel, web_loop::now());
      done(only_for_you(a ? stopped_text(*a) : "That could not be stopped: " + a.error().detail));
      next();
    });
  });
}

void bot::say_command(const command& c, const scope_path& where, const answer& done) {
  if (c.text.empty()) return done(only_for_you("Write what you want behind " + c.name + "."));
  incoming_message s;
  s.scope = where;
  s.id = c.trigger.size() <= 128 ? c.trigger : "";
  s.text = c.text;
  s.author = {c.user, c.user_name, c.user};
  s.addressed = true;
  in_turn(c.channel, [this, s, done](const std::function<void()>& next) {
    say(s, [this, done, next](const result<decision>& d) {
      if (!d) log("a command was not taken: " + d.error().detail);
      done(d ? web_answer{200, ""} : only_for_you("That did not work: " + d.error().detail));
      next();
    });
  });
}

/// Only this user sees the message.
void bot::tell_alone(const pressed& who, const std::string& text) {
  json body = {{"channel", who.channel}, {"user", who.user}, {"text", "⚠️ " + escaped(text)}};
  if (!who.thread.empty()) body["thread_ts"] = who.thread;
  loop->fetch(call(settings_, "chat.postEphemeral", body.dump(-1, ' ', false, json::error_handler_t::replace)),
              [](const web_response&) {});
}

void bot::take_action(const web_call& c, const answer& done) {
  const auto read = read_action(c.body);
  if (!read) return done({400, read.error().detail + "\n"});
  const auto id = operation_id::parse(read->value);
  if (read->kind.empty() || !id || !is_admitted(read->team, read->user) || !is_new_signature(c)) return done({200, ""});
  // The message that begins a thread is itself in the channel.
  const auto where = scope(read->team, read->channel, read->thread == read->ts ? "" : read->thread);
  if (!where) return done({200, ""});
  const person by{read->user, read->user_name, read->user};
  if (read->kind == "quell_stop") {
    return stop_turn(*where, *id, by, [this, who = *read, done](const result<stop_answer>& a) {
      if (!a) log("a Stop button was not taken: " + a.error().detail);
      if (!a && !is_transient(a.error())) tell_alone(who, "Not stopped: " + a.error().detail);
      done({a || !is_transient(a.error()) ? 200U : 503U, ""});
    });
  }
  approve({*where, *id, read->kind == "quell_approve", by, ""}, [this, who = *read, done](const result<void>& a) {
    if (!a) log("a word about a call was not taken: " + a.error().detail);
    if (!a && !is_transient(a.error())) tell_alone(who, a.error().detail);
    done({a || !is_transient(a.error()) ? 200U : 503U, ""});
  });
}

} // namespace slack

result<std::unique_ptr<connector>> start_slack(slack_settings settings, host& at) {
  if (settings.bot_token.empty() || settings.signing_secret.empty())
    return failure(error_code::invalid_field, "Slack needs a bot token and the app's signing secret");
  if (settings.bot_token.find_first_of("\r\n") != std::string::npos)
    return failure(error_code::invalid_field, "the bot token is not a token: it has a line break in it");
  auto made_bot = std::make_shared<slack::bot>(std::move(settings), at);
  if (auto started = made_bot->start(); !started) return tl::unexpected(started.error());
  return wrapped("slack", std::move(made_bot));
}

} // namespace quell::integrations::chat
