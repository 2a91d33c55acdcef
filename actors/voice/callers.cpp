// Parses hellos.
#include "actors/voice/callers.hpp"

#include <algorithm>
#include <initializer_list>

#include <nlohmann/json.hpp>

#include "protocol/reserved_scopes.hpp"

namespace quell::controller::voice {
namespace {

using nlohmann::json;

constexpr std::size_t most_id = 128;
constexpr std::uint64_t most_humans = 1'000'000; ///< as in HTTP

tl::unexpected<fault> unauthorized(std::string why) { return failure("unauthorized", std::move(why)); }

tl::unexpected<fault> bad_hello(std::string why) { return failure("bad_frame", std::move(why)); }

/// "" if it is left out.
std::string text_in(const json& from, const char* key) {
  const auto found = from.find(key);
  return found != from.end() ? found->get<std::string>() : std::string();
}

/// `where`: the JSON pointer of `object`.
result<void> check_names(const json& object, const std::string& where, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : object.items())
    if (std::find(known.begin(), known.end(), name) == known.end())
      return bad_hello((json::json_pointer(where) / name.substr(0, most_id)).to_string() +
                       " is not a field of a hello");
  return {};
}

result<void> check_texts(const json& object, const std::string& where, std::initializer_list<const char*> keys) {
  for (const auto* key : keys)
    if (const auto found = object.find(key); found != object.end() && !found->is_string())
      return bad_hello(where + "/" + key + " must be a text");
  return {};
}

/// Unknown fields, and known ones of other types: a client that misspells its token is told so, and does not talk as
/// nobody in particular.
result<void> check_fields(const json& hello) {
  if (!hello.is_object()) return bad_hello("a hello is a JSON object");
  if (auto known = check_names(hello, "", {"token", "scope", "author", "humans_present"}); !known) return known;
  if (auto typed = check_texts(hello, "", {"token", "scope"}); !typed) return typed;
  if (const auto author = hello.find("author"); author != hello.end()) {
    if (!author->is_object()) return bad_hello("/author must be an object with id and name");
    if (auto known = check_names(*author, "/author", {"id", "name"}); !known) return known;
    if (auto typed = check_texts(*author, "/author", {"id", "name"}); !typed) return typed;
  }
  const auto humans = hello.find("humans_present");
  if (humans != hello.end() && (!humans->is_number_unsigned() || humans->get<std::uint64_t>() > most_humans))
    return bad_hello("/humans_present must be a whole number from 0 to " + std::to_string(most_humans));
  return {};
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
  // The parser takes a NUL for the end of its input.
  const auto hello_json =
      text.find('\0') == std::string_view::npos ? json::parse(text, nullptr, false) : json(json::value_t::discarded);
  if (auto fits = check_fields(hello_json); !fits) return tl::unexpected(fits.error());
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
    if (!parsed) return bad_hello("/scope: " + parsed.error().detail);
    if (is_reserved(*parsed)) return bad_hello(std::string("/scope: ") + reserved_scope_words);
    s.scope = *parsed;
  }
  if (s.by.prefix && !s.scope.is_at_or_below(*s.by.prefix))
    return unauthorized("scope " + s.scope.text() + " lies outside " + s.by.prefix->text() +
                        ", which this client is for; name a scope at or below it");
  if (const auto author = hello_json.find("author"); author != hello_json.end()) {
    const auto id = text_in(*author, "id"), name = text_in(*author, "name");
    if (id.size() > most_id || name.size() > most_id)
      return bad_hello("/author: an id and a name have at most 128 bytes");
    if (!id.empty()) s.author = {id, name.empty() ? id : name};
  }
  if (const auto humans = hello_json.find("humans_present"); humans != hello_json.end())
    s.humans_present = humans->get<std::uint32_t>();
  return s;
}

} // namespace quell::controller::voice
