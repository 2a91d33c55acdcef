// quell: the command line of a quell cluster. Parse, execute one command, end with its exit code.
#include <cstdio>
#include <string_view>
#include <variant>

#include "cli/command_line.hpp"
#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "protocol/standard_streams.hpp"

namespace {

/// Overwrites a token in the arguments, which every user of this machine can read in /proc.
void hide_token(int argc, char** argv) {
  constexpr std::string_view flag = "--token", with_value = "--token=";
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    char* secret = nullptr;
    if (std::string_view(argv[i]).starts_with(with_value)) secret = argv[i] + with_value.size();
    if (argv[i] == flag && i + 1 < argc) secret = argv[++i];
    for (; secret && *secret; ++secret) *secret = '.';
  }
}

} // namespace

int main(int argc, char** argv) {
  quell::fill_standard_streams();
  using namespace quell::cli;
  const auto line = parse_command_line({argv + 1, argv + argc});
  hide_token(argc, argv);
  if (!line) {
    const auto& end = line.error();
    if (end.code == exit_code::done)
      std::fputs(end.text.c_str(), stdout);
    else
      std::fprintf(stderr, "%s\n",
                   end.json ? local_problem(local_code::usage, end.text).document.c_str() : end.text.c_str());
    return static_cast<int>(end.code);
  }
  const bool is_run = std::holds_alternative<run_options>(line->command) ||
                      std::holds_alternative<wait_options>(line->command) ||
                      std::holds_alternative<say_options>(line->command);
  session s(line->globals, process_environment());
  exit_code code = std::visit([&s](const auto& options) { return execute(s, options); }, line->command);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fputs("quell: standard output cannot be written\n", stderr);
    if (code == exit_code::done) code = is_run ? exit_code::run_failed : exit_code::refused;
  }
  return static_cast<int>(code);
}
