// Where a model is asked: the settings' base URL made into the URL of the call, and one for people to read.
#pragma once

#include <string>
#include <string_view>

#include "integrations/models/history.hpp"
#include "integrations/models/model.hpp"

namespace quell::integrations {

struct endpoint {
  std::string url;
  std::string shown; ///< without user, password, query
  std::string host;
};

/// `base_url` with `path` (such as "/messages") below it. Without a base `otherwise` is taken; a base without any path
/// gets "/v1"; one that ends in `path` is taken as it is; a query is kept. Fault: no http(s) URL.
result<endpoint> endpoint_of(const model_settings& settings, std::string_view otherwise, std::string_view path);

/// A fault unless the settings name a model and hold a key that can be sent in a header.
std::optional<fault> wrong_basics(const model_settings& settings);

/// A fault if there are more than `most` tools, or one whose name or schema no provider would accept.
std::optional<fault> wrong_offers(const std::vector<tool_offer>& tools, std::size_t most);

} // namespace quell::integrations
