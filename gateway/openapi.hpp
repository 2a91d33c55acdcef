// The OpenAPI 3.1 document of this gateway.
#pragma once

#include <string_view>

namespace quell::controller::http {

std::string_view openapi_document();

} // namespace quell::controller::http
