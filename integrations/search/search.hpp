// A search on the web: the provider's request, and its answer as pages. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "integrations/chat/web.hpp"
#include "protocol/fault.hpp"

namespace quell::integrations {

struct search_settings {
  enum class provider : std::uint8_t { none, searxng, brave, tavily } by = provider::none;
  std::string url;      ///< of the service; "" = the provider's own. searxng: its base address
  std::string key_file; ///< holds the key; "" = none
  std::string key;      ///< secret: never logged, stored or printed
  friend bool operator==(const search_settings&, const search_settings&) = default;
};

constexpr std::size_t most_query_bytes = 1'000, most_search_results = 20, default_search_results = 8;

/// Its name in the configuration; "" for none.
const char* name_of(search_settings::provider by);
search_settings::provider search_provider_named(const std::string& name);

struct found_page {
  std::string title, url, snippet; ///< one line each, bounded
};

/// `count`: at most `most_search_results`.
chat::web_request search_request(const search_settings& settings, const std::string& query, std::size_t count);
/// Only pages with an http(s) address, at most `count`. Faults for the model: `search_failed`, `search_refused`,
/// `rate_limited`. None contains the answer's text, the key or the service's address.
result<std::vector<found_page>> read_search(const search_settings& settings, const chat::web_response& answer,
                                            std::size_t count);

} // namespace quell::integrations
