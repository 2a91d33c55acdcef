// Logins at MCP servers: one thread for all requests, one file per login.
#include "actors/turns/mcp_accounts.hpp"

#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "integrations/host/private_file.hpp"
#include "protocol/clock_now.hpp"

namespace quell::controller::turns {

using integrations::chat::web_loop;
using integrations::oauth::account;
using integrations::oauth::grant;

namespace {

constexpr const char* folder = "/mcp-logins";
constexpr std::size_t most_account_bytes = 256 << 10;

std::optional<grant> kept_grant(const std::string& path, const std::string& name) {
  std::ifstream in(path, std::ios::binary);
  if (!in.is_open()) return std::nullopt;
  std::string text(most_account_bytes, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  auto read = integrations::oauth::read_grant(text);
  if (!read) spdlog::warn("{} holds no login; run `quell mcp login {}`", path, name);
  return read;
}

result<void> keep(const std::string& path, const grant* g) {
  if (g) return write_private_file(path, integrations::oauth::grant_text(*g) + "\n");
  std::error_code error;
  std::filesystem::remove(path, error);
  if (error) return failure(error_code::storage_unavailable, path + " cannot be removed: " + error.message());
  return {};
}

std::string named_ca_file() {
  for (const char* variable : {"QUELL_CA_FILE", "CURL_CA_BUNDLE"})
    if (const char* file = std::getenv(variable); file && *file) return file;
  return {};
}

} // namespace

result<std::shared_ptr<mcp_accounts>> mcp_accounts::open(const std::string& state_directory,
                                                         const std::vector<mcp_settings>& servers) {
  std::shared_ptr<mcp_accounts> all(new mcp_accounts);
  all->servers_ = servers;
  const auto logs_in = [](const mcp_settings& m) {
    return !m.url.empty() && m.key_env.empty() && !is_remote_agent(m.name);
  };
  if (std::none_of(servers.begin(), servers.end(), logs_in)) return all;
  const std::string directory = state_directory + folder;
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    return failure(error_code::storage_unavailable, directory + " cannot be made: " + std::strerror(errno));
  auto loop = web_loop::start([](boot_time) { return std::nullopt; });
  if (!loop) return tl::unexpected(loop.error());
  all->loop_ = std::move(*loop);
  for (const auto& one : servers) {
    if (!logs_in(one)) continue;
    const std::string path = directory + "/" + one.name + ".json";
    integrations::oauth::account_ports ports;
    ports.fetch = [loop = std::weak_ptr(all->loop_)](auto request, auto done) {
      if (const auto held = loop.lock()) held->fetch(std::move(request), std::move(done));
    };
    ports.now = [] { return clock_now().wall; };
    ports.keep = [path](const grant* g) { return keep(path, g); };
    ports.log = [name = one.name](const std::string& sentence) { spdlog::warn("MCP server {}: {}", name, sentence); };
    all->accounts_[one.name] = std::make_shared<account>(
        integrations::oauth::account_settings{
            one.url, {one.client_id, one.client_secret, one.client_metadata_url}, named_ca_file()},
        std::move(ports), kept_grant(path, one.name));
  }
  return all;
}

mcp_accounts::~mcp_accounts() { stop(); }

void mcp_accounts::stop() {
  if (loop_) loop_->stop();
}

std::shared_ptr<integrations::mcp_credentials> mcp_accounts::of(const std::string& name) const {
  const auto found = accounts_.find(name);
  return found == accounts_.end() ? nullptr : found->second;
}

std::vector<mcp_accounts::shown> mcp_accounts::all() const {
  std::vector<shown> list;
  for (const auto& one : servers_) {
    const auto found = accounts_.find(one.name);
    list.push_back({one, std::nullopt, trouble_of_ ? trouble_of_(one.name) : std::string()});
    if (found != accounts_.end()) list.back().login = found->second->now();
  }
  return list;
}

result<std::shared_ptr<account>> mcp_accounts::account_of(const std::string& name) const {
  if (const auto found = accounts_.find(name); found != accounts_.end()) return found->second;
  const auto known = std::find_if(servers_.begin(), servers_.end(), [&](const auto& m) { return m.name == name; });
  if (known == servers_.end())
    return failure(error_code::mcp_server_not_found,
                   "there is no MCP server " + name.substr(0, 64) + " configured; `quell mcp list` shows them");
  if (is_remote_agent(name))
    return failure(error_code::login_failed,
                   "nobody logs in at the " + server_title(name) + ": give it a key_env or key_file");
  return failure(error_code::login_failed, known->url.empty()
                                               ? "the MCP server " + name + " is a command: nobody logs in there"
                                               : "the MCP server " + name +
                                                     " gets the key that the configuration names "
                                                     "(key_env); remove that to log in instead");
}

void mcp_accounts::begin(const std::string& name, std::string redirect_uri, reply<result<started>> done) {
  const auto at = account_of(name);
  if (!at) return done(tl::unexpected(at.error()));
  (*at)->begin(std::move(redirect_uri), std::move(done));
}

void mcp_accounts::finish(const std::string& name, integrations::oauth::authorization_answer answer,
                          reply<result<void>> done) {
  const auto at = account_of(name);
  if (!at) return done(tl::unexpected(at.error()));
  (*at)->finish(std::move(answer), [self = weak_from_this(), name, done = std::move(done)](const result<void>& end) {
    if (const auto held = self.lock(); held && end && held->changed_) held->changed_(name);
    done(end);
  });
}

result<bool> mcp_accounts::log_out(const std::string& name) {
  const auto at = account_of(name);
  if (!at) return tl::unexpected(at.error());
  auto was = (*at)->log_out();
  if (was && changed_) changed_(name);
  return was;
}

} // namespace quell::controller::turns
