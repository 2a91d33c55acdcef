// Finds the functions in libpulse.so.0.
#include "cli/talk/pulse_library.hpp"

#include <dlfcn.h>

namespace quell::cli {
namespace {

pulse_library load() {
  pulse_library p;
  void* library = ::dlopen("libpulse.so.0", RTLD_NOW | RTLD_LOCAL); // never closed: it has threads of its own
  if (!library) {
    p.error = "libpulse.so.0 is not installed (Debian: libpulse0)";
    return p;
  }
#define QUELL_FIND(name)                                                                                               \
  p.name = reinterpret_cast<decltype(p.name)>(::dlsym(library, #name));                                                \
  if (!p.name) p.error = "libpulse.so.0 has no " #name;
  QUELL_PULSE_FUNCTIONS(QUELL_FIND)
#undef QUELL_FIND
  return p;
}

} // namespace

const pulse_library& pulse() {
  static const pulse_library loaded = load();
  return loaded;
}

} // namespace quell::cli
