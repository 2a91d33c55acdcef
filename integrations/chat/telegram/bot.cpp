// A Telegram bot's handling of its updates.
//
// Updates are processed one after the other, and confirmed to Telegram (by requesting the next) only once quelld has
// decided about them, durably. An update lost in between comes again, and a repeated message is recognised by its id.
#include "integrations/chat/telegram/bot.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>
#include <openssl/crypto.h>

#include "integrations/chat/admission.hpp"
#include "integrations/chat/attached.hpp"
#include "integrations/chat/scope_text.hpp"
#include "integrations/chat/telegram/telegram.hpp"
#include "integrations/chat/telegram/write.hpp"
#include "integrations/models/text.hpp"

namespace quell::integrations::chat {
namespace telegram {
namespace {

using nlohmann::json;

constexpr milliseconds answer_limit{20'000}; ///< Telegram waits longer, and repeats
constexpr milliseconds least_poll{200};      ///< from an empty answer to the next request
constexpr milliseconds beyond_poll{10'000};  ///< for the answer to a poll that Telegram itself ended

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::optional<scope_path> scope_of_chat(const std::string& chat, const std::string& topic) {
  if (topic.empty()) return scope_of({"telegram", chat});
  return scope_of({"telegram", chat, topic});
}

} // namespace

bot::bot(telegram_settings settings, host& at)
    : web_connector("telegram", rules_of(settings), at, settings.log, settings.memory, settings.changes),
      settings_(std::move(settings)) {}

void bot::begin() { introduce(); }

void bot::ask(const std::string& method, const std::string& body, std::function<void(const web_response&)> then) {
  loop->fetch(call(settings_, method, body), std::move(then));
}

/// Retries with growing waits.
void bot::again(const std::string& why, milliseconds least, std::function<void()> what) {
  const auto doubled = std::min(failures_++, 16U);
  auto wait = std::min(milliseconds{settings_.retry_first * (1LL << doubled)}, settings_.retry_most);
  wait = std::max(wait, least);
  // URLs contain the token, and a library can quote one in its messages.
  set_state("retrying in " + std::to_string(wait.count()) + " ms: " + without(why, settings_.token));
  after(wait, std::move(what));
}

void bot::introduce() {
  ask("getMe", "{}", [this](const web_response& r) {
    auto me = read_self(r.body);
    if (!r.is_good() || !me)
      return again(r.what == web_end::answered && !me ? me.error().detail : trouble_of(r), retry_after_of(r),
                   [this] { introduce(); });
    me_ = std::move(*me);
    set_up();
  });
}

/// Telegram delivers updates in one of two ways, never both.
void bot::set_up() {
  json body = {{"drop_pending_updates", false}};
  const bool hooked = !settings_.webhook_url.empty();
  if (hooked)
    body = {{"url", settings_.webhook_url},
            {"secret_token", settings_.webhook_secret},
            {"allowed_updates", json::array({"message", "edited_message", "callback_query"})}};
  ask(hooked ? "setWebhook" : "deleteWebhook", body.dump(), [this, hooked](const web_response& r) {
    if (const auto why = trouble_of(r); !why.empty()) return again(why, retry_after_of(r), [this] { set_up(); });
    failures_ = 0;
    set_state("connected as @" + me_.username);
    if (!hooked) poll();
  });
}

void bot::poll() {
  const auto seconds = settings_.poll.count() / 1000;
  json body = {{"timeout", seconds}, {"allowed_updates", json::array({"message", "edited_message", "callback_query"})}};
  if (offset_ != 0) body["offset"] = offset_;
  auto request = call(settings_, "getUpdates", body.dump());
  request.timeout = settings_.poll + beyond_poll;
  polled_at_ = web_loop::now();
  loop->fetch(std::move(request), [this](const web_response& r) { polled(r); });
}

void bot::polled(const web_response& r) {
  auto updates = read_updates(r.body, me_);
  if (!r.is_good() || !updates)
    return again(r.what == web_end::answered && !updates ? updates.error().detail : trouble_of(r), retry_after_of(r),
                 [this] { poll(); });
  if (std::exchange(failures_, 0U) > 0) set_state("connected as @" + me_.username);
  const bool is_first = !std::exchange(has_polled_, true);
  // Prevents a busy loop with a server that does not hold polls open.
  if (updates->empty() && web_loop::now() - polled_at_ < least_poll) return after(least_poll, [this] { poll(); });
  take_batch(std::move(*updates), is_first);
}

bool bot::is_admitted(const std::string& chat, const std::string& user) {
  if (chat::is_admitted(settings_.chats, settings_.users, chat, user)) return true;
  turned_away(user + " spoke in the chat " + chat + " and is not admitted ([telegram] chats, users)");
  return false;
}

web_request bot::request_of(const action& a) { return telegram::request_of(settings_, a); }

done_how bot::outcome_of(const action& a, const web_response& r) {
  std::string error;
  auto how = telegram::outcome_of(a, r, error);
  if (!error.empty() && how.what != outcome::later)
    log(std::string(name_of(a.what)) + " at " + a.place.text() + " was not taken: " + error);
  return how;
}

void bot::take_update(const update& u, const taken& done) {
  if (const auto* m = std::get_if<message>(&u.what)) return take_message(*m, done);
  if (const auto* p = std::get_if<pressed>(&u.what)) return take_button(*p, done);
  done(true);
}

void bot::take_message(const message& m, const taken& done) {
  const auto where = scope_of_chat(m.chat, m.topic);
  if (!where || !is_admitted(m.chat, m.user)) return done(true);
  if (m.command == "start") {
    box.note(*where, "Write to me, and /stop ends whatever I am doing.", "", web_loop::now());
    return done(true);
  }
  // An edit can take the address away from a message that was meant.
  const bool meant = is_meant(m);
  if (!meant && m.stamp.empty()) return done(true);
  const bool is_cancel = stops(m);
  incoming_message s;
  s.scope = *where;
  s.id = m.id;
  s.text = with_attached(m.text, m.attached, is_cancel);
  if (s.text.empty()) return done(true);
  if (settings_.fetch_files && !is_cancel) s.files = m.files;
  if (!s.files.empty())
    s.source = files_of(
        s.scope, m.id, [this](const offered_file& file) { return result<web_request>(file_question(settings_, file)); },
        [this](const web_response& answer) { return file_request(settings_, answer); });
  s.author = {m.user, m.user_name, m.user};
  s.addressed = meant && (m.is_addressed || !settings_.only_addressed);
  s.bot_names = names();
  const auto key = key_of(s);
  if (!m.stamp.empty()) {
    after_words.edited(key, std::move(s), m.stamp, is_cancel);
    return done(true);
  }
  after_words.message_posted(key, s);
  tell(std::move(s), m.id, done);
}

std::string bot::key_of(const incoming_message& s) { return s.scope.text() + "/" + s.id; }

void bot::tell(incoming_message s, const std::string& answers, const taken& done) {
  say(s, [this, s, answers, done](const result<decision>& d) {
    if (d) box.on_decision(s.scope, *d, answers, web_loop::now());
    const bool comes_again = !d && is_transient(d.error());
    if (!d && has_code(d.error(), error_code::shutting_down)) is_quelld_ending_ = true;
    if (!d) log("a message in " + s.scope.text() + " was not taken: " + d.error().detail);
    if (!d && !comes_again) tell_refused(s.scope, answers, d.error());
    after_words.decided(key_of(s), d);
    done(!comes_again);
  });
}

void bot::say_again(incoming_message message, std::string answers) {
  const auto where = message.scope;
  tell(std::move(message), answers, [this, where, answers](bool is_done) {
    if (!is_done) tell_refused(where, answers, not_now()); // the update is already confirmed
  });
}

void bot::answer_button(const std::string& query, const std::string& text) {
  json body = {{"callback_query_id", query}};
  if (!text.empty()) body["text"] = text;
  ask("answerCallbackQuery", body.dump(), [](const web_response&) {}); // optional; Telegram forgets it by itself
}

void bot::take_button(const pressed& p, const taken& done) {
  const auto where = scope_of_chat(p.chat, p.topic);
  const auto colon = std::min(p.data.find(':'), p.data.size());
  const auto kind = p.data.substr(0, colon);
  const auto id = operation_id::parse(std::string_view(p.data).substr(std::min(colon + 1, p.data.size())));
  if (!where || !id || !is_admitted(p.chat, p.user)) return done(true);
  const person by{p.user, p.user_name, p.user};
  const std::string good = kind == "stop" ? "Stopping." : kind == "approve" ? "Approved." : "Denied.";
  const auto finish = [this, query = p.query, good, done](bool is_good, const fault* why) {
    constexpr std::size_t most_shown = 200; // Telegram's limit
    if (why) log("a button was not taken: " + why->detail);
    answer_button(query, is_good ? good : why->detail.substr(0, fitting(why->detail, most_shown, length_unit::utf16)));
    done(is_good || !is_transient(*why));
  };
  if (kind == "stop") {
    return stop_turn(*where, *id, by,
                     [finish](const result<stop_answer>& a) { finish(a.has_value(), a ? nullptr : &a.error()); });
  }
  if (kind != "approve" && kind != "deny") return done(true);
  approve({*where, *id, kind == "approve", by, ""},
          [finish](const result<void>& a) { finish(a.has_value(), a ? nullptr : &a.error()); });
}

void bot::take(web_call c, std::function<void(web_answer)> done) {
  if (settings_.webhook_url.empty() || c.path != "updates") return done({404, "updates are not taken here\n"});
  if (!same_secret(c.header("x-telegram-bot-api-secret-token"), settings_.webhook_secret))
    return done({401, "the secret does not fit\n"});
  if (c.method != "POST") return done({405, "POST only\n", "text/plain", {{"Allow", "POST"}}});
  if (me_.id == 0) return done({503, "not ready\n"}); // our identity decides which messages are meant for us
  const auto u = read_update(c.body, me_);
  if (!u) return done({400, u.error().detail + "\n"});
  const auto number = std::to_string(u->id);
  if (updates_.contains(number)) return done({200, ""});
  const auto where = place_of(*u);
  const auto answer = in_time(std::move(done), answer_limit, {503, "not decided in time\n"});
  if (stops(*u)) stop_refused(*u);
  take_update(*u, [this, u = *u, number, where, answer](bool is_done) {
    if (stops(u)) stop_refused(u); // what came before it can have been refused since it came
    if (is_done) updates_.add(number);
    if (is_done) refused_.taken(number);
    const bool is_request = std::holds_alternative<message>(u.what) && !stops(u);
    if (!is_done && where) refused_.add(number, {*where, number, is_request});
    answer({is_done ? 200U : 503U, ""});
  });
}

} // namespace telegram

result<std::unique_ptr<connector>> start_telegram(telegram_settings settings, host& at) {
  const auto allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-:";
  if (settings.token.empty() || settings.token.find_first_not_of(allowed) != std::string::npos)
    return failure(error_code::invalid_field,
                   "Telegram needs the bot's token as @BotFather wrote it: digits, a colon, letters");
  if (!settings.webhook_url.empty() && settings.webhook_secret.empty())
    return failure(error_code::invalid_field, "a webhook needs a secret, or anybody could write in Telegram's name");
  auto made_bot = std::make_shared<telegram::bot>(std::move(settings), at);
  if (auto started = made_bot->start(); !started) return tl::unexpected(started.error());
  return wrapped("telegram", std::move(made_bot));
}

} // namespace quell::integrations::chat
