// One account at one MCP server: how one logs in there, the tokens, and when they are renewed. Any thread.
//
// Races: of several who learn at once that a token is not taken any more one asks for another, the others wait for its
// answer. A logout or a login overtakes a refresh that is on its way: what that brings is dropped.
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

/// What the account needs of the world.
struct account_ports {
  /// `done` once, never before `fetch` returns, on any thread.
  std::function<void(chat::web_request, std::function<void(chat::web_response)> done)> fetch;
  std::function<wall_time()> now;
  /// Keeps the grant (nullptr: there is none any more); called in order, with no lock of ours but one that orders it.
  std::function<result<void>(const grant*)> keep;
  std::function<void(const std::string& sentence)> log; ///< never holds a secret
};

class account final : public mcp_credentials, public std::enable_shared_from_this<account> {
 public:
  account(account_settings settings, account_ports ports, std::optional<grant> kept);

  std::string token() override;
  void refused(std::string used, long status, std::string challenge, std::function<void(bool)> done) override;

  struct started {
    std::string url, state; ///< where a person goes with a browser; what comes back with it
  };
  /// Begins a login; one that was begun before is void. `redirect_uri`: on the person's own machine. Faults:
  /// `invalid_field`, `login_failed`.
  void begin(std::string redirect_uri, std::function<void(result<started>)> done);
  /// Ends it with what the browser brought back. Faults: `login_failed`, `login_not_found` (no such login was begun, or
  /// it is too old), `storage_unavailable`.
  void finish(authorization_answer answer, std::function<void(result<void>)> done);
  /// False: there was no login. Fault `storage_unavailable`.
  result<bool> log_out();

  struct state {
    bool logged_in = false, renewable = false;
    std::string issuer, scope;
    std::optional<wall_time> expires_at;
    std::string trouble; ///< why a login is needed, or could not be renewed; "" = nothing is known
  };
  state now() const;

 private:
  struct attempt; ///< a login on its way
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
  std::uint64_t life_ = 0; ///< grows with each login and logout
  challenge demanded_;     ///< the last one
  std::string trouble_;
  std::shared_ptr<attempt> open_; ///< that a browser is to answer
  bool renews_ = false;
  std::optional<wall_time> not_before_; ///< a renewal that failed is not tried again at once
  std::vector<std::function<void(bool)>> waiting_;
};

} // namespace quell::integrations::oauth
