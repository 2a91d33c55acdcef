// Declares commands to CLI11. Only command_line.cpp and declare_*.cpp include this.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command_line.hpp"

namespace quell::cli {

/// Collects the declared commands: their flags write into `line` when it is parsed, and the command that was named is
/// recorded in `line`.
class declaration {
 public:
  /// `named`: the flags of this command (with those below it) are declared, of all others only names and summaries; the
  /// flags of all commands cost a millisecond. Nothing = all of them.
  explicit declaration(CLI::App& app, std::optional<std::string> named = std::nullopt)
      : app(app), named_(std::move(named)) {}

  /// A command whose options are an `Options`: `fields` binds flags to it; parsing the command makes it the chosen one.
  template <class Options, class Fields>
  CLI::App* command(CLI::App& parent, const std::string& name, const std::string& summary, Fields fields) {
    auto* sub = parent.add_subcommand(name, summary);
    if (named_ && *named_ != (&parent == &app ? name : parent.get_name())) return sub;
    auto options = std::make_shared<Options>();
    fields(*sub, *options);
    // The callback of a command below this one has already run.
    sub->callback([this, options, sub] {
      if (sub->get_subcommands().empty()) line.command = *options;
    });
    return sub;
  }

  CLI::App& app;
  command_line line;

 private:
  const std::optional<std::string> named_;
};

void declare_work(declaration& d);    ///< run ps show logs wait
void declare_talk(declaration& d);    ///< say chat approve deny mcp acp
void declare_stop(declaration& d);    ///< cancel cancels why resolve scopes
void declare_cluster(declaration& d); ///< up status worker events audit token doctor completion help version

/// A flag whose value is a text; the empty text is refused.
CLI::Option* add_text(CLI::App& app, const std::string& name, std::optional<std::string>& target,
                      const std::string& about);
/// All words that are not flags.
CLI::Option* add_words(CLI::App& app, const std::string& name, std::vector<std::string>& target,
                       const std::string& about);
/// A flag whose value is a duration (`30s`).
CLI::Option* add_duration(CLI::App& app, const std::string& name, std::optional<milliseconds>& target,
                          const std::string& about);
CLI::Option* add_duration(CLI::App& app, const std::string& name, milliseconds& target, const std::string& about);
/// A flag whose value is a size (`64MiB`), at least 1 MiB.
CLI::Option* add_size(CLI::App& app, const std::string& name, std::optional<std::uint64_t>& target,
                      const std::string& about);
/// A flag whose value is a scope, validated here.
CLI::Option* add_scope(CLI::App& app, const std::string& name, std::optional<std::string>& target,
                       const std::string& about);
/// A repeatable flag `K=V`, or `K` alone if its value is optional.
enum class pair_value : std::uint8_t { required, optional };
CLI::Option* add_pairs(CLI::App& app, const std::string& name, std::vector<std::string>& target,
                       const std::string& about, pair_value value = pair_value::required);

} // namespace quell::cli
