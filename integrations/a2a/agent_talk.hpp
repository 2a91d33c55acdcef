// The requests to one remote agent: its card, and the calls with their tasks. One thread; no network but exchanges.
//
// A call sends its message once and never again. As soon as the agent has named the task, that name is delivered, and
// whatever happens to the connection then, the task is looked at (GetTask) until it is over. A cancel waits for the
// name of the task if it is not known yet, sends CancelTask, and the state that the agent then reports is the late
// outcome.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "integrations/a2a/card.hpp"
#include "integrations/a2a/task_view.hpp"
#include "integrations/mcp/call_channel.hpp"
#include "integrations/mcp/http_exchange.hpp"

namespace quell::integrations::a2a {

class agent_talk {
 public:
  using time_point = transfers::clock::time_point;
  using call_number = std::uint64_t;
  struct settings {
    std::string name, url;
    std::string key; ///< secret: sent as a bearer token; "" = none
    std::string ca_file;
    std::chrono::milliseconds connect_timeout{10'000};
  };
  agent_talk(transfers& network, settings what) : network_(network), settings_(std::move(what)) {}

  void list(mcp_server::tools_reply reply, time_point now);
  /// `task`: of an earlier life, only followed; "" = the message of `input_json` is sent.
  void begin(call_number number, std::shared_ptr<mcp_call_channel> channel, const std::string& input_json,
             const std::string& operation, const std::string& task, time_point now);
  /// Only asks what became of this task; the channel is told like that of a cancelled call.
  void ask_end(call_number number, std::shared_ptr<mcp_call_channel> channel, const std::string& task, time_point now);
  void cancel(call_number number, const std::string& reason, time_point now);
  void stop_waiting(call_number number);
  /// Handles what has arrived and whatever is due.
  void step(time_point now);
  time_point next() const;
  bool has_news() const { return !news_.empty(); }
  /// Every call ends as `a2a_unreachable`; nothing is sent, and exchanges close.
  void end(time_point now);
  bool is_quiet() const { return exchanges_.empty(); }
  void abandon() { exchanges_.clear(); }

 private:
  using exchange_id = std::uint64_t;
  enum class purpose { card, send, look, stop };
  struct exchange {
    purpose why = purpose::card;
    call_number of = 0;
    std::unique_ptr<http_exchange> talk;
    time_point until = time_point::max();
    bool answered = false; ///< a result or an error of the call has come
  };
  struct call {
    explicit call(std::shared_ptr<media_room> room) : view(std::move(room)) {}
    std::shared_ptr<mcp_call_channel> channel;
    call_order order;
    std::string operation;
    task_view view;
    bool is_sent = false, is_named = false, is_ended = false, is_cancelled = false, is_followed = false;
    bool is_refused = false; ///< the agent would not cancel it
    bool is_query = false;   ///< `is_cancelled` without a cancel: nothing stops the task
    std::string reason, shown;
    exchange_id sending = 0, looking = 0, stopping = 0;
    time_point look_at = time_point::max(), stop_at = time_point::max(), give_up_at = time_point::max();
    std::chrono::milliseconds pause{0};
    time_point answered_at{};
  };

  exchange_id ask(purpose why, call_number of, http_ask what, std::chrono::milliseconds limit, time_point now);
  enum class answer_form : std::uint8_t { whole, stream };
  http_ask post(const std::string& method, json params, answer_form form) const;
  void ask_for_card(time_point now);
  void card_ended(const http_ending& end, const std::vector<std::string>& messages, time_point now);
  void answer_list(const result<std::vector<mcp_tool>>& tools);
  void send(call_number number, call& one, time_point now);
  void look(call_number number, call& one, time_point now);
  void stop(call_number number, call& one, time_point now);
  void take_news(exchange_id id, time_point now);
  void take_message(exchange& from, call_number number, call& one, const std::string& text, time_point now);
  void take_refusal(exchange& from, call& one, const json& error, time_point now);
  void take_state(call_number number, call& one, time_point now);
  void look_later(call& one, time_point now);
  void exchange_ended(purpose why, bool was_answered, const http_ending& end, call& one, time_point now);
  /// The agent may have the message.
  bool has_left(const call& one) const;
  void fail(call& one, fault why, bool was_sent);
  /// The end of the cancel is known, or nobody waits for it.
  void settle(call& one, const std::string& late);
  void close(exchange_id& id);
  void sweep();
  std::string who() const { return "remote agent " + settings_.name; }
  fault fault_of(std::string_view what, const http_ending& end) const;

  transfers& network_;
  const settings settings_;
  const std::shared_ptr<media_room> files_ = std::make_shared<media_room>(); ///< of all its calls
  std::optional<agent_card> card_;
  time_point card_until_{};
  bool is_lost_ = false; ///< the card that is known could not be read again: it is offered to nobody
  exchange_id reading_card_ = 0;
  std::vector<mcp_server::tools_reply> askers_;
  std::map<exchange_id, exchange> exchanges_;
  std::map<call_number, call> calls_;
  std::vector<exchange_id> news_;
  exchange_id next_exchange_ = 0;
  mutable std::uint64_t next_request_ = 0;
  bool is_over_ = false;
};

} // namespace quell::integrations::a2a
