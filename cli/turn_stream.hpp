// One message to a conversation and the turn that answers it: posted, streamed, re-attached by event id after lost
// contact, stopped on request.
//
// Every step can be repeated: the message carries its own id, so that a post whose answer was lost is the same message
// when it is sent again; the cancel has a client-chosen id. Unless the message says otherwise, the turn is not bound to
// the connection (`on_disconnect: continue`): only an explicit cancel stops it.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/api.hpp"
#include "cli/backoff.hpp"
#include "cli/event_stream.hpp"

namespace quell::cli {

/// In bytes, for a person's message (SURFACE 1).
inline constexpr std::size_t most_message_text = 64 * 1024;

/// By the ids of events, which are growing numbers.
bool is_later_event(const std::string& id, const std::string& than);

class turn_stream {
 public:
  struct callbacks {
    /// The answer to the message (SURFACE 6), once.
    std::function<void(const nlohmann::json& decision)> decided;
    std::function<void(const nlohmann::json& event)> event;
    /// Contact was lost, with a sentence; "": it came back.
    std::function<void(const std::string& lost)> contact;
    /// Our cancel was accepted (SURFACE 3).
    std::function<void(const nlohmann::json& cancel)> stopping;
    /// The turn's last state, once; null if there was no turn. No callback comes after it.
    std::function<void(const nlohmann::json& operation)> ended;
    /// The message was refused, or contact was given up; once, and no callback comes after it.
    std::function<void(const problem&)> failed;
  };

  /// `message` is the body of POST /v1/messages without `id`. With `on_disconnect` as `cancel`, the turn is stopped as
  /// soon as the controller sees that this process has gone.
  turn_stream(api& controller, nlohmann::json message, milliseconds reconnect, callbacks c);
  ~turn_stream();
  turn_stream(const turn_stream&) = delete;
  turn_stream& operator=(const turn_stream&) = delete;

  void start();
  /// Instead of `start`: the turn exists already; nothing is said, and `decided` is not called.
  void follow(const std::string& turn);
  /// Cancels the turn as soon as it is known; call again with a smaller grace to tighten it.
  void stop(const std::string& reason, std::optional<int> grace_ms = std::nullopt);

  /// "" until it is known.
  const std::string& turn() const { return turn_; }
  /// False: certainly no controller has received the message.
  bool may_exist() const { return may_exist_; }
  bool is_over() const { return over_; }
  /// The last state of our cancel, after `ended`; null if there was none, or if it came when the turn had ended.
  const nlohmann::json& cancel() const { return cancel_; }

 private:
  void open();
  void take(const stream_event& e);
  void closed(const http_end& end);
  void again(const problem& p);
  void watch_silence();
  void look();
  void send_cancel(nlohmann::json body);
  void finish(const nlohmann::json& operation);
  void tell_end();
  void give_up(const problem& p);
  void contacted();
  event_loop::handle keep(event_loop::handle call);

  api& api_;
  nlohmann::json message_;
  callbacks callbacks_;
  backoff contact_;
  std::unique_ptr<event_parser> parser_;
  std::string turn_, last_id_, refusal_;
  nlohmann::json operation_, cancel_, pending_cancel_;
  std::string sent_cancel_; ///< the id of the last stop sent; "" = none
  std::vector<event_loop::handle> calls_;
  event_loop::handle transfer_ = 0, retry_ = 0, silence_ = 0, end_ = 0, cancel_retry_ = 0;
  bool owns_ = false; ///< the turn, so its stream is made anew as its owner
  bool decided_ = false, refused_ = false, may_exist_ = false, over_ = false, ending_ = false;
};

/// The author for the record: the login name, otherwise `cli`.
std::string login_name(const environment& env);
/// --scope, QUELL_SCOPE, the context's, otherwise `chat/<login name>`.
std::string conversation_scope(const std::optional<std::string>& flag, const connection_flags& where,
                               const environment& env);
/// The body of a message without its id.
nlohmann::json message_body(const std::string& scope, const std::string& text, const std::optional<std::string>& agent,
                            const environment& env, const std::optional<std::string>& during_turn = std::nullopt);

} // namespace quell::cli
