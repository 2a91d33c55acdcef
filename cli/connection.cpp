// Finds the controller.
#include "cli/connection.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/context_file.hpp"
#include "cli/fields.hpp"
#include "cli/url.hpp"

namespace quell::cli {
namespace {

constexpr std::size_t most_file_bytes = 64 * 1024;

std::string without_line_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return text;
}

std::string context_path(const environment& env) {
  if (const auto config = env("XDG_CONFIG_HOME")) return *config + "/quell/cli.toml";
  return env("HOME").value_or("") + "/.config/quell/cli.toml";
}

/// Reads DIR/client.json into the fields that are still missing.
void take_client_file(const std::string& directory, connection& c) {
  const std::string path = directory + "/client.json";
  auto text = file_text(path, most_file_bytes);
  if (!text) {
    c.tried.push_back(path + " (" + text.error().detail + ")");
    return;
  }
  const auto document = nlohmann::json::parse(*text, nullptr, false);
  const std::string url = base_address(text_of(document, "url"));
  if (url.empty()) {
    c.tried.push_back(path + " (holds no url)");
    return;
  }
  if (c.url.empty()) {
    c.url = url;
    c.found_in = path;
  }
  // A token belongs to one controller: it must never be sent to another address.
  if (c.token.empty() && c.url == url) c.token = text_of(document, "token");
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const auto& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

} // namespace

result<std::string> file_text(const std::string& path, std::size_t most) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return failure(local_code::usage, std::strerror(errno));
  std::string text(most + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (in.bad() || (in.fail() && !in.eof())) return failure(local_code::usage, "cannot be read");
  if (text.size() > most) return failure(local_code::usage, "is larger than " + std::to_string(most) + " bytes");
  return text;
}

environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == 0) return std::nullopt;
    return std::string(value);
  };
}

std::vector<std::string> state_directories(const connection_flags& flags, const environment& env) {
  if (flags.state) return {*flags.state};
  if (const auto state = env("QUELL_STATE")) return {*state};
  std::vector<std::string> out;
  if (const auto state = env("XDG_STATE_HOME"))
    out.push_back(*state + "/quell");
  else if (const auto home = env("HOME"))
    out.push_back(*home + "/.local/state/quell");
  out.emplace_back("/var/lib/quell");
  return out;
}

std::optional<std::string> default_scope(const connection_flags& flags, const environment& env) {
  if (const auto scope = env("QUELL_SCOPE")) return scope;
  const auto context = read_context(context_path(env), flags.context);
  if (context && *context && !(*context)->scope.empty()) return (*context)->scope;
  return std::nullopt;
}

answer<connection> find_connection(const connection_flags& flags, const environment& env) {
  connection c;
  const auto take = [&](const std::optional<std::string>& url, const std::string& where) {
    if (!url || !c.url.empty()) return;
    c.url = *url;
    c.found_in = where;
  };
  take(flags.url, "--url");
  take(env("QUELL_URL"), "QUELL_URL");
  if (!c.url.empty()) {
    const auto base = base_address(c.url);
    if (base.empty())
      return refuse(local_code::usage,
                    c.found_in + " '" + c.url + "' is not an address: write http://HOST:PORT or https://HOST:PORT");
    c.url = base;
  }
  const auto read_token = [&](const std::optional<std::string>& path, const std::string& where) -> answer<bool> {
    if (!path || !c.token.empty()) return true;
    auto text = file_text(*path, most_file_bytes);
    if (!text) return refuse(local_code::usage, where + " " + *path + ": " + text.error().detail);
    c.token = without_line_end(*text);
    if (c.token.empty()) return refuse(local_code::usage, where + " " + *path + " is empty: it must hold a token");
    return true;
  };
  if (flags.token) c.token = *flags.token;
  if (auto read = read_token(flags.token_file, "--token-file"); !read) return tl::unexpected(read.error());
  if (const auto token = env("QUELL_TOKEN"); token && c.token.empty()) c.token = *token;
  if (auto read = read_token(env("QUELL_TOKEN_FILE"), "QUELL_TOKEN_FILE"); !read) return tl::unexpected(read.error());
  c.ca_file = env("QUELL_CA_FILE").value_or("");
  if (c.url.empty()) c.tried = {"--url", "QUELL_URL"};

  auto context = read_context(context_path(env), flags.context);
  if (!context) return tl::unexpected(context.error());
  if (*context) {
    const auto& found = **context;
    const auto base = base_address(found.url);
    const std::string where = "context '" + found.name + "' of " + context_path(env);
    if (c.url.empty() && !found.url.empty()) {
      if (base.empty())
        return refuse(local_code::usage, where + ": url '" + found.url + "' is not an address: write http://HOST:PORT");
      c.url = base;
      c.found_in = where;
    }
    if (c.url == base && !found.token.empty() && c.token.empty()) c.token = found.token;
    if (c.url == base && !found.token_file.empty())
      if (auto read = read_token(found.token_file, where); !read) return tl::unexpected(read.error());
    if (c.ca_file.empty()) c.ca_file = found.ca_file;
  }
  if (c.url.empty() || c.token.empty())
    for (const auto& directory : state_directories(flags, env)) take_client_file(directory, c);
  if (c.url.empty())
    return refuse(local_code::unreachable, "no controller is known; tried " + joined(c.tried) +
                                               ". Start one with `quell up`, or name one with --url or QUELL_URL.");
  if (c.token.find_first_of("\r\n") != std::string::npos)
    return refuse(local_code::usage, "the token holds a line break: it must be one line");
  return c;
}

} // namespace quell::cli
