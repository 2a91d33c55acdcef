// The conversation with one MCP server over HTTP: handshake, list of tools, calls, cancels. Runs on the one thread that
// drives the network; the time is passed in.
//
// Sending a cancel: in every version the response is closed at once. Up to 2025-11-25 closing means nothing to the
// server, so the notification is posted too; since 2026-07-28 closing is the cancel, and the notification would mean
// nothing.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <unordered_map>

#include "integrations/mcp/answers.hpp"
#include "integrations/mcp/call_channel.hpp"
#include "integrations/mcp/http_exchange.hpp"
#include "integrations/mcp/http_server.hpp"
#include "integrations/mcp/messages.hpp"
#include "integrations/mcp/param_headers.hpp"
#include "integrations/mcp/questions.hpp"

namespace quell::integrations {

class http_conversation {
 public:
  using time_point = transfers::clock::time_point;
  using call_number = std::uint64_t; ///< chosen by the holder; not the request's id

  struct settings {
    std::string name, url, key;
    mcp_http_options options;
    mcp_hooks hooks;
    std::function<double()> random; ///< returns 0 to below 1
    /// Any thread: runs the job on the thread that drives the network, unless the server is gone.
    std::function<void(std::function<void(http_conversation&, time_point)>)> post;
  };
  http_conversation(transfers& network, settings what);

  void begin(call_number number, std::shared_ptr<mcp_call_channel> channel, const std::string& tool,
             const std::string& input, const std::string& operation, time_point now);
  void cancel(call_number number, const std::string& reason, time_point now);
  void stop_waiting(call_number number);
  /// No effect if the question is no longer open.
  void answer(call_number number, std::uint64_t question, const mcp_answer& what, time_point now);
  void list(mcp_server::tools_reply reply, time_point now);
  void begin_handshake(time_point now);

  /// Handles all that has arrived and every deadline that has passed.
  void step(time_point now);
  time_point next() const;
  /// Whether anything has arrived that `step` has not handled.
  bool has_news() const { return !news_.empty(); }

  /// Ends everything open; cancels and the goodbye are still delivered, and `is_quiet` says when that is done.
  void end(time_point now);
  bool is_quiet() const { return exchanges_.empty(); }
  /// Gives up all undelivered messages.
  void abandon();

 private:
  using exchange_id = std::uint64_t;
  enum class phase : std::uint8_t { none, probing, initializing, confirming, ready };
  /// `resumption`: the rest of a call's answer, by GET after the last received event. `listening`: the server's own
  /// messages, by GET, for the whole session.
  enum class purpose : std::uint8_t {
    handshake,
    page,
    call,
    resumption,
    listening,
    cancel,
    notice,
    goodbye,
    lingering
  };
  struct exchange {
    purpose why = purpose::notice;
    std::unique_ptr<http_exchange> http;
    std::uint64_t request = 0; ///< its JSON-RPC id
    call_number call = 0;
    std::shared_ptr<mcp_call_channel> channel;
    std::string session; ///< the session in which it was opened
    std::string token;   ///< the account token that it carried
    std::size_t server_requests = 0;
    time_point alarm = time_point::max();
  };
  struct call {
    std::shared_ptr<mcp_call_channel> channel;
    std::string tool, input, operation;
    exchange_id at = 0;        ///< 0: waits for the handshake, for resumption, or for a human
    bool again = false;        ///< its session was lost once
    bool renewed = false;      ///< its token was refused once
    bool is_renewing = false;  ///< waits for a new token
    std::uint64_t request = 0; ///< the JSON-RPC id under which it was sent; 0: not sent yet
    time_point deadline = time_point::max();
    std::string session;         ///< the session in which it was sent
    std::string last_event;      ///< of its answer so far
    std::size_t resumptions = 0; ///< consecutive ones that brought nothing new
    std::uint32_t failures = 0;  ///< consecutive ones that did not connect
    time_point resume_at = time_point::max();
    mcp_questions questions;
    bool waits_for_human = false; ///< it has ended at the server and will be sent again
  };

  exchange_id open(purpose why, std::string body, std::string_view method, std::string_view name, time_point alarm,
                   std::vector<std::string> more = {});
  static bool is_get(purpose why) { return why == purpose::resumption || why == purpose::listening; }
  static bool is_call(purpose why) { return why == purpose::call || why == purpose::resumption; }
  std::vector<std::string> headers(purpose why, std::string_view method, std::string_view name,
                                   const std::string& token) const;
  void close(exchange_id id);
  void linger(exchange_id id, time_point now);
  void look(exchange_id id, time_point now);
  void ring(exchange_id id, time_point now);
  /// True: the message ended the exchange's purpose, so the exchange can already be destroyed.
  bool take(exchange_id id, const std::string& text, time_point now);
  bool take_answer(exchange_id id, rpc::message& message, time_point now);
  void listen(time_point now);
  void listening_ended(const exchange& ended, const http_ending& end, time_point now);
  std::optional<call_number> asker(const exchange& take_question, const rpc::message& message, time_point now) const;
  void take_request(exchange_id id, rpc::message& message, time_point now);
  void take_back(exchange_id id, const rpc::message& message, time_point now);
  void take_call_answer(exchange_id id, rpc::message& message, time_point now);
  void take_step(call_number number, mcp_questions::step what, time_point now);
  void take_ending(exchange_id id, time_point now);
  void take_handshake(exchange_id id, const rpc::message& answer, time_point now);
  void take_initialized(exchange_id id, const rpc::message& answer, time_point now);
  void handshake_ended(const http_ending& end, time_point now);
  bool renew_token(exchange_id id, const http_ending& end);
  void token_renewed(purpose why, call_number number, const http_ending& end, bool is_good, time_point now);
  fault fault_of(std::string_view what, const http_ending& end) const;
  void call_ended(exchange_id id, const http_ending& end, time_point now);
  bool resume_later(call& one, const exchange& ended, const http_ending& end, time_point now);
  void resume(time_point now);
  void handshake_failed(const http_ending* end, fault why, time_point now);
  void take_page(const rpc::message& answer, time_point now);
  void page_failed(fault why, bool may_help, time_point now);
  void send_call(call_number number, call& one, time_point now);
  void send_cancel(std::uint64_t request, std::shared_ptr<mcp_call_channel> channel, const std::string& reason,
                   time_point now);
  void tell_end(call_number number, mcp_call_event event);
  void session_gone(const std::string& session, time_point now);
  void leave_session(long status, time_point now);
  void shake(phase with, time_point now);
  void be_ready(time_point now);
  void ask_page(time_point now);
  void take_param_headers();
  void answer_list(const result<std::vector<mcp_tool>>& tools);
  bool rest(time_point now);
  void complain(std::string what);
  fault clean(fault why) const;
  time_point after(std::chrono::milliseconds time, time_point now) const;

  transfers& network_;
  const settings settings_;
  const std::string who_;
  phase phase_ = phase::none;
  bool stateless_ = false, ended_ = false;
  std::string protocol_, session_;
  std::string server_name_, server_version_;
  std::uint64_t next_request_ = 0;
  exchange_id next_exchange_ = 0;
  std::uint32_t tries_ = 0;             ///< attempts at the current step of handshake or list
  time_point rest_ = time_point::max(); ///< until the next attempt
  std::unordered_map<exchange_id, exchange> exchanges_;
  std::map<call_number, call> calls_;                    ///< ordered: calls are sent in this order
  std::unordered_map<call_number, exchange_id> cancels_; ///< being delivered
  std::set<std::pair<time_point, exchange_id>> alarms_;
  std::set<std::pair<time_point, call_number>> resumes_;
  std::vector<exchange_id> news_;
  exchange_id listening_ = 0;                    ///< 0: not open
  bool may_listen_ = false;                      ///< false once the server has said that it does not offer this
  time_point listen_at_ = time_point::max();     ///< when to open it again
  time_point unclear_until_ = time_point::min(); ///< until then a cancelled call can still ask on the shared stream
  std::vector<mcp_server::tools_reply> askers_;
  std::unique_ptr<mcp::tool_pages> pages_; ///< of the list being read
  std::string cursor_;
  std::optional<std::vector<mcp_tool>> tools_;
  time_point tools_until_{};
  std::map<std::string, mcp::param_headers> param_headers_; ///< by tool; only tools that want some
  std::string token_;                                       ///< the last token of the account that was sent
  bool handshake_renewed_ = false, page_renewed_ = false;   ///< the token was refused once; compare `again`
  bool probe_again_ = false;   ///< the version was refused once, although the server offers it
  bool page_again_ = false;    ///< the session was lost once while this list was read
  bool confirm_again_ = false; ///< a new session was unknown; once per handshake
};

} // namespace quell::integrations
