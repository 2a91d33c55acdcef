// Logins at the MCP servers that are reached by a url: who is logged in where, and the files that hold the tokens
// (0600, in `mcp-logins` below the state directory). Any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "actors/turns/settings.hpp"
#include "controller/service.hpp"
#include "integrations/oauth/account.hpp"

namespace quell::controller::turns {

class mcp_accounts : public std::enable_shared_from_this<mcp_accounts> {
 public:
  /// Reads the files of earlier lives. An unreadable file counts as no login and is logged.
  static result<std::shared_ptr<mcp_accounts>> open(const std::string& state_directory,
                                                    const std::vector<mcp_settings>& servers);
  ~mcp_accounts();

  /// The credentials for this server; nullptr: it needs none (a command, or a server with a key).
  std::shared_ptr<integrations::mcp_credentials> of(const std::string& name) const;

  struct shown {
    mcp_settings settings;                                    ///< for its names; holds secrets
    std::optional<integrations::oauth::account::state> login; ///< nullopt: this server has no login
    std::string trouble{};                                    ///< why turns do without its tools; "" = none known
  };
  /// In the order of the configuration.
  std::vector<shown> all() const;

  using started = integrations::oauth::account::started;
  // As in `account`; additional fault: `mcp_server_not_found`. Answers once, on any thread, unless the process ends
  // first.
  void begin(const std::string& name, std::string redirect_uri, reply<result<started>> done);
  void finish(const std::string& name, integrations::oauth::authorization_answer answer, reply<result<void>> done);
  result<bool> log_out(const std::string& name);

  /// Sets the function called with a server's name after each login and logout. Set once at the start.
  void on_change(std::function<void(const std::string& name)> listener) { changed_ = std::move(listener); }
  /// Sets the function that knows a server's trouble. Set once at the start.
  void ask_for_trouble(std::function<std::string(const std::string& name)> known) { trouble_of_ = std::move(known); }
  /// Aborts running requests. Idempotent.
  void stop();

 private:
  mcp_accounts() = default;
  result<std::shared_ptr<integrations::oauth::account>> account_of(const std::string& name) const;

  std::vector<mcp_settings> servers_;
  std::map<std::string, std::shared_ptr<integrations::oauth::account>> accounts_; ///< never changes
  std::function<void(const std::string&)> changed_;
  std::function<std::string(const std::string&)> trouble_of_;
  std::shared_ptr<integrations::chat::web_loop> loop_;
};

} // namespace quell::controller::turns
