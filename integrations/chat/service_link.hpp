// Keeps a connection to a chat service open: one thread that dials, runs a session, and dials again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "integrations/chat/change_rules.hpp"
#include "integrations/chat/service_session.hpp"

namespace quell::integrations::chat {

struct link_settings {
  std::string host;
  std::uint16_t port = 0;
  bool tls = true;
  std::string tls_ca;   ///< PEM file of authorities; "": the system's
  std::string tls_cert; ///< our own certificate and key (PEM), for SASL EXTERNAL; "": none
  std::string tls_key;
  std::chrono::milliseconds connect_timeout{20'000}; ///< for each of: connecting, the TLS handshake
  std::chrono::milliseconds retry_first{1'000};
  std::chrono::milliseconds retry_most{300'000};
  change_rules changes{}; ///< of messages that people correct or take back
};

/// Keeps `session` connected and hands the messages that it receives to `host`. Unsent bytes are bounded: above 1 MiB
/// the connection is cut.
class service_link {
 public:
  /// Fault `invalid_field`: the certificate files cannot be used. `log` (can be empty) gets a sentence for each change
  /// of state, on the link's thread. `at` must outlive the link.
  static result<std::unique_ptr<service_link>> start(std::string name, link_settings settings,
                                                     std::unique_ptr<service_session> session, host& at,
                                                     std::function<void(const std::string&)> log, memory remembers);
  ~service_link();

  void on_event(const event& e);
  std::string state() const;
  /// As `connector::stop`: waits for the thread, at most a second or two.
  void stop();

  struct implementation;

 private:
  explicit service_link(std::shared_ptr<implementation> c);
  std::shared_ptr<implementation> implementation_;
};

/// A connector around a link: `name` is the first segment of its scopes.
result<std::unique_ptr<connector>> start_linked(std::string name, link_settings settings,
                                                std::unique_ptr<service_session> session, host& at,
                                                std::function<void(const std::string&)> log, memory remembers);

} // namespace quell::integrations::chat
