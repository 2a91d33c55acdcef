// libFuzzer's entry: the one target that is linked into this program.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto& only = quell::fuzz::targets().at(0);
  only.run(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
