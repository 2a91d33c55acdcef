// Who comes with a cookie; and what is kept of sign-ins over a restart.
#pragma once

#include "controller/gateway/exchange.hpp"

namespace quell::controller::http {

/// Sets `x.who`, `x.token` and `x.signed_in` if the request has no token but the cookie of a browser that is signed in.
/// Throws `forbidden` if a page of another origin sent it. False: there is no such cookie, or it opens nothing.
bool authenticate_by_cookie(exchange& x);
/// Reads what an earlier life of this quelld knew.
void restore_sign_ins(core& gw);

} // namespace quell::controller::http
