// Prints messages, and finds the controller.
#include "cli/session.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/json_text.hpp"

namespace quell::cli {

session::session(const global_options& g, environment e)
    : globals(g), env(std::move(e)), term(this_terminal(g.color, env)) {}

answer<api*> session::connect() {
  if (api_) return api_.get();
  auto found = find_connection(globals.where, env);
  if (!found) return tl::unexpected(found.error());
  api_ = std::make_unique<api>(loop, globals.where, env, std::move(*found));
  return api_.get();
}

void session::say(const problem& p) const {
  std::fflush(stdout);
  if (json())
    std::fprintf(stderr, "%s\n", p.document.c_str());
  else
    std::fprintf(stderr, "quell: %s\n", painted(printable(p.detail), color::red, term.color_err).c_str());
}

exit_code session::fail(const problem& p) const {
  say(p);
  return exit_of_problem(p);
}

void session::hint(std::string_view text) const {
  if (term.err_is_terminal && !json()) warn(text);
}

void session::warn(std::string_view text) const {
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", painted("quell: " + printable(text), color::dim, term.color_err).c_str());
}

void session::print(std::string_view text) const { std::fwrite(text.data(), 1, text.size(), stdout); }

void session::print_document(const nlohmann::json& document) const {
  print(to_text(document, term.out_is_terminal ? 2 : -1) + "\n");
}

void session::print_line(const nlohmann::json& object) const {
  print(to_line(object) + "\n");
  std::fflush(stdout);
}

} // namespace quell::cli
