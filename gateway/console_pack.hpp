// The pack of the web console: console_pack.cpp is written by the build.
#pragma once

#include <string_view>

namespace quell::controller::http {

std::string_view console_pack();

} // namespace quell::controller::http
