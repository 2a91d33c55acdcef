// A model's endpoint: the URL of the call, from the settings' base URL, and a display form of it.
#pragma once

#include <string>
#include <string_view>

#include "integrations/models/history.hpp"
#include "integrations/models/model.hpp"

namespace quell::integrations {

struct endpoint {
  std::string url;
  std::string shown; ///< without user, password and query
  std::string host;
};

/// `base_url` with `path` (such as "/messages") appended. An empty base is replaced by `otherwise`; a base without a
/// path gets "/v1"; a base that ends in `path` is used as it is; a query is kept. Fault: not an http(s) URL.
result<endpoint> endpoint_of(const model_settings& settings, std::string_view otherwise, std::string_view path);

/// A fault unless the settings name a model and hold a key that is valid in a header.
std::optional<fault> wrong_basics(const model_settings& settings);

/// The extra headers of the settings as lines; they come last, and replace none of ours.
void add_headers(const model_settings& settings, std::vector<std::string>& lines);

/// The request's rule for calls: "" (none given), auto, none, any, or the name of an offered tool. A model that must
/// call something must do so once for each message of a person: else it could never answer.
std::string tool_choice_of(const model_settings& settings, const model_request& request);

/// A fault if the model's answer settings do not fit each other or the provider.
std::optional<fault> wrong_answer_settings(const model_settings& settings);

/// A fault if there are more than `most` tools, or if a tool has a name or schema that no provider accepts.
std::optional<fault> wrong_offers(const std::vector<tool_offer>& tools, std::size_t most);

} // namespace quell::integrations
