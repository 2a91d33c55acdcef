// The client's side of MCP over a pair of byte streams, as a pure state machine: no I/O, clock or threads. Calls pass
// events in, and `effects` returns the actions to take.
//
// Handshake: `initialize` with the newest version that has one. A server that does not know `initialize` is sent
// `server/discover`, and then each request names its version.
//
// Races: a cancel and its call's answer can cross. The one that is handed in first here wins, and an answer after its
// cancel is delivered as the cancel's `late`, never as an event.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "integrations/mcp/lines.hpp"
#include "integrations/mcp/mcp.hpp"
#include "integrations/mcp/questions.hpp"

namespace quell::integrations {

using mcp_call_number = std::uint64_t; ///< also the id of its first request

namespace mcp_effects {
struct send {
  std::string bytes; ///< whole lines
};
struct tell {
  mcp_call_number call = 0;
  mcp_call_event event;
};
struct late {
  mcp_call_number call = 0;
  std::string what; ///< see mcp_late
};
/// To every caller that has asked since the last one.
struct list {
  result<std::vector<mcp_tool>> tools;
};
struct ready {
  std::string name, version, protocol;
};
struct tools_changed {};
struct bad_message {
  std::string what;
};
} // namespace mcp_effects

using mcp_effect = std::variant<mcp_effects::send, mcp_effects::tell, mcp_effects::late, mcp_effects::list,
                                mcp_effects::ready, mcp_effects::tools_changed, mcp_effects::bad_message>;

class mcp_session {
 public:
  /// `name`: the server's name in the configuration.
  explicit mcp_session(const std::string& name);
  ~mcp_session();

  /// Starts the handshake; call once.
  void start();
  void receive(std::string_view bytes);
  /// Leads to one `list`, at once if the tools are known.
  void list_tools();
  /// Ends with exactly one `tell` of `finished` or `failed`, or with one `late`.
  mcp_call_number begin_call(const std::string& tool, const std::string& input_json, const std::string& operation = {});
  /// False: the call is over or already cancelled, and nothing happens. True: exactly one `late` follows.
  bool cancel(mcp_call_number call, std::string_view reason);
  /// Delivers `late` now, if the call is cancelled and nothing has come so far.
  void stop_waiting(mcp_call_number call);
  /// No effect if the question is no longer open.
  void answer(mcp_call_number call, std::uint64_t question, const mcp_answer& what);
  /// The other side is gone for good. Idempotent.
  void close(const std::string& reason);

  /// In order; each is returned once.
  std::vector<mcp_effect> effects();

 private:
  enum class phase : std::uint8_t { unstarted, shaking, discovering, ready, over };
  struct call {
    std::string tool, input, operation;
    bool sent = false, cancelled = false;
    std::uint64_t request = 0; ///< the id of its request; 0: none is open at the server
    mcp_questions questions;
  };
  using open_call = std::map<mcp_call_number, call>::iterator;
  struct incoming;

  void take_line(std::string_view line);
  void take_cut_line(std::string_view first, std::string_view last);
  void take_message(incoming& one);
  void take_reply(incoming& one);
  void take_notification(incoming& one);
  void take_initialized(incoming& one);
  void take_discovered(incoming& one);
  void take_page(incoming& one);
  void take_call_end(open_call found, incoming& one);
  void take_request(incoming& one);
  void take_question(incoming& one);
  void take_step(open_call found, mcp_questions::step what);
  open_call call_of_request(std::uint64_t id);
  void forget(open_call found);
  void ask_page(const std::string& cursor);
  void be_ready(std::string name, std::string version, std::string protocol);
  void send_call(mcp_call_number number, call& one);
  void send_line(std::string line);
  void end(fault why);
  void complain(std::string what);

  const std::string who_;
  phase phase_ = phase::unstarted;
  bool stateless_ = false; ///< the version has no handshake
  line_splitter lines_;
  std::uint64_t next_id_ = 0;
  std::uint64_t control_id_ = 0;                      ///< of the handshake or page in progress; 0: none
  std::map<mcp_call_number, call> calls_;             ///< open calls, and cancelled ones that can still be answered
  std::set<mcp_call_number> cancelled_;               ///< subset of calls_
  std::map<std::uint64_t, mcp_call_number> repeated_; ///< the calls of requests other than a call's first
  bool wanted_ = false, listing_ = false, stale_ = false;
  std::size_t relists_ = 0;
  struct pages;
  std::unique_ptr<pages> pages_; ///< of the list being read
  std::optional<std::vector<mcp_tool>> tools_;
  fault over_;          ///< the reason for the end
  fault initialize_no_; ///< the error that answered `initialize`
  std::vector<mcp_effect> effects_;
};

} // namespace quell::integrations
