// One request and its answer.
//
// When may a request be sent twice? A server closes a kept connection when it likes, also while a request is on its
// way. Then nothing comes back, and whether the request was carried out cannot be known. So the exchange sends it
// again, once and on a fresh connection, only if it merely asks (GET, HEAD), or if the system did not take a single
// byte of it. Everything else ends with an error and `sent`, and whoever knows what the request means repeats it with
// the same id.
#pragma once

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/http/answer_parser.hpp"
#include "cli/http/dialer.hpp"
#include "cli/http/kept_wires.hpp"

namespace quell::cli {

/// The callbacks of the sink run inside the loop, never inside a call of these functions.
class exchange : public std::enable_shared_from_this<exchange> {
 public:
  /// `over` is called before the sink's `end`, and not after `abandon`.
  exchange(const dialing& with, kept_wires& kept, http_request request, http_sink sink, std::function<void()> over);

  void start();
  void abandon();
  void resume();

 private:
  using error_code = boost::system::error_code;
  enum class writing { no, going_on, done, failed };

  void begin();
  void dial();
  void send(std::shared_ptr<wire> connection);
  void written(const error_code& error, std::size_t count);
  void read_more();
  void received(const error_code& error, std::size_t count);
  void deliver();
  void broke(const std::string& why);
  bool may_repeat() const;
  void finish(std::string error);

  dialing with_;
  kept_wires& kept_;
  http_request request_;
  http_sink sink_;
  std::function<void()> over_;

  web_address to_;
  std::string key_;  ///< of the connections that can carry it
  std::string text_; ///< the request as sent
  boost::asio::steady_timer limit_;
  std::shared_ptr<dialer> dialer_;
  std::shared_ptr<wire> wire_;
  std::optional<answer_parser> parser_;
  std::array<char, 16 * 1024> room_;
  std::string arrived_;                  ///< received, and not yet delivered or not yet understood
  std::size_t understood_ = 0;           ///< how much of `arrived_` the parser has read
  std::vector<std::string_view> pieces_; ///< of the body, in `arrived_`
  std::size_t delivered_ = 0;            ///< of `pieces_`
  std::string broken_;                   ///< how the connection ended, told after what arrived before

  writing writing_ = writing::no;
  bool is_reused_ = false;
  bool may_be_received_ = false; ///< the server may have got a part of the request
  bool is_head_reported_ = false, is_paused_ = false, is_over_ = false, has_ended_ = false;
};

} // namespace quell::cli
