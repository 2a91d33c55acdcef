// Authenticates requests by cookie, and restores sign-ins after a restart.
#pragma once

#include "gateway/exchange.hpp"

namespace quell::controller::http {

/// Sets `x.who`, `x.token` and `x.signed_in` if the request has no token but the cookie of a signed-in browser. Throws
/// `forbidden` if a page of another origin sent it. False: the cookie is missing or invalid.
bool authenticate_by_cookie(exchange& x);
/// Reads the sign-ins of an earlier life of this quelld.
void restore_sign_ins(gateway_context& gw);

} // namespace quell::controller::http
