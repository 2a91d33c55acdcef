// The bodies of POST /v1/cancels, POST …/cancel and POST …/resolve as checked orders.
#pragma once

#include <string>
#include <string_view>

#include "controller/orders.hpp"
#include "gateway/problem.hpp"

namespace quell::controller::http {

inline constexpr milliseconds max_wait{60'000};

/// The state in which a cancel is answered, and the longest wait for it.
struct cancel_wait {
  cancel_status status = cancel_status::fenced;
  milliseconds longest{30'000};
};

struct cancel_request {
  cancel_order order; ///< without `by_token`, `via_channel` and `received`, which the handler sets
  cancel_wait until;
};

/// POST /v1/cancels: exactly one target in the body, else `no_target`.
tl::expected<cancel_request, problem> read_cancel(std::string_view body);
/// POST /v1/operations/{id}/cancel: the same fields without the target; the body may be empty.
tl::expected<cancel_request, problem> read_cancel_of(const operation_id& id, std::string_view body);
/// `{"declare":"dead","reason":…}`: returns the reason.
tl::expected<std::string, problem> read_resolve(std::string_view body);

} // namespace quell::controller::http
