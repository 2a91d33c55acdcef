// toml++ as every room reads it: with exceptions, and its assertions among them. The parser of 3.x asserts what a
// broken file can bring about (`[= 1`), and a program must say what is wrong with a file, not abort over it. To be
// included instead of <toml++/toml.h>, by few .cpp files.
#pragma once

#include <stdexcept>

namespace quell {
[[noreturn]] inline void refuse_toml() { throw std::logic_error("not the shape that TOML has"); }
} // namespace quell

#define TOML_ASSERT(expr) ((expr) ? static_cast<void>(0) : ::quell::refuse_toml())
#include <toml++/toml.h>
