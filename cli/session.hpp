// The context of a command's execution: flags, terminal, loop, the controller (found on first use), and functions for
// output.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "cli/api.hpp"
#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"

namespace quell::cli {

struct session {
  session(const global_options& g, environment e);

  /// The controller, or why none is known. Does not contact it yet.
  answer<api*> connect();
  /// Prints the problem on standard error and returns the exit code (SURFACE 12, first table).
  exit_code fail(const problem& p) const;
  void say(const problem& p) const;
  /// Prints a line on standard error, only if it is a terminal and --json was not given.
  void hint(std::string_view text) const;
  /// Prints a line on standard error, always.
  void warn(std::string_view text) const;
  /// Writes bytes to standard output.
  void print(std::string_view text) const;
  /// Prints a document on standard output: one line, or indented on a terminal.
  void print_document(const nlohmann::json& document) const;
  /// Prints one object on one line, flushed: for streaming commands.
  void print_line(const nlohmann::json& object) const;
  bool json() const { return globals.json; }

  const global_options globals;
  const environment env;
  terminal term;
  event_loop loop;

 private:
  std::unique_ptr<api> api_;
};

} // namespace quell::cli
