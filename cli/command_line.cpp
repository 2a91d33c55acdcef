// Turns argv into options with CLI11; its exit codes and conventions are translated here.
#include "cli/command_line.hpp"

#include <algorithm>
#include <array>

#include "cli/declare.hpp"
#include "cli/exit_code.hpp"

namespace quell::cli {
namespace {

constexpr const char* footer =
    "Exit codes and error codes: quell help errors. In a script, --json and the exit code are the interface.";

void declare_globals(CLI::App& app, global_options& g) {
  add_text(app, "--url", g.where.url, "the controller's address (QUELL_URL)")->type_name("URL");
  add_text(app, "--token", g.where.token, "access token (QUELL_TOKEN); better --token-file")->type_name("TOKEN");
  add_text(app, "--token-file", g.where.token_file, "file with the token (QUELL_TOKEN_FILE)")->type_name("FILE");
  add_text(app, "--context", g.where.context, "a context of ~/.config/quell/cli.toml")->type_name("NAME");
  add_text(app, "--state", g.where.state, "state directory with client.json (QUELL_STATE)")->type_name("DIR");
  app.set_version_flag("-V,--version", "quell " QUELL_VERSION, "print the version and exit");
  app.add_flag("--json", g.json, "JSON on standard output, problem documents on standard error");
  app.add_flag("--utc", g.utc, "times in UTC");
  app.add_option_function<std::string>(
         "--color",
         [&g](const std::string& value) {
           g.color = value == "always"  ? color_mode::always
                     : value == "never" ? color_mode::never
                                        : color_mode::automatic;
         },
         "auto, always or never (NO_COLOR)")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN");
}

void fall_through(CLI::App& app) {
  for (auto* sub : app.get_subcommands([](CLI::App*) { return true; })) {
    sub->fallthrough();
    fall_through(*sub);
  }
}

/// Declares the whole program. `app` must outlive `d`.
void declare_all(declaration& d) {
  d.app.require_subcommand(1);
  d.app.footer(footer);
  declare_globals(d.app, d.line.globals);
  declare_cluster(d);
  declare_work(d);
  declare_talk(d);
  declare_stop(d);
  fall_through(d.app);
}

bool names_command(const CLI::App& app, const char* name) {
  const auto parsed = app.get_subcommands();
  return std::any_of(parsed.begin(), parsed.end(), [&](const CLI::App* sub) { return sub->get_name() == name; });
}

/// Checks the rules that CLI11 cannot express: which options require which others.
std::string inconsistency(const command_options& command) {
  if (const auto* c = std::get_if<cancel_options>(&command)) {
    const int targets =
        (c->ids.empty() ? 0 : 1) + (c->everything ? 1 : 0) + (c->owner ? 1 : 0) + (c->scope && !c->owner ? 1 : 0);
    if (targets == 0) return "nothing to cancel is named: give ids, --scope S, --owner O or --everything --yes";
    if (targets > 1)
      return "more than one kind of target: give ids, or --scope, or --owner (with or without --scope), or "
             "--everything";
    if (c->everything && !c->yes && !c->dry_run)
      return "--everything stops all work that the token may see: add --yes, or look first with --dry-run";
    if (c->kill && c->grace && c->grace->count() > 0) return "--kill is --grace 0: give one of them";
    if (c->reason && c->reason->size() > 2000) return "--reason is longer than 500 characters";
  }
  if (const auto* r = std::get_if<run_options>(&command)) {
    if (r->command.empty()) return "there is no command: write quell run [flags] -- CMD ARGUMENTS";
    if (r->detach && (r->input || r->pty)) return "--detach cannot go with -i or --pty: nobody would be there to type";
    if (r->env.size() > 4096) return "more than 4096 --env";
  }
  if (const auto* r = std::get_if<say_options>(&command))
    if (r->words.empty()) return "there is nothing to say: write quell say TEXT, or - for standard input";
  if (const auto* h = std::get_if<history_options>(&command))
    if (h->action == "edit" && h->words.empty()) return "there is no text: write quell history edit SCOPE MESSAGE TEXT";
  if (const auto* r = std::get_if<approve_options>(&command))
    if (r->reason && r->reason->size() > 2000) return "--reason is longer than 500 characters";
  if (const auto* r = std::get_if<approve_options>(&command))
    if (r->input && (r->always || r->question || !r->values.empty()))
      return "--input cannot go with --always, --question or --set: it is for one call that waits to begin";
  if (const auto* r = std::get_if<resolve_options>(&command))
    if (!r->id && !r->worker) return "nothing to resolve is named: give an operation's id or --worker W";
  return {};
}

command_line_end wrong(const CLI::App& app, const std::string& why, bool json) {
  const bool is_run = names_command(app, "run") || names_command(app, "wait") || names_command(app, "say") ||
                      names_command(app, "chat");
  std::string name = "quell";
  for (const auto* sub : app.get_subcommands()) name += " " + sub->get_name();
  return {is_run ? exit_code::run_failed : exit_code::usage, name + ": " + why + ". See `" + name + " --help`.", json};
}

/// CLI11's sentence, without its line breaks and final stop.
std::string plain(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  return text;
}

/// The first word that is neither a global flag nor a flag's value: the command's name.
std::string command_word(const std::vector<std::string>& words) {
  constexpr std::array<std::string_view, 6> with_value{"--url",     "--token", "--token-file",
                                                       "--context", "--state", "--color"};
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with('-')) return words[i];
    if (std::find(with_value.begin(), with_value.end(), words[i]) != with_value.end()) ++i;
  }
  return {};
}

const CLI::App& named_command(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

void describe(const CLI::App& app, const std::string& path, std::vector<command_description>& out) {
  for (const auto* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    command_description c;
    c.path = path.empty() ? sub->get_name() : path + " " + sub->get_name();
    c.summary = sub->get_description();
    for (const auto* option : sub->get_options()) {
      for (const auto& name : option->get_lnames()) c.flags.push_back("--" + name);
      if (option->get_positional() && option->get_name(true) == "ID" && path.empty()) c.takes_operation = true;
      c.takes_paused = c.takes_operation && (c.path == "approve" || c.path == "deny");
      if (option->get_positional() && option->get_name(true) == "NAME" && sub->get_name() != "create" &&
          sub->get_name() != "add")
        c.takes_worker = true;
    }
    out.push_back(c);
    describe(*sub, c.path, out);
  }
}

} // namespace

tl::expected<command_line, command_line_end> parse_command_line(std::vector<std::string> words) {
  // Words behind `--` belong to the task alone: CLI11 never sees them, so it cannot take one for a flag or a command of
  // ours.
  const auto dashes = std::find(words.begin(), words.end(), "--");
  std::vector<std::string> ours(words.begin(), dashes);
  const bool json = std::find(ours.begin(), ours.end(), "--json") != ours.end();
  std::vector<std::string> behind;
  if (dashes != words.end()) behind.assign(dashes + 1, words.end());
  const auto named = command_word(ours);
  const bool is_run = named == "run";
  for (auto& word : ours)
    if (word == "--wait") word = "--wait=settled";
  if (!is_run && dashes != words.end()) {
    ours.emplace_back("--");
    ours.insert(ours.end(), behind.begin(), behind.end());
  }

  CLI::App app("quell runs trees of work on many machines, and stops them with proof.", "quell");
  declaration d(app, named);
  declare_all(d);
  std::reverse(ours.begin(), ours.end());
  try {
    app.parse(ours);
  } catch (const CLI::CallForVersion& version) {
    return tl::unexpected(command_line_end{exit_code::done, std::string(version.what()) + "\n", json});
  } catch (const CLI::Success&) { // --help
    const auto& at = named_command(app);
    return tl::unexpected(command_line_end{exit_code::done, at.help(), json});
  } catch (const CLI::RequiredError& e) {
    if (const auto rest = app.remaining(); app.get_subcommands().empty() && !rest.empty())
      return tl::unexpected(command_line_end{
          exit_code::usage, "quell: '" + rest.front() + "' is not a command. `quell --help` lists them.", json});
    if (app.get_subcommands().empty())
      return tl::unexpected(
          command_line_end{exit_code::usage, "quell: no command is named. See `quell --help`.", json});
    return tl::unexpected(wrong(app, plain(e.what()), json));
  } catch (const CLI::Error& e) {
    return tl::unexpected(wrong(app, plain(e.what()), json));
  }
  if (auto* run = std::get_if<run_options>(&d.line.command)) {
    if (!run->command.empty())
      return tl::unexpected(wrong(app,
                                  "'" + run->command.front() +
                                      "' is not a flag; put the command behind --, as in quell run -- " +
                                      run->command.front(),
                                  json));
    run->command = std::move(behind);
  }
  if (const auto why = inconsistency(d.line.command); !why.empty()) return tl::unexpected(wrong(app, why, json));
  return d.line;
}

std::vector<command_description> command_descriptions() {
  CLI::App app("", "quell");
  declaration d(app);
  declare_all(d);
  std::vector<command_description> out;
  describe(app, "", out);
  return out;
}

std::string help_text(const std::string& path) {
  CLI::App app("quell runs trees of work on many machines, and stops them with proof.", "quell");
  declaration d(app);
  declare_all(d);
  if (path.empty()) return app.help();
  CLI::App* at = &app;
  for (std::size_t begin = 0; begin < path.size();) {
    const auto end = std::min(path.find(' ', begin), path.size());
    const auto name = path.substr(begin, end - begin);
    const auto subs = at->get_subcommands([&](CLI::App* sub) { return sub->get_name() == name; });
    if (subs.empty()) return {};
    at = subs.front();
    begin = end + 1;
  }
  return at->help();
}

} // namespace quell::cli
