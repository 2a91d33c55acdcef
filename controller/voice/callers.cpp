// Parses hellos.
#include "controller/voice/callers.hpp"

#include <nlohmann/json.hpp>

#include "controller/clock_now.hpp"
#include "controller/gateway/encoding.hpp"
#include "controller/gateway/tokens.hpp"
#include "controller/secrets.hpp"
#include "storage/tokens.hpp"

namespace quell::controller::voice {
namespace {

using nlohmann::json;

constexpr std::size_t most_id = 128;

tl::unexpected<fault> unauthorized(std::string why) { return failure("unauthorized", std::move(why)); }

result<caller> caller_of(const std::string& secret, const std::string& directory) {
  caller by;
  if (const auto secrets = load_secrets(directory);
      secrets && http::equal_in_constant_time(token_hash(secret), token_hash(secrets->admin_token))) {
    by.role = role::admin;
    by.owner = {"admin", "admin"};
    by.token_name = "admin";
    by.token_id = "bootstrap";
    return by;
  }
  const auto record = storage::token_of_hash(directory, token_hash(secret));
  if (!record) return unauthorized("the token cannot be looked up: " + record.error().detail);
  if (!*record) return unauthorized("the token is unknown or revoked; ask an admin for one (`quell token create`)");
  const auto& t = **record;
  if (t.expires_at && *t.expires_at <= clock_now().wall) return unauthorized("the token '" + t.name + "' has expired");
  if (t.role == role::observer || t.role == role::task)
    return unauthorized("the role " + std::string(name_of(t.role)) + " of token '" + t.name +
                        "' may not converse; use a token with a wider role");
  by.role = t.role;
  by.prefix = t.scope;
  by.owner = t.owner;
  by.token_name = t.name;
  by.token_id = t.id.text();
  return by;
}

std::string text_in(const json& from, const char* key) {
  const auto found = from.find(key);
  return found != from.end() && found->is_string() ? found->get<std::string>() : std::string();
}

} // namespace

turns::message_order spoken_order(const speaker& who, const std::optional<operation_id>& exchange, std::string text) {
  turns::message_order order;
  order.by = who.by;
  order.via_channel = "voice";
  order.scope = who.scope;
  order.text = std::move(text);
  order.author = who.author;
  order.modality = turns::modality::voice;
  order.humans_present = who.humans_present;
  order.exchange = exchange;
  return order;
}

speaker nobody_in_particular(const voice_settings& settings, const std::string& session) {
  speaker s;
  s.scope = scope_path::parse(settings.scope.text() + "/" + session).value_or(settings.scope);
  s.by.role = role::chat;
  s.by.prefix = settings.scope;
  s.by.owner = {"voice-" + session, "a voice"};
  s.by.token_name = "voice";
  s.by.token_id = "service:voice";
  s.author = s.by.owner;
  return s;
}

result<speaker> speaker_of(std::string_view text, const voice_settings& settings, const std::string& state_directory,
                           const std::string& session, bool is_loopback) {
  const auto said = json::parse(text, nullptr, false);
  if (!said.is_object()) return failure("bad_frame", "a hello is a JSON object");
  auto s = nobody_in_particular(settings, session);
  const auto token = text_in(said, "token");
  if (token.empty() && !is_loopback) return unauthorized("a hello from another machine needs a token");
  if (!token.empty()) {
    auto by = caller_of(token, state_directory);
    if (!by) return tl::unexpected(by.error());
    s.by = std::move(*by);
    s.author = s.by.owner;
  }
  if (const auto scope = text_in(said, "scope"); !scope.empty()) {
    const auto parsed = scope_path::parse(scope);
    if (!parsed) return failure("bad_frame", "scope: " + parsed.error().detail);
    s.scope = *parsed;
  }
  if (s.by.prefix && !s.scope.is_at_or_below(*s.by.prefix))
    return unauthorized("scope " + s.scope.text() + " lies outside " + s.by.prefix->text() +
                        ", which this client is for; name a scope at or below it");
  if (const auto author = said.find("author"); author != said.end() && author->is_object()) {
    const auto id = text_in(*author, "id"), name = text_in(*author, "name");
    if (id.size() > most_id || name.size() > most_id)
      return failure("bad_frame", "an author's id and name have at most 128 bytes");
    if (!id.empty()) s.author = {id, name.empty() ? id : name};
  }
  if (const auto humans = said.find("humans_present"); humans != said.end() && humans->is_number_unsigned())
    s.humans_present = humans->get<std::uint32_t>();
  return s;
}

} // namespace quell::controller::voice
