// Unicode's compatibility composition with case folding, by utf8proc.
#include "actors/turns/folded_text.hpp"

#include <cstdlib>
#include <iterator>
#include <memory>

#include <utf8proc.h>

namespace quell::controller::turns {

std::string folded_text(std::string_view text) {
  const auto how = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT |
                                                  UTF8PROC_CASEFOLD | UTF8PROC_IGNORE);
  utf8proc_uint8_t* out = nullptr;
  const auto size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), std::ssize(text), &out, how);
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(out, &std::free);
  return size < 0 ? std::string(text) : std::string(reinterpret_cast<const char*>(out), static_cast<std::size_t>(size));
}

} // namespace quell::controller::turns
