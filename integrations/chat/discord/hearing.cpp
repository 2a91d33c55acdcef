// New, edited and deleted messages.
#include <algorithm>

#include "integrations/chat/attached.hpp"
#include "integrations/chat/discord/bot.hpp"
#include "integrations/chat/discord/json_access.hpp"
#include "integrations/chat/web_files.hpp"
#include "protocol/utf8.hpp"

namespace quell::integrations::chat::discord {
namespace {

using nlohmann::json;

constexpr std::size_t most_stamp = 40;

person discord_itself() { return {"discord", "Discord", {}}; }

} // namespace

void bot::on_dispatch(const std::string& type, const std::string& data) {
  if (type == "READY") {
    const auto ready = json::parse(data, nullptr, false);
    log("discord: " + machine_.state(web_loop::now()));
    const auto application = text_of(member_of(ready, "application"), "id");
    if (settings_.register_commands && is_snowflake(application)) register_commands(application);
    return catch_up(); // new session: earlier messages are not delivered
  }
  if (type == "MESSAGE_CREATE") return hear_message(data);
  if (type == "MESSAGE_UPDATE") return hear_edit(data);
  const auto what = json::parse(data, nullptr, false);
  threads_.hear(type, what);
  const auto channel = discord_scope(text_of(what, "guild_id"), text_of(what, "channel_id"));
  if (type == "MESSAGE_DELETE") return hear_deletion(text_of(what, "id"), channel);
  if (type == "MESSAGE_DELETE_BULK") {
    if (const auto& ids = member_of(what, "ids"); ids.is_array())
      for (const auto& id : ids)
        if (id.is_string()) hear_deletion(id.get<std::string>(), channel);
    return;
  }
  const auto id = text_of(what, "id"), guild = text_of(what, "guild_id");
  if (type == "GUILD_DELETE") { // an outage is not an end
    if (member_of(what, "unavailable") == true || !is_snowflake(id)) return;
    if (const auto all = scope_path::parse("discord/" + id)) hear_end_of(*all, "the bot was removed from the server");
    return;
  }
  if (type != "CHANNEL_DELETE" && type != "THREAD_DELETE") return;
  const auto end = [&](const std::string& which, const std::string& why) {
    if (const auto place = discord_scope(guild, which)) hear_end_of(*place, why);
  };
  if (type == "THREAD_DELETE") return end(id, "its thread was deleted");
  for (const auto& thread : threads_.below(id)) end(thread, "its channel was deleted"); // their ends are not told
  end(id, "its channel was deleted");
}

bool bot::is_cancel(const incoming_message& message) const {
  return settings_.is_cancel && settings_.is_cancel(message.text, message.bot_names);
}

/// Whether the message tells somebody else to stop.
bool bot::is_for_another(const incoming_message& message, bool is_stop, const std::string& data) {
  return is_stop && !message.addressed.value_or(true) && answers_another(data);
}

void bot::hear_message(const std::string& data) {
  const auto raw = json::parse(data, nullptr, false);
  const auto place = discord_scope(text_of(raw, "guild_id"), text_of(raw, "channel_id"));
  if (!place) return;
  auto message = read_message(data, machine_.own_id());
  const auto id = text_of(raw, "id"), guild = text_of(raw, "guild_id");
  if (!is_snowflake(id)) return;
  const auto held = held_.find(place->text());
  const bool is_held = held != held_.end(); // nothing is marked as processed: earlier messages can be missing
  if (!is_held) marks_.comes(place->text(), id);
  const auto ignored = [&] {
    if (!is_held) marks_.done(place->text(), id);
  };
  if (!message || !is_admitted(guild, message->author, message->scope)) return ignored();
  if (!machine_.own_name().empty()) message->bot_names = {machine_.own_name()};
  const bool stops = is_cancel(*message);
  if (is_for_another(*message, stops, data)) return ignored();
  if (settings_.only_addressed && !message->addressed.value_or(true) && !stops) return ignored();
  if (is_held && !stops) {
    held->second.add(*place, id, data);
    histories_.hurry(place->text());
    return;
  }
  if (is_held) held->second.stop(*place, id);
  if (!settings_.only_addressed) message->addressed = true;
  attach_to(*message, data, stops);
  const auto key = message->id;
  if (!follow_ups_.message_posted(key, *message)) return ignored(); // repeated delivery
  if (stops && stop_with_threads(*message)) return ignored();
  say(std::move(*message), key);
}

void bot::attach_to(incoming_message& message, const std::string& data, bool is_stop) {
  message.text = with_attached(std::move(message.text), attached_to(data), is_stop);
  if (is_stop) return;
  for (auto& file : files_of(data))
    if (is_at_origin(file.place, settings_.file_urls)) message.files.push_back(std::move(file));
  if (message.files.empty()) return;
  file_tools tools;
  tools.run = [weak = weak_from_this()](std::function<void(web_loop&)> job) {
    if (const auto self = weak.lock()) self->run([loop = self->loop_.get(), job = std::move(job)] { job(*loop); });
  };
  tools.request_of = [ca_file = settings_.ca_file](const offered_file& file) -> result<web_request> {
    web_request r;
    r.method = "GET";
    r.url = file.place; // signed by Discord; the bot's token is not sent there
    r.ca_file = ca_file;
    return r;
  };
  tools.tell = [this, scope = message.scope, id = message.id](const std::string& sentence) {
    outbox_.note(scope, "⚠️ " + sentence, id, web_loop::now());
  };
  message.source = make_web_files(std::move(tools));
}

std::vector<scope_path> bot::threads_below(const scope_path& place) const {
  std::vector<scope_path> all;
  for (const auto& id : threads_.below(channel_of(place)))
    if (const auto thread = discord_scope(place.segments()[1], id); thread && marks_.contains(thread->text()))
      all.push_back(*thread);
  return all;
}

void bot::stop_threads(const std::vector<scope_path>& all, const person& by, std::optional<scope_path> shown_at) {
  const auto is_reported = std::make_shared<bool>(!shown_at);
  for (const auto& thread : all) {
    outbox_.drop_all(thread, web_loop::now());
    host_.stop({thread, {}, by, "stopped in its channel"},
               [weak = weak_from_this(), thread, shown_at, is_reported](result<stop_answer> what) {
                 const auto self = weak.lock();
                 if (!self || !what || what->operations == 0) return;
                 self->run([bot = self.get(), thread, shown_at, is_reported, cancel = what->cancel] {
                   bot->outbox_.stopping(thread, cancel, web_loop::now());
                   if (!std::exchange(*is_reported, true)) bot->outbox_.stopping(*shown_at, cancel, web_loop::now());
                 });
               });
  }
}

/// A stop in a channel also applies to its threads. Returns true if that is all: nothing runs in the channel itself,
/// where the word would be taken for an ordinary message.
bool bot::stop_with_threads(const incoming_message& message) {
  const auto all = threads_below(message.scope);
  const bool is_theirs = !outbox_.speaks_in(message.scope) &&
                         std::any_of(all.begin(), all.end(), [&](const scope_path& t) { return outbox_.speaks_in(t); });
  stop_threads(all, message.author, is_theirs ? std::optional(message.scope) : std::nullopt);
  if (is_theirs) host_.stop({message.scope, {}, message.author, message.text}, [](const result<stop_answer>&) {});
  return is_theirs;
}

void bot::say(incoming_message message, std::string answers) {
  const auto scope = message.scope;
  const auto id = message.id;
  host_.say(std::move(message), [weak = weak_from_this(), scope, id, answers](result<decision> what) {
    const auto self = weak.lock();
    if (!self) return;
    self->run([bot = self.get(), scope, id, answers, what = std::move(what)] {
      const auto now = web_loop::now();
      constexpr std::string_view prefix = "discord:";
      const auto own = id.substr(std::min(prefix.size(), id.size()));
      if (is_snowflake(own) && (what || !is_transient(what.error())) && !bot->held_.contains(scope.text()))
        bot->marks_.done(scope.text(), own);
      if (what) {
        bot->outbox_.on_decision(scope, *what, answers, now);
      } else {
        bot->log("discord: a message in " + scope.text() + " was not taken: " + what.error().detail);
        bot->outbox_.note(scope, "⚠️ " + std::string(utf8_prefix(what.error().detail, 500)), answers, now);
      }
      bot->follow_ups_.decided(id, what);
    });
  });
}

void bot::hear_edit(const std::string& data) {
  const auto edited = text_of(json::parse(data, nullptr, false), "edited_timestamp");
  auto message = read_message(data, machine_.own_id());
  if (edited.empty() || edited.size() > most_stamp || !message) return;
  const auto guild = message->scope.segments()[1];
  if (!is_admitted(guild == "dm" ? std::string_view() : guild, message->author, message->scope)) return;
  if (!machine_.own_name().empty()) message->bot_names = {machine_.own_name()};
  const bool stops = is_cancel(*message);
  if (is_for_another(*message, stops, data)) return;
  if (const auto held = held_.find(message->scope.text());
      held != held_.end() && !stops && held->second.change(message->id.substr(message->id.find(':') + 1), data))
    return;
  if (!settings_.only_addressed)
    message->addressed = true;
  else if (message->addressed == false && !tells_addressee(data))
    message->addressed.reset();
  attach_to(*message, data, stops);
  const auto key = message->id;
  follow_ups_.edited(key, std::move(*message), edited, stops);
}

void bot::hear_deletion(const std::string& id, const std::optional<scope_path>& place) {
  if (!is_snowflake(id)) return;
  if (place) {
    if (const auto held = held_.find(place->text()); held != held_.end() && held->second.forget(id)) return;
  } else {
    for (auto& [all, held] : held_)
      if (held.forget(id)) return;
  }
  const auto own = "discord:" + id;
  follow_ups_.deleted(own, place ? std::vector{*place} : std::vector<scope_path>{}, own);
}

void bot::hear_end_of(const scope_path& place, const std::string& what) {
  marks_.forget(place.text());
  outbox_.forget(place, web_loop::now());
  host_.stop({place, {}, discord_itself(), what}, [](const result<stop_answer>&) {});
}

} // namespace quell::integrations::chat::discord
