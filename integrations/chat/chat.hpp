// The interface between quelld and its chat services: what a connector reports to its host, and the events it gets.
//
// A connector speaks one service's language and nothing else: it knows no operation tree, no rights, no cancel words.
// It hands over messages, and shows the events of its scopes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "integrations/chat/file_source.hpp"
#include "protocol/event_type.hpp"
#include "protocol/fault.hpp"
#include "protocol/id.hpp"
#include "protocol/scope.hpp"
#include "protocol/vocabulary.hpp"

namespace quell::integrations::chat {

struct person {
  std::string id; ///< 1 to 128 characters
  std::string name;
  /// The service's certain identity of this person, whatever the display name; "" = it has none.
  std::string account{};
  /// The ids of the roles that the service itself says this person has here, at most 256.
  std::vector<std::string> roles{};
};

/// A message that somebody sent in the service.
struct incoming_message {
  scope_path scope; ///< at or below the connector's own name: `slack/<team>/<channel>/<thread>`
  std::string id;   ///< the service's message id, at most 128; identifies a repeated delivery. "" = none
  std::string text;
  person author;
  std::optional<bool> addressed;        ///< the service says that the bot was meant (mention, direct message)
  std::vector<std::string> bot_names{}; ///< the bot's names here, in addition to the configured ones
  std::optional<std::string> agent{};   ///< name of a configured agent; absent: the scope's agent
  // Fetched once the message was taken, if it begins a turn; the text names them as well.
  std::vector<offered_file> files{};
  std::shared_ptr<file_source> source{}; ///< nullptr: there are no files
  // For voice:
  bool is_voice = false;
  bool is_final = true;
  std::optional<double> confidence{};
  std::optional<std::uint32_t> humans_present{};
};

enum class decided : std::uint8_t { cancel, turn, ignored };

/// The decision about a message. Delivered once it is durable.
struct decision {
  decided what = decided::ignored;
  std::string why;           ///< `cancel_word`, `nothing_active`, … as in the HTTP API
  bool is_duplicate = false; ///< delivered before: nothing was done this time
  std::optional<message_id> message;
  std::optional<operation_id> turn;
  std::optional<cancel_id> cancel;
  std::uint64_t operations = 0; ///< that the cancel covers
  std::uint32_t position = 0;   ///< turns of this scope that are ahead of the new one
  bool is_acknowledged = false; ///< of a repeated stop: its `acknowledgement` was delivered, possibly before a restart
  std::string json;             ///< the complete decision, in the shape of the HTTP API
};

/// A stop button or a stop command, without words to interpret.
struct stop_order {
  scope_path scope;                      ///< where it was given: the whole scope, unless `operation` is set
  std::optional<operation_id> operation; ///< this operation and its descendants; must lie at or below `scope`
  person by;
  std::string reason;
};

/// A human's decision about a call that waits for it.
struct approval_order {
  scope_path scope; ///< where it was given: the call must wait there or below
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

/// A message that was handed over, possibly by an earlier process, with its newest edit.
struct known_message {
  scope_path scope;
  std::string text;
  person author;
  std::optional<operation_id> turn;
};

/// A committed event of a scope at or below the connector's name, with the names and shapes of the HTTP API's events.
struct event {
  std::uint64_t id = 0;
  event_type type = event_type::unlisted;
  scope_path scope;
  std::optional<operation_id> operation; ///< of turn events: the turn, or the sub-agent below it
  std::optional<operation_id> root;
  std::string data; ///< JSON text of an object
};

/// A part of the stored events of a service.
struct event_page {
  std::vector<event> events;
  std::optional<std::uint64_t> next; ///< more can follow behind this id; nullopt: these are the last
  // The ids of the oldest and the newest event that is stored, of any service; 0 = none.
  std::uint64_t oldest = 0, newest = 0;
};

/// A stop that can be replayed: a service's signed request is valid for some minutes, also for someone who recorded it.
struct signed_stop {
  stop_order order;
  std::string signature; ///< the same signature means the same stop, which is performed only once, ever
  wall_time signed_at{};
  bool is_from_before = false; ///< signed before this process could record it: an earlier process may have performed it
};

/// quelld, as a connector sees it. Every method: any thread; replies exactly once, on another thread, and the reply
/// must only hand over. Faults carry the codes of the HTTP API.
class host {
 public:
  virtual ~host() = default;
  /// Messages are decided in the order of the calls.
  virtual void say(incoming_message message, std::function<void(result<decision>)> done) = 0;
  /// Replies once the stop is fenced. Fault: `operation_not_found` (no such operation runs there).
  virtual void stop(stop_order order, std::function<void(result<stop_answer>)> done) = 0;
  /// The outcome `repeated` means that an earlier process performed it.
  virtual void stop_once(signed_stop order, std::function<void(result<stop_answer>)> done) = 0;
  /// Faults: `operation_not_found` (no such call waits there), `forbidden` (gives the reason), `not_ready`.
  virtual void approve(approval_order order, std::function<void(result<void>)> done) = 0;
  /// The status of each operation; nullopt: ended or unknown.
  virtual void look(std::vector<operation_id> which, std::function<void(std::vector<std::optional<status>>)> done) = 0;
  /// The message that was handed over with this id in the first of these scopes that has one; nullopt: in none. Fault
  /// `storage_unavailable`.
  virtual void find(std::vector<scope_path> scopes, std::string id,
                    std::function<void(result<std::optional<known_message>>)> done) = 0;
  /// The stored events of this service behind the id `after`, in commit order. Fault `storage_unavailable`.
  virtual void events_after(std::string service, std::uint64_t after, std::function<void(result<event_page>)> done) = 0;
};

/// A connector's memory over restarts: one small text without secrets. Any thread.
struct memory {
  std::function<std::string()> recall;          ///< "" = nothing stored yet
  std::function<bool(const std::string&)> keep; ///< stores all or nothing; false: nothing, which is logged
};

/// A request from the service to quelld, at `/v1/chat/<name>/<path>`.
struct web_call {
  std::string method;
  std::string path;  ///< after the connector's name, without a leading slash: `events`
  std::string query; ///< after `?`, undecoded
  std::vector<std::pair<std::string, std::string>> headers; ///< names in lower case
  std::string body;                                         ///< the raw bytes, for signatures

  /// The first header of this name, which must be in lower case; "" if there is none.
  std::string header(std::string_view name) const {
    for (const auto& [key, value] : headers)
      if (key == name) return value;
    return {};
  }
};

/// Whether the same delivery can succeed soon despite this fault of the host. A limit that its author has reached, of
/// live operations or of a day's bytes, is not such a fault: they are told, and others go on.
inline bool is_transient(const fault& why) {
  return has_code(why, error_code::shutting_down) || has_code(why, error_code::storage_unavailable) ||
         has_code(why, error_code::internal);
}

struct web_answer {
  unsigned status = 200;
  std::string body{};
  std::string content_type = "text/plain";
  std::vector<std::pair<std::string, std::string>> headers{};
  std::optional<fault> refused{}; ///< replaces status and body: rendered like the HTTP API's own faults
};

/// One connected service. It has its own thread; nothing here blocks the caller.
class connector {
 public:
  virtual ~connector() = default;
  /// Its name, which is the first segment of its scopes: `slack`.
  virtual std::string_view name() const = 0;
  /// Events in commit order, each once. Any thread.
  virtual void on_event(const event& e) = 0;
  /// Any thread; replies once, from any thread: 404 if the service calls nobody here.
  virtual void called(web_call call, std::function<void(web_answer)> done) = 0;
  /// One line for display: "connected as clanky", "retrying in 8 s: connection refused". Any thread.
  virtual std::string state() const = 0;
  /// Ends its thread and closes its connections; anything queued for sending is dropped. No callback runs afterwards.
  virtual void stop() = 0;
};

} // namespace quell::integrations::chat
