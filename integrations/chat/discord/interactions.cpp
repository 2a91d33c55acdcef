// Slash commands and buttons. Discord gives an interaction 3 s; a slower one is first answered "thinking" and completed
// afterwards.
#include "integrations/chat/discord/bot.hpp"

namespace quell::integrations::chat::discord {
namespace {

constexpr milliseconds answer_within{2000};
constexpr std::size_t most_open = 1000;
constexpr const char* only_path = "interactions";

web_answer json_answer(std::string body) { return {200, std::move(body), "application/json", {}}; }

std::string words_of(const result<stop_answer>& what) {
  if (!what) return "⚠️ Not stopped: " + what.error().detail;
  if (what->outcome == "nothing_live") return "Nothing is running here.";
  if (what->outcome == "already_finished") return "It had finished already.";
  return "🛑 Stopping" + (what->operations > 1 ? " " + std::to_string(what->operations) + " operations" : "") + ".";
}

} // namespace

void bot::interact(const web_call& call, std::function<void(web_answer)> done) {
  if (call.path != only_path) return done({404, "there is nothing here\n"});
  if (settings_.public_key.empty()) return done({404, "[discord] has no public_key, so interactions are not taken\n"});
  if (call.method != "POST") return done({405, "an interaction is a POST\n"});
  const auto wall = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  if (auto no = door_.refusal(call, wall)) return done(std::move(*no));
  const auto i = read_interaction(call.body);
  if (!i) return done({400, i.error().detail + "\n"});
  if (i->what == interaction_kind::ping) return done(json_answer(pong()));
  if (!is_admitted(i->guild, i->by, *i->scope))
    return done(json_answer(private_message("This bot does not work here.")));
  if (open_.size() >= most_open)
    return done(json_answer(private_message("Too much is going on; try again in a moment.")));
  if (!door_.is_first(i->id, wall)) return done({409, "this interaction came before\n"});
  if (i->what == interaction_kind::other) return done(json_answer(private_message("This is not known here.")));
  open_[i->id] = {std::move(done), web_loop::now() + answer_within, i->application, i->token};
  if (i->what == interaction_kind::ask) return ask(*i);
  if (i->what == interaction_kind::stop || i->what == interaction_kind::stop_turn) return order_stop(*i);
  order_approval(*i);
}

void bot::ask(const interaction& i) {
  incoming_message s;
  s.scope = *i.scope;
  s.id = "discord:i" + i.id; // not a channel message that could be replied to
  s.text = i.text;
  s.author = i.by;
  s.addressed = true;
  if (!machine_.own_name().empty()) s.bot_names = {machine_.own_name()};
  host_.say(std::move(s), [weak = weak_from_this(), i](result<decision> what) {
    const auto self = weak.lock();
    if (!self) return;
    self->run([bot = self.get(), i, what = std::move(what)] {
      if (!what) return bot->answer(i.id, "⚠️ " + what.error().detail, readers::the_asker);
      if (what->what == decided::cancel) return bot->answer(i.id, "🛑 Stopping.", readers::the_asker);
      bot->answer(i.id, quoted(i.by.name.empty() ? "Someone" : i.by.name, i.text), readers::everybody);
    });
  });
}

void bot::order_stop(const interaction& i) {
  const auto now = web_loop::now();
  // Drops all unsent text, even before the stop is fenced.
  if (i.what == interaction_kind::stop)
    outbox_.drop_all(*i.scope, now);
  else if (begun_.is_at(*i.scope, *i.target))
    outbox_.drop(*i.target, now);
  if (const auto held = held_.find(i.scope->text()); i.what == interaction_kind::stop && held != held_.end())
    held->second.stop(*i.scope, i.id);
  if (i.what == interaction_kind::stop) stop_threads(threads_below(*i.scope), i.by, {});
  stop_order order;
  order.scope = *i.scope;
  if (i.what == interaction_kind::stop_turn) order.operation = i.target;
  order.by = i.by;
  order.reason = i.what == interaction_kind::stop ? "/stop" : "Stop button";
  const auto place =
      i.what == interaction_kind::stop ? i.scope : std::nullopt; // for a button the reply is marked instead
  host_.stop(std::move(order), [weak = weak_from_this(), id = i.id, place](result<stop_answer> what) {
    if (const auto self = weak.lock())
      self->run([bot = self.get(), id, place, what = std::move(what)] {
        bot->answer(id, words_of(what), readers::the_asker);
        if (place && what && what->operations > 0) bot->outbox_.stopping(*place, what->cancel, web_loop::now());
      });
  });
}

void bot::order_approval(const interaction& i) {
  const bool is_yes = i.what == interaction_kind::approve;
  host_.approve({*i.scope, *i.target, is_yes, i.by, is_yes ? "approved with a button" : "denied with a button"},
                [weak = weak_from_this(), id = i.id, is_yes](result<void> what) {
                  if (const auto self = weak.lock())
                    self->run([bot = self.get(), id, is_yes, what] {
                      bot->answer(id, what ? (is_yes ? "Approved." : "Denied.") : "⚠️ " + what.error().detail,
                                  readers::the_asker);
                    });
                });
}

void bot::answer(const std::string& id, const std::string& text, readers of) {
  const auto at = open_.find(id);
  if (at == open_.end()) return;
  const auto open = std::move(at->second);
  open_.erase(at);
  if (open.done) return open.done(json_answer(of == readers::everybody ? public_message(text) : private_message(text)));
  if (open.application.empty() || open.token.empty()) return;
  auto request = request_to(answer_later(open.application, open.token, text));
  request.headers.erase(request.headers.begin()); // the token in the path is the authorisation
  loop_->fetch(std::move(request), [this](const web_response& answer) {
    if (!answer.is_good()) log("discord did not take a late answer to a command: " + std::to_string(answer.status));
  });
}

void bot::defer_what_takes_long(boot_time now) {
  for (auto& [id, open] : open_)
    if (open.done && open.waits_until <= now) {
      const auto done = std::exchange(open.done, nullptr);
      done(json_answer(deferred()));
    }
}

} // namespace quell::integrations::chat::discord
