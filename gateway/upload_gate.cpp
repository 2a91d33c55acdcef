// Limits of bodies by their heads.
#include "gateway/upload_gate.hpp"

#include <algorithm>
#include <limits>

#include "gateway/body_places.hpp"
#include "gateway/rights.hpp"
#include "gateway/tokens.hpp"

namespace quell::controller::http {

namespace {

constexpr std::size_t most_uploads_of_one = most_uploads / 2; // with one token: a slow one leaves room for others

enum class large_body : std::uint8_t { none, file, images };

large_body large_body_at(std::string_view target) {
  const auto path = target.substr(0, target.find('?'));
  if (path == "/v1/blobs") return large_body::file;
  return path == "/openai/v1/chat/completions" || path == "/v1/ui/chat" ? large_body::images : large_body::none;
}

} // namespace

std::size_t most_body_with_images(const gateway_options& options) {
  return options.max_body_bytes +
         2 * options.max_blob_bytes; // one of full size, since base64 adds a third, and smaller
}

std::size_t most_body_bytes(const gateway_options& options) {
  return options.blobs ? most_body_with_images(options) : options.max_body_bytes;
}

std::size_t most_body_at(const gateway_options& options, std::string_view target) {
  const auto kind = options.blobs ? large_body_at(target) : large_body::none;
  if (kind == large_body::none) return options.max_body_bytes;
  return kind == large_body::file ? options.max_blob_bytes : most_body_with_images(options);
}

body_admission admit_body(gateway_context& gw, const body_head& head) {
  const auto& options = gw.options;
  body_admission admitted{options.max_body_bytes};
  const auto kind = options.blobs && head.method == "POST" ? large_body_at(head.target) : large_body::none;
  if (kind != large_body::none) {
    admitted.limit = most_body_at(options, head.target);
    const bool is_large = !head.length || *head.length > options.max_body_bytes;
    const auto refuse = [&] {
      if (!head.length && kind == large_body::images) { // most likely an ordinary one
        admitted.limit = options.max_body_bytes;
        return;
      }
      admitted.refused = problem{.code = error_code::rate_limited,
                                 .detail = "too many large files are being uploaded; come again in a second",
                                 .headers = {{"Retry-After", "1"}}};
    };
    if (is_large && *gw.uploads >= most_uploads) {
      refuse();
    } else if (is_large && !has_known_token(gw, head.authorization)) {
      admitted.limit = options.max_body_bytes;
    } else if (is_large) {
      static body_places places(std::numeric_limits<std::size_t>::max(), most_uploads_of_one);
      auto place = places.take(token_hash(head.authorization));
      if (!place) {
        refuse();
      } else {
        ++*gw.uploads;
        admitted.slot = std::shared_ptr<void>(nullptr, [count = gw.uploads, place](void*) { --*count; });
      }
    }
  }
  if (!admitted.refused && head.length && *head.length > admitted.limit)
    admitted.refused = too_large_body(admitted.limit);
  return admitted;
}

problem too_large_body(std::size_t limit) {
  return {.code = error_code::too_large,
          .detail = "the body is larger than " + std::to_string(limit) +
                    " bytes; pass long data in a file or on stdin, or split the request"};
}

} // namespace quell::controller::http
