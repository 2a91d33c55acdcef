// The bot's lifecycle: start, the gateway's effects, messages.
#include "integrations/chat/discord/bot.hpp"

#include <algorithm>

#include "integrations/chat/admission.hpp"
#include "integrations/chat/discord/json_access.hpp"

namespace quell::integrations::chat::discord {
namespace {

using nlohmann::json;

constexpr std::size_t most_message = 2000;
constexpr milliseconds longest_reset{86'400'000};

outbox_rules rules(std::function<void(const std::string&)> log, bool shows_place) {
  outbox_rules r;
  r.unit = length_unit::utf16;
  r.most_length = most_message;
  r.of_place = {milliseconds{1000}, 5}; // Discord's limit: 5 messages in 5 seconds
  r.of_all = {milliseconds{25}, 40};    // 50 requests a second
  r.has_buttons = true;
  r.can_take_back = true;
  r.shows_place = shows_place;
  r.has_fences = true;
  r.posts_repeat = true; // recognised by their nonce
  if (log) r.report = [log = std::move(log)](const std::string& what) { log("discord: " + what); };
  return r;
}

std::string fresh_nonce() {
  std::random_device random;
  return std::to_string(random() % 1'000'000'000);
}

std::string base_of(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

discord_settings with_clean_urls(discord_settings s) {
  s.api_url = base_of(std::move(s.api_url));
  return s;
}

} // namespace

bot::bot(discord_settings settings, host& at)
    : settings_(with_clean_urls(std::move(settings))), host_(at), random_(std::random_device{}()),
      nonce_(fresh_nonce()), machine_(settings_.token, settings_.gateway_url),
      follow_ups_({
          at,
          [this] { return runner(); },
          [this](const operation_id& turn) { outbox_.drop(turn, web_loop::now()); },
          [this](const std::string& sentence) { log("discord: " + sentence); },
          [this](incoming_message message, std::string answers) { say(std::move(message), std::move(answers)); },
          settings_.changes,
      }),
      outbox_(rules(settings_.log, settings_.shows_place)),
      missed_({at, "discord", [this] { return runner(); }, [this](const event& e) { apply(e); },
               [this](std::uint64_t newest, bool is_whole) { outbox_.caught_up(newest, is_whole); },
               [this](const operation_id& which, std::optional<status> how) {
                 outbox_.looked(which, how, web_loop::now());
               },
               [this](const std::string& sentence) { log("discord: " + sentence); }}),
      notes_(settings_.memory), positions_(settings_.positions),
      door_(settings_.public_key, std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now())) {}

result<void> bot::start() {
  auto socket =
      gateway_socket::start({.connected =
                                 [this](std::uint64_t connection) {
                                   loop_->run([this, connection] {
                                     if (connection == connection_) perform(machine_.connected(web_loop::now()));
                                   });
                                 },
                             .received =
                                 [this](std::uint64_t connection, std::string text) {
                                   loop_->run([this, connection, text = std::move(text)] {
                                     if (connection == connection_)
                                       perform(machine_.received(text, web_loop::now(), chance()));
                                   });
                                 },
                             .lost =
                                 [this](std::uint64_t connection, std::uint16_t code, const std::string& why) {
                                   loop_->run([this, connection, code, why] {
                                     if (connection == connection_)
                                       perform(machine_.lost(code, why, web_loop::now(), chance()));
                                   });
                                 }},
                            settings_.ca_file);
  if (!socket) return tl::unexpected(socket.error());
  socket_ = std::move(*socket);
  auto loop = web_loop::start([this](boot_time now) { return turn(now); });
  if (!loop) return tl::unexpected(loop.error());
  loop_ = std::move(*loop);
  loop_->run([this] { begin(); });
  return {};
}

void bot::begin() {
  has_begun_ = true;
  recall();
  if (settings_.with_gateway)
    perform(machine_.start(web_loop::now()));
  else if (settings_.register_commands)
    find_application();
}

void bot::run(std::function<void()> job) {
  if (!is_over_) loop_->run(std::move(job));
}

std::function<void(std::function<void()>)> bot::runner() {
  return [weak = weak_from_this()](std::function<void()> job) {
    if (const auto self = weak.lock()) self->run(std::move(job));
  };
}

void bot::on_event(const event& e) {
  if (is_over_) return;
  loop_->run([this, e] { missed_.hear(e); });
}

void bot::apply(const event& e) {
  begun_.hear(e);
  outbox_.on_event(e, web_loop::now());
}

void bot::called(web_call call, std::function<void(web_answer)> done) {
  if (is_over_) return done({503, "shutting down\n"});
  loop_->run([this, call = std::move(call), done = std::move(done)] { interact(call, done); });
}

std::string bot::state() const {
  const std::lock_guard lock(guard_);
  return state_;
}

void bot::stop() {
  if (is_over_.exchange(true)) return;
  if (socket_) socket_->stop();
  if (loop_) loop_->stop();
  notes_.close(outbox_.changes(), web_loop::now(), [this] { return to_keep(); });
  positions_.close(marks_.changes(), web_loop::now(), [this] { return positions_to_keep(); });
}

std::optional<boot_time> bot::turn(boot_time now) {
  if (!has_begun_) return std::nullopt;
  if (const auto at = machine_.next_at(); at && *at <= now) perform(machine_.tick(now, chance()));
  while (!later_.empty() && later_.begin()->first <= now) {
    const auto job = std::move(later_.begin()->second);
    later_.erase(later_.begin());
    job();
  }
  defer_what_takes_long(now);
  fetch_missed(now);
  if (missed_.is_over()) send_due(now);
  show_state(now);
  auto next = machine_.next_at();
  const auto sooner = [&](std::optional<boot_time> at) {
    if (at && (!next || *at < *next)) next = at;
  };
  if (missed_.is_over()) sooner(outbox_.next_at(now));
  sooner(next_history_at(now));
  sooner(notes_.keep(outbox_.changes(), now, [this] { return to_keep(); }));
  sooner(keep_positions(now));
  if (!later_.empty()) sooner(later_.begin()->first);
  for (const auto& [id, one] : open_)
    if (one.done) sooner(one.waits_until);
  return next;
}

void bot::show_state(boot_time now) {
  auto words = settings_.with_gateway ? machine_.state(now) : "commands and buttons only";
  if (const auto waiting = outbox_.waiting(); waiting > 0) words += ", " + std::to_string(waiting) + " to send";
  const std::lock_guard lock(guard_);
  state_ = std::move(words);
}

void bot::log(const std::string& sentence) const {
  if (settings_.log) settings_.log(sentence);
}

bool bot::is_admitted(std::string_view guild, const person& who, const scope_path& where) {
  if (chat::is_admitted(settings_.guilds, settings_.users, guild, who.account)) return true;
  constexpr std::chrono::seconds between_words{60};
  if (const auto now = web_loop::now(); now >= turned_away_at_ + between_words || turned_away_at_ == boot_time{}) {
    turned_away_at_ = now;
    log("discord: " + who.id + " spoke in " + where.text() + " and is not admitted ([discord] guilds, users)");
  }
  return false;
}

void bot::perform(gateway_machine::effects effects) {
  for (auto& effect : effects) {
    if (std::holds_alternative<gateway_effects::find_address>(effect)) {
      find_address();
    } else if (const auto* to = std::get_if<gateway_effects::connect>(&effect)) {
      connection_ = socket_->connect(to->url);
    } else if (auto* text = std::get_if<gateway_effects::send>(&effect)) {
      socket_->send(std::move(text->text));
    } else if (const auto* close = std::get_if<gateway_effects::hang_up>(&effect)) {
      socket_->hang_up(close->code);
      connection_ = 0;
    } else if (const auto* dispatched = std::get_if<gateway_effects::dispatch>(&effect)) {
      on_dispatch(dispatched->type, dispatched->data);
    } else if (const auto* end = std::get_if<gateway_effects::gave_up>(&effect)) {
      log("discord gives up: " + end->why);
    }
  }
}

web_request bot::request_to(const rest_request& r) const {
  web_request w;
  w.method = r.method;
  w.url = settings_.api_url + r.path;
  w.headers = {"Authorization: Bot " + settings_.token, "User-Agent: DiscordBot (quell, 0.1)"};
  if (!r.body.empty()) w.headers.push_back("Content-Type: application/json");
  w.body = r.body;
  w.ca_file = settings_.ca_file;
  return w;
}

void bot::find_address() {
  loop_->fetch(request_to({"GET", "/gateway/bot", "", "gateway"}), [this](const web_response& answer) {
    const auto now = web_loop::now();
    const auto failed = [&](const std::string& why, bool is_final, milliseconds wait) {
      perform(machine_.no_address(why, is_final, wait, now, chance()));
    };
    if (answer.status == 401)
      return failed("Discord refuses the bot's token (401); make a new one and restart quelld", true, {});
    if (answer.status == 429) return failed("Discord asks to come back later (429)", false, answer.retry_after());
    if (!answer.is_good())
      return failed(answer.what == web_end::answered
                        ? "Discord answered " + std::to_string(answer.status) + " when asked for its gateway"
                        : "Discord's API cannot be reached: " + answer.error,
                    false, {});
    const auto body = json::parse(answer.body, nullptr, false);
    const auto& limit = member_of(body, "session_start_limit");
    if (member_of(limit, "remaining") == 0) {
      const auto& reset = member_of(limit, "reset_after");
      return failed("this bot has begun too many sessions today", false,
                    milliseconds(reset.is_number_integer()
                                     ? std::clamp<std::int64_t>(reset.get<std::int64_t>(), 0, longest_reset.count())
                                     : longest_reset.count()));
    }
    const auto url = text_of(body, "url");
    if (url.empty()) return failed("Discord's answer names no gateway", false, {});
    perform(machine_.found_address(url, now));
  });
}

void bot::find_application() {
  loop_->fetch(request_to({"GET", "/applications/@me", "", "application"}), [this](const web_response& answer) {
    const auto body = json::parse(answer.body, nullptr, false);
    const auto id = text_of(body, "id");
    if (answer.is_good() && is_snowflake(id)) return register_commands(id);
    log("discord does not say which application the bot's token belongs to (" + std::to_string(answer.status) +
        "): /ask and /stop are not registered");
  });
}

void bot::register_commands(const std::string& application) {
  if (std::exchange(knows_commands_, true)) return;
  for (const auto& request : commands_of(application))
    loop_->fetch(request_to(request), [this](const web_response& answer) {
      if (!answer.is_good())
        log("discord did not take a command (" + std::to_string(answer.status) + "): /ask or /stop may be missing");
    });
}

} // namespace quell::integrations::chat::discord
