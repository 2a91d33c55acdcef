// Reads flags, and the key out of its file.
#include "integrations/voice/ear/flags.hpp"

#include <algorithm>
#include <fstream>
#include <string_view>

namespace quell::ear {

bool wants_help(int argc, char** argv) {
  return std::any_of(argv + 1, argv + std::max(argc, 1),
                     [](std::string_view word) { return word == "--help" || word == "-h"; });
}

result<flag_values> read_flags(int argc, char** argv, const std::set<std::string>& known) {
  flag_values values;
  for (int i = 1; i < argc; i += 2) {
    const std::string word = argv[i];
    if (!word.starts_with("--") || !known.contains(word.substr(2)))
      return failure("usage", "'" + word + "' is unknown; --help lists the flags");
    if (i + 1 == argc) return failure("usage", word + " needs a value");
    values[word.substr(2)] = argv[i + 1];
  }
  return values;
}

result<std::string> key_of(const flag_values& flags) {
  const auto at = flags.find("key-file");
  if (at == flags.end()) return std::string();
  std::ifstream in(at->second);
  std::string key;
  if (!std::getline(in, key) || key.empty())
    return failure("usage", "the key file " + at->second + " cannot be read or is empty");
  if (std::any_of(key.begin(), key.end(), [](unsigned char c) { return c <= ' ' || c >= 0x7F; }))
    return failure("usage", "the key in " + at->second + " has white space or other characters that no key has");
  return key;
}

} // namespace quell::ear
