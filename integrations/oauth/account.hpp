// One account at one MCP server: the login, the tokens, and their renewal. Any thread.
//
// Races: if several callers learn at once that a token is refused, one requests a new one and the others wait for its
// answer. A logout or a login overtakes a refresh in flight: the result of that refresh is dropped.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "integrations/chat/web.hpp"
#include "integrations/mcp/credentials.hpp"
#include "integrations/oauth/exchange.hpp"

namespace quell::integrations::oauth {

struct account_settings {
  std::string server; ///< URL of the MCP server
  client_settings client;
  std::string ca_file; ///< "": the system's authorities
};

/// The I/O that the account needs.
struct account_ports {
  /// Calls `done` once, never before `fetch` returns, on any thread.
  std::function<void(chat::web_request, std::function<void(chat::web_response)> done)> fetch;
  std::function<wall_time()> now;
  /// Stores the grant (nullptr: delete it). Calls come in order; the caller holds only the lock that orders them.
  std::function<result<void>(const grant*)> keep;
  std::function<void(const std::string& sentence)> log; ///< never contains a secret
};

class account final : public mcp_credentials, public std::enable_shared_from_this<account> {
 public:
  account(account_settings settings, account_ports ports, std::optional<grant> kept);

  std::string token() override;
  void refused(std::string used, long status, std::string challenge, std::function<void(bool)> done) override;

  struct started {
    std::string url, state; ///< the page that the user opens in a browser; the state that the redirect brings back
  };
  /// Begins a login and voids any login begun before. `redirect_uri`: on the user's own machine. Faults:
  /// `invalid_field`, `login_failed`.
  void begin(std::string redirect_uri, std::function<void(result<started>)> done);
  /// Completes the login with what the browser brought back. Faults: `login_failed`, `login_not_found` (no such login
  /// was begun, or it is too old), `storage_unavailable`.
  void finish(authorization_answer answer, std::function<void(result<void>)> done);
  /// Returns false if there was no login. Fault `storage_unavailable`.
  result<bool> log_out();

  struct state {
    bool logged_in = false, renewable = false;
    std::string issuer, scope;
    std::optional<wall_time> expires_at;
    std::string trouble; ///< why a login is needed or could not be renewed; "" = unknown
  };
  state now() const;

 private:
  struct attempt; ///< a login in progress
  using begun = std::function<void(result<started>)>;

  void ask_for_challenge(std::shared_ptr<attempt> of);
  void ask_resource(std::shared_ptr<attempt> of, std::size_t number);
  void ask_issuer(std::shared_ptr<attempt> of, std::size_t number);
  void ask_registration(std::shared_ptr<attempt> of);
  void send_off(const std::shared_ptr<attempt>& of);
  void give_up(const std::shared_ptr<attempt>& of, fault why);
  void renew(std::unique_lock<std::mutex>& lock, std::function<void(bool)> done);
  void renewed(std::uint64_t life, const chat::web_response& r);
  void get(const std::string& url, std::function<void(chat::web_response)> done);
  void post(const std::string& url, token_request what, std::function<void(chat::web_response)> done);

  const account_settings settings_;
  const account_ports ports_;
  const result<web_address> server_;
  mutable std::mutex guard_;
  std::optional<grant> grant_;
  std::uint64_t life_ = 0; ///< incremented by each login and logout
  challenge demanded_;     ///< the latest one
  std::string trouble_;
  std::shared_ptr<attempt> open_; ///< waits for the browser's answer
  bool renews_ = false;
  std::optional<wall_time> not_before_; ///< no renewal before this time, after one that failed
  std::vector<std::function<void(bool)>> waiting_;
};

} // namespace quell::integrations::oauth
