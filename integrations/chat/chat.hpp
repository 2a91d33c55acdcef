// Chat services as quelld sees them: what a connector says to its host, and what it is told.
//
// A connector speaks one service's language and nothing else: it knows no operation tree, no rights, no cancel words.
// It hands over what was said, and shows what is told of its scopes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/fault.hpp"
#include "protocol/id.hpp"
#include "protocol/scope.hpp"
#include "protocol/vocabulary.hpp"

namespace quell::integrations::chat {

struct person {
  std::string id; ///< 1 to 128 characters
  std::string name;
  /// By which the service knows them for certain, whatever they call themselves; "" = it does not.
  std::string account{};
};

/// What somebody said somewhere in the service.
struct said {
  scope_path scope; ///< at or below the connector's own name: `slack/<team>/<channel>/<thread>`
  std::string id;   ///< the service's own id of the message, at most 128; a second delivery is known by it. "" = none
  std::string text;
  person author;
  std::optional<bool> addressed;        ///< the bot was meant, as the service says it (mention, direct message)
  std::vector<std::string> bot_names{}; ///< how the bot is called here, beside the configured names
  std::optional<std::string> agent{};   ///< name of a configured agent; absent: the scope's
  // Of voice:
  bool is_voice = false;
  bool is_final = true;
  std::optional<double> confidence{};
  std::optional<std::uint32_t> humans_present{};
};

enum class decided : std::uint8_t { cancel, turn, ignored };

/// What became of a message. Told after it is durable.
struct decision {
  decided what = decided::ignored;
  std::string why;           ///< `cancel_word`, `nothing_active`, … as in the HTTP API
  bool is_duplicate = false; ///< delivered before: nothing was done again
  std::optional<message_id> message;
  std::optional<operation_id> turn;
  std::optional<cancel_id> cancel;
  std::uint64_t operations = 0; ///< that the cancel covers
  std::uint32_t position = 0;   ///< turns of this scope before the one that it began
  bool is_acknowledged = false; ///< of a repeated stop: its event `acknowledgement` was told, perhaps before a restart
  std::string json;             ///< the whole, in the shape of the HTTP API
};

/// A stop button or a stop command: no words to interpret.
struct stop_order {
  scope_path scope;                      ///< all of it, unless `operation` is set
  std::optional<operation_id> operation; ///< this one and what is below it; must lie in the connector's scopes
  person by;
  std::string reason;
};

/// A human's word on a call that waits for it.
struct approval_order {
  scope_path scope; ///< where it was said: the call must wait there or below
  operation_id call;
  bool approved = false;
  person by;
  std::string reason;
};

struct stop_answer {
  cancel_id cancel;
  std::string outcome; ///< `stopping`, `nothing_live`, `already_finished`, `joined`
  std::uint64_t operations = 0;
};

/// quelld, as a connector sees it. Every method: any thread; answers on some other thread, exactly once, and the answer
/// must only hand over. Faults carry the codes of the HTTP API.
class host {
 public:
  virtual ~host() = default;
  /// Messages are decided in the order in which they are handed over.
  virtual void say(said message, std::function<void(result<decision>)> done) = 0;
  /// Answers when fenced.
  virtual void stop(stop_order order, std::function<void(result<stop_answer>)> done) = 0;
  /// Faults: `operation_not_found` (none that waits there), `forbidden` (says why), `not_ready`.
  virtual void approve(approval_order order, std::function<void(result<void>)> done) = 0;
  /// How each of them stands; nullopt: ended or unknown.
  virtual void look(std::vector<operation_id> which, std::function<void(std::vector<std::optional<status>>)> done) = 0;
};

/// A committed event of a scope at or below the connector's name, with the names and shapes of the HTTP API's events.
struct event {
  std::uint64_t id = 0;
  std::string type; ///< `text_delta`, `turn_complete`, `acknowledgement`, …
  scope_path scope;
  std::optional<operation_id> operation; ///< of turn events: the turn, or the sub-agent below it
  std::optional<operation_id> root;
  std::string data; ///< JSON text of an object
};

/// What a connector remembers over restarts: one text, small, no secret. Any thread.
struct memory {
  std::function<std::string()> recall;          ///< "" = nothing yet
  std::function<void(const std::string&)> keep; ///< whole or not at all; what cannot be kept is logged
};

/// A request that the service made to quelld, at `/v1/chat/<name>/<path>`.
struct web_call {
  std::string method;
  std::string path;  ///< behind the connector's name, without a leading slash: `events`
  std::string query; ///< behind `?`, undecoded
  std::vector<std::pair<std::string, std::string>> headers; ///< names in lower case
  std::string body;                                         ///< the raw bytes, for signatures

  /// The first header of this name, given in lower case; "" if there is none.
  std::string header(std::string_view name) const {
    for (const auto& [key, value] : headers)
      if (key == name) return value;
    return {};
  }
};

/// Faults of the host after which the same delivery may succeed.
inline bool passes_by(const fault& why) {
  return why.code == "shutting_down" || why.code == "storage_unavailable" || why.code == "rate_limited" ||
         why.code == "internal" || why.code == "too_many_operations";
}

struct web_answer {
  unsigned status = 200;
  std::string body{};
  std::string content_type = "text/plain";
  std::vector<std::pair<std::string, std::string>> headers{};
  std::optional<fault> refused{}; ///< instead of status and body: shown as the HTTP API shows faults of its own
};

/// One connected service. It has its own thread; nothing here blocks the caller.
class connector {
 public:
  virtual ~connector() = default;
  /// Its name, which is the first segment of its scopes: `slack`.
  virtual std::string_view name() const = 0;
  /// In commit order, each once. Any thread.
  virtual void told(const event& e) = 0;
  /// Any thread; answers once, from any thread. The default knows no path.
  virtual void called(web_call call, std::function<void(web_answer)> done) {
    (void)call;
    done({404, "there is nothing here\n"});
  }
  /// One line for people: "connected as clanky", "retrying in 8 s: connection refused". Any thread.
  virtual std::string state() const = 0;
  /// Ends its thread and closes its connections; what waits to be sent is dropped. Nothing is called back afterwards.
  virtual void stop() = 0;
};

} // namespace quell::integrations::chat
