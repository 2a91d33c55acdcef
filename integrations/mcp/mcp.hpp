// Access to the tools of MCP servers: one interface for both transports.
//
// A cancel proves nothing about the server: a cancelled request gets no reply, and the work can continue. So on our
// side a cancel is over at once with an unknown outcome, and the server's late answer is delivered afterwards, for the
// record.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "protocol/fault.hpp"

namespace quell::integrations {

struct mcp_tool {
  std::string name;         ///< the server's name for it: 1 to 128 bytes of valid UTF-8, unique per server
  std::string description;  ///< bounded; can be empty
  std::string input_schema; ///< JSON text of an object
  bool read_only = false;   ///< the server's hint, not a promise
  bool destructive = false; ///< only if the server states it; MCP's default for a tool without hints differs
  std::string title;        ///< display name; can be empty
  friend bool operator==(const mcp_tool&, const mcp_tool&) = default;
};

/// An image or a document of a tool's result.
struct mcp_media {
  std::string type;  ///< one that models are sent, and that the bytes are
  std::string bytes; ///< decoded
  friend bool operator==(const mcp_media&, const mcp_media&) = default;
};

namespace mcp_call_events {
struct progress {
  std::string message; ///< can be empty
  double progress = 0;
  std::optional<double> total;
};
/// The tool has answered, with success (`ok`) or with its own error (`isError`). `result` is the text of one JSON
/// object of at most 1 MiB with those of `content`, `structuredContent` and `isError` that the server sent; a longer
/// one is replaced by a text that says so, and `truncated` is set.
struct finished {
  bool ok = true;
  std::string result;
  bool truncated = false;
  std::vector<mcp_media> media = {}; ///< in their order; `content` has a line for each instead
};
/// The state of the tool's work is unknown unless the code, a `server_code`, says that it never began.
struct failed {
  fault why;
  bool sent = true; ///< false: the request was never sent, so the server did nothing
};
/// The server asks a human something before it continues the call, which waits for `mcp_call::answer`. Several can be
/// open at once.
struct question {
  std::uint64_t number = 0; ///< counts within this call: 1, 2, 3 …
  std::string message;      ///< for a human; valid UTF-8, at most 4,000 bytes
  std::string form;         ///< JSON text of the form's schema, checked (form.hpp)
};
/// The server has withdrawn this question.
struct withdrawn {
  std::uint64_t number = 0;
};
/// A remote agent has named the task that this call is there; comes before any other event. `follow` finds it again.
struct named {
  std::string task; ///< at most 256 bytes, without control characters
};
} // namespace mcp_call_events

/// Any number of `progress`, `named`, `question` and `withdrawn`, then exactly one of the others, unless the call is
/// cancelled before.
using mcp_call_event = std::variant<mcp_call_events::progress, mcp_call_events::finished, mcp_call_events::failed,
                                    mcp_call_events::question, mcp_call_events::withdrawn, mcp_call_events::named>;

inline bool is_end(const mcp_call_event& event) {
  return std::holds_alternative<mcp_call_events::finished>(event) ||
         std::holds_alternative<mcp_call_events::failed>(event);
}

/// A human's answer to a question.
struct mcp_answer {
  enum class action : std::uint8_t { accept, decline, cancel } what = action::cancel;
  std::string values; ///< accept: JSON text of an object that fits the form, with its defaults (`filled_form`)
};

/// The outcome of a cancelled call, delivered once:
///   `not_sent` the request was not sent yet: the server did nothing
///   `too_late` a result came after all, or had come before the cancel
///   `done`     the server answered that it ended the request without a result
///   `failed`   a remote agent answered that the task failed: what is left of it is unknown
///   `refused`  the cancel could not be delivered, or the server would not take it
///   `ignored`  no answer came until the end of the wait, or none can come any more (HTTP, where the cancel closes the
///              response; or the server has gone)
using late_result_listener = std::function<void(std::string late)>;

/// A running call. Destroying it cancels it, and the outcome is not reported. It can outlive its server.
class mcp_call {
 public:
  virtual ~mcp_call() = default;
  /// Any thread, any number of times, also before the server is ready and after the end. No event is delivered after it
  /// returns: it waits for a listener of this call that is running now, so the caller must not hold a lock that the
  /// listener takes; from inside the listener it does not wait. The server is notified as its transport and version
  /// require; it receives at most 500 characters of `reason`.
  /// `late` is called exactly once, possibly before this returns. A further cancel of the same call changes nothing for
  /// the server, and its `late` gets the same word. `late` may be empty.
  virtual void cancel(std::string reason, late_result_listener late) = 0;
  /// The caller's wait for the outcome of a cancelled call has timed out: waiting receivers get `ignored`. Without this
  /// they wait until an answer comes or the server goes, even after this handle is destroyed. No effect on a call that
  /// is not cancelled.
  virtual void stop_waiting() = 0;
  /// Any thread, never blocks. Goes to the server unless the question is no longer open: answered before, withdrawn, or
  /// the call is cancelled or over.
  virtual void answer(std::uint64_t question, mcp_answer what) = 0;
};

/// One MCP server, any thread. Its construction starts the handshake; requests made before the server is ready wait for
/// that. Its destruction cancels nothing: calls end as `mcp_unreachable`, late_results as `ignored`.
class mcp_server {
 public:
  using tools_reply = std::function<void(result<std::vector<mcp_tool>>)>;
  virtual ~mcp_server() = default;
  /// All tools, at most 1,000; cached until the server announces a change, so a repeated call is cheap. `reply` is
  /// called exactly once, possibly before this returns; it gets a fault if the server is gone. If no answer comes it
  /// waits until the server goes (stdio) or the time limit is over (HTTP).
  virtual void tools(tools_reply reply) = 0;
  /// Never blocks; every error is reported as `failed`, possibly before this returns. `input_json`: an object, or ""
  /// for none. No time limit on stdio: the caller's timer cancels. `listener` must only hand over and must not throw.
  /// `operation`: the id of the call's operation, sent to the server in `_meta` as `quell/operation`.
  virtual std::unique_ptr<mcp_call> call(const std::string& tool, const std::string& input_json,
                                         std::function<void(mcp_call_event)> listener,
                                         const std::string& operation = {}) = 0;
  /// The same for a task of an earlier life that a call's `named` event gave: nothing is sent but questions about it.
  /// nullptr: this kind of server has no such tasks.
  virtual std::unique_ptr<mcp_call> follow(const std::string& task, std::function<void(mcp_call_event)> listener) = 0;
  /// Asks what became of a task of an earlier life that nobody stops. `tell` is called exactly once, possibly before
  /// this returns, with what a cancel that comes too late would be told: `ignored` if the task has not ended within the
  /// wait of a cancel, or nobody can say.
  virtual void ask_end(const std::string& task, late_result_listener tell) = 0;
};

/// Notifications of a server outside of any call. Each can be empty; they run on the listeners' thread.
struct mcp_hooks {
  /// The server's name and version and the protocol version; once for each handshake.
  std::function<void(std::string name, std::string version, std::string protocol)> ready;
  std::function<void()> tools_changed;
  /// Invalid input was dropped (not JSON, an unknown message): text for a log, without any content of ours. Not rate
  /// limited: the code that logs it must limit it.
  std::function<void(std::string what)> warning;
};

} // namespace quell::integrations
