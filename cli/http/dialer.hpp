// Opens one connection: finds the addresses of a host, tries them in order, and makes TLS.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "cli/http/address.hpp"
#include "cli/http/wire.hpp"

namespace quell::cli {

/// State that all connections of a loop share.
struct dialing {
  boost::asio::io_context& io;
  tls_contexts& trust;
  milliseconds limit{10'000};           ///< for names, connection and handshake together
  milliseconds limit_of_address{2'000}; ///< for one address while another is left
};

/// Lives until `done` was called or `stop`, even if nobody keeps it.
class dialer : public std::enable_shared_from_this<dialer> {
 public:
  using outcome = tl::expected<std::shared_ptr<wire>, std::string>;

  dialer(const dialing& with, web_address to, std::string ca_file, std::function<void(outcome)> done);

  /// `done` is called once, never inside this call.
  void start();
  /// Without `done`.
  void stop();

 private:
  using endpoint = boost::asio::ip::tcp::endpoint;
  using error_code = boost::system::error_code;

  void resolve();
  void try_next();
  void connected(const error_code& error);
  void end(outcome what);
  void fail(const std::string& why);

  dialing with_;
  web_address to_;
  std::string ca_file_;
  std::function<void(outcome)> done_; ///< empty once over
  boost::asio::ip::tcp::resolver resolver_;
  boost::asio::steady_timer whole_, one_;
  std::vector<endpoint> left_; ///< the next address last
  std::shared_ptr<wire> wire_;
  std::string last_error_;
  bool timed_out_ = false; ///< the address that is tried took too long
};

} // namespace quell::cli
