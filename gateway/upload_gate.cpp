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

bool is_upload(const body_head& head) {
  return head.method == "POST" && head.target.substr(0, head.target.find('?')) == "/v1/blobs";
}

} // namespace

std::size_t most_body_bytes(const gateway_options& options) {
  return options.blobs ? std::max(options.max_body_bytes, options.max_blob_bytes) : options.max_body_bytes;
}

body_admission admit_body(gateway_context& gw, const body_head& head) {
  const auto& options = gw.options;
  body_admission admitted{options.max_body_bytes};
  if (options.blobs && is_upload(head)) {
    admitted.limit = options.max_blob_bytes;
    const bool is_large = !head.length || *head.length > options.max_body_bytes;
    const auto refuse = [&admitted] {
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
