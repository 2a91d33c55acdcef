// Parses hellos.
#include "actors/voice/callers.hpp"

#include <nlohmann/json.hpp>

namespace quell::controller::voice {
namespace {

using nlohmann::json;

constexpr std::size_t most_id = 128;

tl::unexpected<fault> unauthorized(std::string why) { return failure("unauthorized", std::move(why)); }

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

result<speaker> speaker_of(std::string_view text, const voice_settings& settings, const caller_lookup& caller_of,
                           const std::string& session, bool is_loopback) {
  const auto hello_json = json::parse(text, nullptr, false);
  if (!hello_json.is_object()) return failure("bad_frame", "a hello is a JSON object");
  auto s = nobody_in_particular(settings, session);
  const auto token = text_in(hello_json, "token");
  if (token.empty() && !is_loopback) return unauthorized("a hello from another machine needs a token");
  if (!token.empty()) {
    auto by = caller_of(token);
    if (!by) return tl::unexpected(by.error());
    s.by = std::move(*by);
    s.author = s.by.owner;
    s.token = token;
  }
  if (const auto scope = text_in(hello_json, "scope"); !scope.empty()) {
    const auto parsed = scope_path::parse(scope);
    if (!parsed) return failure("bad_frame", "scope: " + parsed.error().detail);
    s.scope = *parsed;
  }
  if (s.by.prefix && !s.scope.is_at_or_below(*s.by.prefix))
    return unauthorized("scope " + s.scope.text() + " lies outside " + s.by.prefix->text() +
                        ", which this client is for; name a scope at or below it");
  if (const auto author = hello_json.find("author"); author != hello_json.end() && author->is_object()) {
    const auto id = text_in(*author, "id"), name = text_in(*author, "name");
    if (id.size() > most_id || name.size() > most_id)
      return failure("bad_frame", "an author's id and name have at most 128 bytes");
    if (!id.empty()) s.author = {id, name.empty() ? id : name};
  }
  if (const auto humans = hello_json.find("humans_present"); humans != hello_json.end() && humans->is_number_unsigned())
    s.humans_present = humans->get<std::uint32_t>();
  return s;
}

} // namespace quell::controller::voice
