// Keys of a model, and those that an agent can set in its place.
#include "quelld/settings/model_read.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "quelld/settings/settings_read.hpp"

namespace quell::controller::turns {
namespace {

using integrations::provider;

constexpr std::size_t most_schema_bytes = 64 << 10, most_headers = 32, most_header_bytes = 8 << 10, most_fallbacks = 8;

provider provider_of(toml_table& t) {
  const auto name = t.text("provider", 64), api = t.text("api", 64);
  if (t.has("api") && api != "chat" && api != "responses")
    t.wrong("api", "must be chat (Chat Completions) or responses");
  if (t.has("api") && name != "openai") t.wrong("api", "is for provider openai, which has two");
  if (name == "anthropic") return provider::anthropic;
  if (name == "openai") return api == "responses" ? provider::responses : provider::openai;
  if (name != "scripted") t.wrong("provider", "must be scripted, anthropic or openai");
  return provider::scripted;
}

/// Characters that RFC 9110 allows in a header's name.
bool is_header_name(const std::string& name) {
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

bool is_ours(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  constexpr std::array ours{"authorization", "x-api-key", "content-type", "content-length",   "accept",
                            "host",          "expect",    "connection",   "transfer-encoding"};
  return std::find(ours.begin(), ours.end(), name) != ours.end();
}

std::map<std::string, std::string> headers_of(toml_table& t, const char* key) {
  auto headers = t.pairs(key, most_headers);
  for (const auto& [name, value] : headers) {
    if (!is_header_name(name)) t.wrong(key, "has \"" + name.substr(0, 128) + "\", which is not the name of a header");
    if (is_ours(name))
      t.wrong(key, "has " + name + ", which quell sets itself (a key belongs into key_env or key_file)");
    if (value.size() > most_header_bytes || value.find_first_of("\r\n") != std::string::npos)
      t.wrong(key, "has a value of " + name + " that is not one line of at most 8 KiB");
  }
  return headers;
}

integrations::token_prices prices_of(toml_table& t, const std::string& place, file_trouble& trouble) {
  constexpr double most = 1e6;
  integrations::token_prices prices;
  const auto* table = t.table("price");
  if (!table) return prices;
  toml_table inner(*table, place + ": price", trouble);
  prices.input = inner.real_if("input", 0, most).value_or(0);
  prices.output = inner.real_if("output", 0, most).value_or(0);
  prices.cached = inner.real_if("cached", 0, most);
  prices.written = inner.real_if("written", 0, most);
  inner.end();
  return prices;
}

} // namespace

integrations::answer_settings read_answer_settings(toml_table& t) {
  integrations::answer_settings a;
  a.temperature = t.real_if("temperature", 0, 2);
  a.top_p = t.real_if("top_p", 0, 1);
  a.tool_choice = t.text("tool_choice", 64);
  if (t.has("tool_choice") && !is_configured_name(a.tool_choice))
    t.wrong("tool_choice", "must be auto, none, any or the name of a tool");
  const auto format = t.text("response_format", 64);
  a.json = format == "json";
  if (t.has("response_format") && format != "json" && format != "text")
    t.wrong("response_format", "must be text or json; for a schema use response_schema");
  a.schema = t.text("response_schema", most_schema_bytes);
  if (t.is_text("thinking")) {
    const auto thinking = t.text("thinking", 64);
    a.adaptive_thinking = thinking == "adaptive";
    if (thinking == "off") a.thinking_tokens = 0;
    if (thinking != "adaptive" && thinking != "off")
      t.wrong("thinking", "must be off, adaptive, or a number of tokens from 1024 on");
  } else if (t.has("thinking")) {
    a.thinking_tokens = t.number("thinking", 1024, 1024, 10'000'000);
  }
  a.effort = t.text("effort", 64);
  constexpr std::array efforts{"", "none", "minimal", "low", "medium", "high", "xhigh", "max"};
  if (std::find(efforts.begin(), efforts.end(), a.effort) == efforts.end())
    t.wrong("effort", "must be none, minimal, low, medium, high, xhigh or max");
  return a;
}

void read_model_settings(toml_table& t, const std::string& place, integrations::model_settings& m, key_source& key,
                         file_trouble& trouble) {
  m.provider = provider_of(t);
  m.answer = read_answer_settings(t);
  m.max_tokens = t.number("max_tokens", m.max_tokens, 1, 10'000'000);
  if (m.provider == provider::anthropic) m.context = 200'000;
  m.context = t.number("context", m.context, 1'000, 100'000'000);
  if (m.max_tokens >= m.context)
    t.wrong("max_tokens", "must leave room for the conversation: it is not below the model's context of " +
                              std::to_string(m.context) + " tokens");
  m.retries = t.number("retries", m.retries, 0, 100);
  m.whole_timeout = t.duration("timeout", m.whole_timeout, milliseconds{1000});
  m.first_event_timeout = t.duration("first_event_timeout", m.first_event_timeout, milliseconds{100});
  m.idle_timeout = t.duration("idle_timeout", m.idle_timeout, milliseconds{100});
  m.prompt_cache = t.flag("prompt_cache", m.prompt_cache);
  if (t.has("prompt_cache") && m.provider != provider::anthropic)
    t.wrong("prompt_cache", "is for provider anthropic; others cache without being told");
  m.images = t.flag("images", m.images);
  m.documents = t.flag("documents", m.documents);
  m.headers = headers_of(t, "headers");
  key.headers_env = headers_of(t, "headers_env");
  for (const auto& [name, variable] : key.headers_env)
    if (m.headers.contains(name)) t.wrong("headers_env", "has " + name + ", which stands in headers, too");
  m.concurrency = t.number("concurrency", m.concurrency, 1, 100'000);
  m.rate = t.number("rate", m.rate, 1, 1'000'000);
  m.queue_timeout = t.duration("queue_timeout", m.queue_timeout, milliseconds{100});
  if (t.has("queue_timeout") && m.concurrency == 0 && m.rate == 0)
    t.wrong("queue_timeout", "is for a model with concurrency or rate: nobody waits for its turn at another");
  m.prices = prices_of(t, place, trouble);
  m.fallback = t.texts("fallback", most_fallbacks, most_fallbacks * 64);
}

} // namespace quell::controller::turns
