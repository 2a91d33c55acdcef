// `quell run`: create, stream, pass signals on as a cancel, end as the command ended.
//
// The id is chosen here, so every step can be repeated: a create whose answer was lost is sent again, and a cancel
// before the create's answer leaves a tombstone that takes precedence. Three things must be complete before the end:
// both streams to their last byte, and the operation.
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/backoff.hpp"
#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/input_forwarder.hpp"
#include "cli/instant.hpp"
#include "cli/lookup.hpp"
#include "cli/operation_view.hpp"
#include "cli/operation_waiter.hpp"
#include "cli/raw_terminal.hpp"
#include "cli/run_output.hpp"
#include "cli/run_request.hpp"
#include "cli/short_id.hpp"
#include "cli/signals.hpp"
#include "protocol/failure_code.hpp"
#include "protocol/id.hpp"

namespace quell::cli {
namespace {

using nlohmann::json;

constexpr milliseconds between_resizes{100};

class run_command {
 public:
  run_command(session& s, api& controller, const run_options& o, std::string id, json body)
      : s_(s), api_(controller), o_(o), id_(std::move(id)), body_(std::move(body)), contact_(o.reconnect) {}

  exit_code execute() {
    ::signal(SIGPIPE, SIG_IGN);
    signal_watch signals(s_.loop, {SIGINT, SIGTERM, SIGHUP, SIGWINCH}, [this](int n) { on_signal(n); });
    run_output::callbacks c;
    c.not_written = [this](int error) { output_lost(error); };
    c.whole = [this] { conclude(); };
    c.lost = [this] { return lost_contact(); };
    c.contact = [this] { contact_.contact(); };
    c.is_lost = [this] { return contact_.is_lost(); };
    output_ = std::make_unique<run_output>(s_, api_, id_, std::move(c));
    create();
    s_.loop.run_until([this] { return code_ && (given_up_ || output_->drained()); });
    terminal_.reset();
    const bool has_failed_itself = *code_ != exit_code::done && *code_ != exit_code::run_cancelled;
    return output_is_lost_ && !has_failed_itself ? exit_code::run_failed : *code_;
  }

 private:
  /// A reader that has enough (`| head`) ends the run; a file that takes no more makes it a failure, too.
  void output_lost(int error) {
    if (error == EPIPE) return cancel("the reader of the output is gone", std::nullopt);
    output_is_lost_ = true;
    const std::string why = std::string("standard output cannot be written: ") + std::strerror(error);
    s_.warn(code_ ? why : why + "; the run is cancelled");
    if (!code_) cancel(why, std::nullopt);
  }

  // --- create
  void create() {
    call_ = api_.call("POST", "/v1/operations", body_, milliseconds{30'000}, [this](answer<json> a) {
      if (a) return created(*a);
      const auto& p = a.error();
      if (p.status == 0 || p.status == 503 || p.status == 502 || p.status == 504) {
        // Never answered and certainly never received: report it at once, unless an earlier attempt was received.
        if (p.status == 0 && !p.sent && !may_exist_) return give_up(p);
        may_exist_ = may_exist_ || p.sent;
        if (const auto pause = lost(p))
          timer_ = s_.loop.after(*pause, [this] {
            api_.find_again();
            create();
          });
        return;
      }
      s_.say(p);
      finish(exit_of_run_problem(p));
    });
  }

  void created(const json& operation) {
    contact_.contact();
    may_exist_ = true;
    if (o_.detach) {
      if (s_.json())
        s_.print_document(operation);
      else
        s_.print(id_ + "\n");
      return finish(exit_code::done);
    }
    s_.hint("operation " + short_id(id_));
    if (o_.pty) {
      terminal_ = std::make_unique<raw_terminal>();
      send_window_size();
    }
    if (o_.input || o_.pty) start_input();
    output_->start();
    operation_waiter::callbacks c;
    c.update = [this](const json& operation_now) { tell_waiting(operation_now); };
    c.ended = [this](const json& operation_now) { ended(operation_now); };
    c.refused = [this](const problem& p) { give_up(p); };
    c.lost = [this] { return lost_contact(); };
    c.contact = [this] { contact_.contact(); };
    waiter_ = std::make_unique<operation_waiter>(api_, id_, std::move(c));
    using enum operation_waiter::polls;
    waiter_->start(s_.term.err_is_terminal ? short_while_pending : of_full_length);
  }

  // --- the end
  void ended(const json& operation) {
    operation_ = operation;
    if (input_) input_->stop();
    output_->operation_ended();
    conclude();
  }

  /// Ends only when the output is complete and the operation is over.
  void conclude() {
    if (!operation_ || !output_->is_whole()) return;
    if (s_.json()) output_->add_line({{"type", "operation"}, {"operation", *operation_}});
    if (!s_.json()) say_ending();
    finish(exit_of_operation(*operation_));
  }

  void say_ending() {
    if (terminal_) terminal_->restore();
    const auto& error = member(*operation_, "error");
    const std::string code = text_of(error, "code"), status = text_of(*operation_, "status");
    if (status == "cancelled") {
      for (const auto& line : operation_reasons(*operation_, plain_view_of(s_))) s_.hint("cancelled; " + line);
    } else if (!code.empty() && code != name_of(failure_code::error)) {
      s_.warn(code + ": " + text_of(error, "message"));
    }
  }

  void finish(exit_code code) {
    if (code_) return;
    code_ = code;
    if (terminal_) terminal_->restore();
  }

  void give_up(const problem& p) {
    if (code_) return;
    if (terminal_) terminal_->restore();
    s_.say(p);
    if (may_exist_)
      s_.warn("operation " + id_ + " may go on: quell wait " + short_id(id_) + ", quell cancel " + short_id(id_));
    finish(exit_code::run_failed);
  }

  // --- contact
  std::optional<milliseconds> lost(const problem& p) {
    const bool first = !contact_.is_lost();
    const auto pause = contact_.lost(std::chrono::steady_clock::now());
    if (!pause)
      give_up(p);
    else if (first)
      s_.hint("no contact with the controller at " + api_.where().url + "; trying again");
    return pause;
  }
  std::optional<milliseconds> lost_contact() {
    return lost(
        local_problem(local_code::unreachable, "contact with the controller at " + api_.where().url + " was lost"));
  }

  // --- signals, input, window
  void on_signal(int n) {
    if (n == SIGWINCH) return send_window_size();
    if (code_) { // everything is over except a reader that does not read
      given_up_ = true;
      return;
    }
    const char* what = n == SIGINT ? "Ctrl-C" : n == SIGHUP ? "hang-up" : "SIGTERM";
    ++interruptions_;
    if (interruptions_ > 2 && contact_.is_lost())
      return give_up(local_problem(local_code::unreachable,
                                   "the cancel could not be sent: there is no contact with the controller at " +
                                       api_.where().url));
    s_.hint(interruptions_ == 1 ? std::string("cancelling (") + what + "); again to kill" : std::string("killing"));
    cancel(std::string("interrupted: ") + what, interruptions_ > 1 ? std::optional<int>(0) : std::nullopt);
  }

  void cancel(const std::string& reason, std::optional<int> grace_ms) {
    json body{{"operation", id_}, {"reason", reason}, {"wait", "fenced"}};
    if (grace_ms) body["grace_ms"] = *grace_ms;
    send_cancel(std::move(body));
  }

  void send_cancel(json body) {
    api_.call("POST", "/v1/cancels", body, milliseconds{30'000}, [this, body](answer<json> a) {
      if (a) return;
      const auto& p = a.error();
      if (p.status == 0 || p.status >= 500 || p.status == 429) {
        // Nothing of ours can exist if no create ever reached a controller.
        if (const auto pause = lost(p)) s_.loop.after(*pause, [this, body] { send_cancel(body); });
        return;
      }
      s_.say(p);
    });
  }

  void start_input() {
    input_forwarder::callbacks c;
    c.lost = [this] { return lost_contact(); };
    c.contact = [this] { contact_.contact(); };
    c.refused = [this](const problem& p) {
      if (!operation_ && p.status != 404 && p.status != 409) s_.warn("input is no longer forwarded: " + p.detail);
    };
    input_ = std::make_unique<input_forwarder>(api_, id_, STDIN_FILENO, std::move(c));
    input_->start();
  }

  /// Retried until the task has started: only then it has a window.
  void send_window_size() {
    const auto size = window_size();
    if (!o_.pty || !may_exist_ || !size || operation_) return;
    const json body{{"rows", size->first}, {"columns", size->second}};
    api_.call("POST", "/v1/operations/" + id_ + "/resize", body, milliseconds{30'000}, [this](answer<json> a) {
      if (!a && (has_code(a.error(), error_code::not_started) || a.error().status == 429))
        s_.loop.after(between_resizes, [this] { send_window_size(); });
    });
  }

  void tell_waiting(const json& operation) {
    const auto lines = operation_reasons(operation, plain_view_of(s_));
    if (text_of(operation, "status") != "pending" || lines.empty()) return;
    const std::string what =
        text_of(member(operation, "waiting_for"), "what") + text_of(member(operation, "waiting_for"), "detail");
    if (what == output_tail_ || what == "start") return;
    output_tail_ = what;
    s_.hint(short_id(id_) + " " + lines.front());
  }

  session& s_;
  api& api_;
  const run_options& o_;
  const std::string id_;
  const json body_;
  backoff contact_;
  std::unique_ptr<run_output> output_;
  std::unique_ptr<operation_waiter> waiter_;
  std::unique_ptr<input_forwarder> input_;
  std::unique_ptr<raw_terminal> terminal_;
  std::optional<json> operation_;
  bool output_is_lost_ = false;
  std::optional<exit_code> code_;
  std::string output_tail_;
  event_loop::handle call_ = 0, timer_ = 0;
  int interruptions_ = 0;
  bool given_up_ = false;
  bool may_exist_ = false; ///< a create was sent, so a controller can know the id
};

/// --parent (short ids too), else QUELL_OPERATION, "" for a new root.
answer<std::string> parent_of(api& controller, const run_options& o, const environment& env) {
  if (o.parent == "none") return std::string{};
  if (o.parent) return find_operation(controller, *o.parent);
  return env("QUELL_OPERATION").value_or("");
}

} // namespace

exit_code execute(session& s, const run_options& o) {
  const auto fail = [&](const problem& p) {
    s.say(p);
    return exit_of_run_problem(p);
  };
  if (o.id && !is_whole_id(*o.id))
    return fail(local_problem(error_code::bad_id, "--id '" + *o.id + "' is not a UUIDv7 in lower case"));
  const std::string id = o.id ? *o.id : operation_id::fresh().text();
  auto controller = s.connect();
  if (!controller) return fail(controller.error());
  auto parent = parent_of(**controller, o, s.env);
  if (!parent) return fail(parent.error());
  auto body = run_request(o, id, *parent, default_scope(s.globals.where, s.env), s.env, this_caller());
  if (!body) return fail(body.error());
  return run_command(s, **controller, o, id, std::move(*body)).execute();
}

} // namespace quell::cli
