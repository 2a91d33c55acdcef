// Replaces the allocation functions of this test program.
#include "tests/actors/large_allocations.hpp"

#include <cstdlib>
#include <new>

namespace {

constinit thread_local bool refuses_large = false;

} // namespace

namespace quell::testing {

no_large_allocations::no_large_allocations() { refuses_large = true; }
no_large_allocations::~no_large_allocations() { refuses_large = false; }

} // namespace quell::testing

void* operator new(std::size_t bytes) {
  if (refuses_large && bytes >= quell::testing::large_bytes) throw std::bad_alloc();
  if (void* const got = std::malloc(bytes == 0 ? 1 : bytes)) return got;
  throw std::bad_alloc();
}
void operator delete(void* what) noexcept { std::free(what); }
void operator delete(void* what, std::size_t) noexcept { std::free(what); }
