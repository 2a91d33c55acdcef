// How large a request's body may be, decided when its head is there. Only a file for `POST /v1/blobs`, and
// messages with images in them, may be larger than other bodies: from a caller with a token, and a few at once, because
// a body is in memory until it is stored.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "gateway/gateway_context.hpp"
#include "gateway/problem.hpp"

namespace quell::controller::http {

inline constexpr std::size_t most_uploads = 16; ///< of more than an ordinary body, at once

struct body_head {
  std::string_view method, target, authorization;
  std::optional<std::uint64_t> length; ///< none: in chunks, or no body
};

struct body_admission {
  std::size_t limit = 0;
  std::shared_ptr<void> slot = {}; ///< of a large upload, held until its request is answered
  std::optional<problem> refused = {};
};

/// Of a request that holds the images of a conversation.
std::size_t most_body_with_images(const gateway_options& options);
/// With a place for a large body; of an ordinary route as of all.
std::size_t most_body_at(const gateway_options& options, std::string_view target);
/// The largest of all limits, for a parser that has not seen the head yet.
std::size_t most_body_bytes(const gateway_options& options);
body_admission admit_body(gateway_context& gw, const body_head& head);
problem too_large_body(std::size_t limit);

/// The same for Beast's parser, which gets the limit. Nullopt: the body may be read, and `slot` must be held.
template <class Parser>
std::optional<problem> check_length(gateway_context& gw, Parser& parser, std::shared_ptr<void>& slot) {
  const auto& head = parser.get();
  const auto view = [](auto text) { return std::string_view(text.data(), text.size()); };
  const auto length = parser.content_length();
  body_head given{view(head.method_string()), view(head.target()), view(head["Authorization"]), std::nullopt};
  if (length)
    given.length = *length;
  else if (!parser.chunked())
    given.length = 0;
  auto admitted = admit_body(gw, given);
  parser.body_limit(admitted.limit);
  slot = std::move(admitted.slot);
  return std::move(admitted.refused);
}

/// The problem of a body that turned out larger than its limit.
template <class Parser>
problem too_large_body(gateway_context& gw, Parser& parser, bool has_place) {
  const auto target = parser.get().target();
  return too_large_body(has_place ? most_body_at(gw.options, {target.data(), target.size()})
                                  : gw.options.max_body_bytes);
}

} // namespace quell::controller::http
