// Using the tools of MCP servers: one interface for both transports.
//
// A server settles nothing when it is told to cancel: a cancelled request gets no reply, and the work may go on. So a
// cancel is over on our side at once, its outcome unknown, and what became of it is told later, for the record.
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
  std::string name;         ///< as the server calls it: 1 to 128 bytes of valid UTF-8, unique in its server
  std::string description;  ///< bounded; may be empty
  std::string input_schema; ///< JSON text of an object
  bool read_only = false;   ///< the server says so; a hint, no promise
  bool destructive = false; ///< the server says so in words, which is not MCP's default for a tool without hints
  std::string title;        ///< for people; may be empty
  friend bool operator==(const mcp_tool&, const mcp_tool&) = default;
};

namespace mcp_call_events {
struct progress {
  std::string message; ///< may be empty
  double progress = 0;
  std::optional<double> total;
};
/// The tool has answered, `ok` or with an error of its own (`isError`). `result` is the text of one JSON object of at
/// most 1 MiB with `content`, `structuredContent` and `isError` as far as the server sent them; what is longer is
/// replaced by a text that says so, and `truncated` is set.
struct finished {
  bool ok = true;
  std::string result;
  bool truncated = false;
};
/// Nothing can be said of the tool's work unless the code says that it never began. Codes: `mcp_unreachable` (closed,
/// connection lost), `mcp_refused` (JSON-RPC error, 4xx, no such tool, input that is no JSON object), `mcp_timeout`,
/// `mcp_broken` (no valid MCP came), `mcp_login_needed` (refused unread, for want of a login or of rights).
struct failed {
  fault why;
  bool sent = true; ///< false: the request never left, so nothing happened there
};
/// The server asks a human something before it goes on with the call, which waits for `mcp_call::answer`. Several may
/// be open at once.
struct question {
  std::uint64_t number = 0; ///< of this call: 1, 2, 3 …
  std::string message;      ///< for a human; valid UTF-8, at most 4,000 bytes
  std::string form;         ///< JSON text of the schema of what is asked for, checked (form.hpp)
};
/// The server does not ask this any more.
struct withdrawn {
  std::uint64_t number = 0;
};
} // namespace mcp_call_events

/// Any number of `progress`, `question` and `withdrawn`, then exactly one of the others, unless the call is cancelled
/// before.
using mcp_call_event = std::variant<mcp_call_events::progress, mcp_call_events::finished, mcp_call_events::failed,
                                    mcp_call_events::question, mcp_call_events::withdrawn>;

inline bool is_end(const mcp_call_event& event) {
  return std::holds_alternative<mcp_call_events::finished>(event) ||
         std::holds_alternative<mcp_call_events::failed>(event);
}

/// A human's answer to a question.
struct mcp_answer {
  enum class action : std::uint8_t { accept, decline, cancel } what = action::cancel;
  std::string values; ///< accept: JSON text of an object that fits the form, with its defaults (`filled_form`)
};

/// What became of a cancelled call, said once:
///   `not_sent` the request had not left: nothing happened there
///   `too_late` a result came after all, or had come before the cancel
///   `done`     the server answered that it ended the request without a result
///   `refused`  the cancel could not be delivered, or the server would not take it
///   `ignored`  nothing came: until the end of the waiting, or because no answer can come any more (HTTP, where
///              the cancel closes the response; the server going away)
using mcp_late = std::function<void(std::string late)>;

/// A running call. Dropping it cancels it, with nobody to hear what became of it. It may outlive its server.
class mcp_call {
 public:
  virtual ~mcp_call() = default;
  /// Any thread, any number of times, also before the server is ready and after the end. Once it returns no event is
  /// told any more: it waits for a listener of this call that is running at this moment, so the caller must not hold a
  /// lock that the listener takes; from inside the listener it waits for nothing. The server is told in the way that
  /// its transport and version ask for; `reason` goes to it, at most 500 characters.
  /// `late` is called exactly once, perhaps before this returns; a further cancel of the same call changes nothing for
  /// the server, and its `late` hears the same. An empty `late` is fine.
  virtual void cancel(std::string reason, mcp_late late) = 0;
  /// The caller's bound for hearing of a cancelled call is over: those who wait are told `ignored`. Without this
  /// they wait until something comes or the server goes; they survive the drop of this handle. No effect on a call
  /// that is not cancelled.
  virtual void stop_waiting() = 0;
  /// Any thread, never blocks. Goes to the server unless the question is not open any more: answered before, taken
  /// back, or the call is cancelled or over.
  virtual void answer(std::uint64_t question, mcp_answer what) = 0;
};

/// One MCP server, any thread. Becoming ready (the handshake) begins with its making; what is asked before waits for
/// it. Its end cancels nothing by itself: calls end as `mcp_unreachable`, lates as `ignored`.
class mcp_server {
 public:
  using tools_reply = std::function<void(result<std::vector<mcp_tool>>)>;
  virtual ~mcp_server() = default;
  /// All tools, at most 1,000; kept until the server says that they changed, so asking again is cheap. `reply` is
  /// called exactly once, perhaps before this returns; of a server that has gone with a fault. Without any answer it
  /// waits until the server goes (stdio) or the time limit is over (HTTP).
  virtual void tools(tools_reply reply) = 0;
  /// Never blocks; everything that goes wrong is told as `failed`, perhaps before this returns. `input_json`: an
  /// object, or "" for none.
  /// No time limit on stdio: the caller's timer cancels. `listener` must only hand over; it must not throw.
  /// `operation`: the id of the operation that the call is; the server is told it in `_meta`, as `quell/operation`.
  virtual std::unique_ptr<mcp_call> call(const std::string& tool, const std::string& input_json,
                                         std::function<void(mcp_call_event)> listener,
                                         const std::string& operation = {}) = 0;
};

/// What a server may tell outside of any call. Each may be empty; called where listeners are.
struct mcp_hooks {
  /// Who is there and which version is spoken; once for each handshake.
  std::function<void(std::string name, std::string version, std::string protocol)> ready;
  std::function<void()> tools_changed;
  /// What came was wrong and was dropped (no JSON, an unknown message): for a log, holds no content of ours.
  /// As often as the server likes: whoever writes it limits that.
  std::function<void(std::string what)> complaint;
};

} // namespace quell::integrations
