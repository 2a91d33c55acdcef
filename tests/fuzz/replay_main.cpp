// Runs every target over its stored corpus, with any compiler and without a fuzzer: `replay CORPUS_FOLDER [TARGET]`.
// With `--write-seeds` it writes the seeds of the corpora.
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <unistd.h>

#include "tests/fuzz/target.hpp"

namespace fs = std::filesystem;

namespace {

char current_input[4096];

void name_the_input(int) {
  (void)!::write(2, current_input, std::strlen(current_input));
  (void)!::write(2, "\n", 1);
}

std::string content_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

int write_seeds(const fs::path& root) {
  for (const auto& target : quell::fuzz::targets()) {
    fs::create_directories(root / target.name);
    std::size_t number = 0;
    for (const auto& seed : target.seeds()) {
      char name[32];
      std::snprintf(name, sizeof name, "seed-%03zu", number++);
      std::ofstream(root / target.name / name, std::ios::binary) << seed;
    }
    std::printf("%s: %zu seeds\n", target.name.c_str(), number);
  }
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--write-seeds") == 0) return write_seeds(argv[2]);
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s [--write-seeds] CORPUS_FOLDER [TARGET]\n", argv[0]);
    return 2;
  }
  struct sigaction named {};
  named.sa_handler = name_the_input;
  named.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  ::sigaction(SIGABRT, &named, nullptr);
  for (const auto& target : quell::fuzz::targets()) {
    if (argc > 2 && target.name != argv[2]) continue;
    std::size_t count = 0;
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(fs::path(argv[1]) / target.name, missing)) {
      std::snprintf(current_input, sizeof current_input, "while %s ran over %s", target.name.c_str(),
                    entry.path().c_str());
      target.run(content_of(entry.path()));
      ++count;
    }
    for (const auto& seed : target.seeds()) target.run(seed);
    std::printf("%-20s %zu inputs\n", target.name.c_str(), count);
    if (count == 0) {
      std::fprintf(stderr, "%s has no corpus in %s: run --write-seeds\n", target.name.c_str(), argv[1]);
      return 1;
    }
  }
  return 0;
}
