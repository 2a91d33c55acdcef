// `quell cancel`: sends every cancel, then waits for the requested level, shows progress, and ends with the report.
//
// An answered cancel goes on whatever happens to this program; if the program ends, only the watching is lost.
#include <signal.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cli/backoff.hpp"
#include "cli/cancel_request.hpp"
#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/lookup.hpp"
#include "cli/report.hpp"
#include "cli/signals.hpp"
#include "protocol/id.hpp"

namespace quell::cli {
namespace {

using nlohmann::json;

constexpr milliseconds settle_wait{30'000};
constexpr milliseconds progress_wait{500};
constexpr milliseconds settle_allowance{15'000};
constexpr milliseconds last_look{2'000};

/// One target and the progress of its cancel.
struct attempt {
  json request;
  std::optional<json> body; ///< the last answer
  std::optional<exit_code> code;
};

class cancel_command {
 public:
  cancel_command(session& s, api& controller, const cancel_options& o)
      : s_(s), api_(controller), o_(o), contact_(o.reconnect) {}

  exit_code execute(const std::vector<std::string>& ids) {
    for (auto& request : cancel_requests(o_, ids, [] { return cancel_id::fresh().text(); })) {
      attempts_.push_back(std::make_unique<attempt>());
      attempts_.back()->request = std::move(request);
    }
    for (auto& a : attempts_) send(*a);
    // Ctrl-C ends the waiting, never the cancel; a second Ctrl-C also ends the attempts to reach the controller.
    signal_watch signals(s_.loop, {SIGINT}, [this](int) {
      if (std::exchange(interrupted_, true))
        for (auto& a : attempts_)
          if (!a->code) a->code = exit_code::unreachable;
      time_is_up();
    });
    // The time limit applies to the waiting, which begins with the request for the cancel; it never cuts a send short.
    if (o_.timeout && o_.timeout->count() > 0) s_.loop.after(*o_.timeout, [this] { time_is_up(); });
    s_.loop.run_until([this] {
      for (const auto& a : attempts_)
        if (!a->code) return false;
      return true;
    });
    clear_progress();
    std::vector<exit_code> codes;
    for (const auto& a : attempts_) {
      report(*a);
      codes.push_back(*a->code);
    }
    return worst_exit(codes);
  }

 private:
  view look() const { return view_of(s_); }

  std::optional<milliseconds> lost(attempt& a, const problem& p) {
    const bool never = p.status == 0 && !p.sent && !a.body && !reached_;
    const bool first = !contact_.is_lost();
    const auto pause = never ? std::nullopt : contact_.lost(std::chrono::steady_clock::now());
    if (!pause) {
      clear_progress();
      if (!is_loss_reported_) s_.say(p);
      is_loss_reported_ = true;
      a.code = exit_code::unreachable;
    } else if (first) {
      clear_progress();
      s_.hint("no contact with the controller; trying again");
    }
    return pause;
  }

  static bool transient(const problem& p) {
    return p.status == 0 || p.status == 502 || p.status == 503 || p.status == 504 || p.status == 429;
  }

  void send(attempt& a) {
    api_.call("POST", "/v1/cancels", a.request, milliseconds{30'000}, [this, &a](answer<json> got) {
      if (a.code) return;
      if (got) return answered(a, std::move(*got));
      const auto& p = got.error();
      if (!transient(p)) {
        a.code = s_.fail(p);
        return;
      }
      if (p.sent) reached_ = true;
      if (const auto pause = lost(a, p))
        s_.loop.after(*pause, [this, &a] {
          api_.find_again();
          send(a);
        });
    });
  }

  void answered(attempt& a, json body) {
    contact_.contact();
    reached_ = true;
    a.body = std::move(body);
    const auto outcome = text_of(*a.body, "outcome");
    const bool is_open = (outcome == "stopping" || outcome == "joined") && !o_.dry_run;
    if (!is_open || has_reached_level(*a.body) || up_) {
      a.code = exit_of_cancel(*a.body, o_.level);
      return;
    }
    progress(a);
    poll(a);
  }

  bool has_reached_level(const json& body) const {
    const auto status = text_of(body, "status");
    return o_.level == "fenced" || status == "settled" || (o_.level == "signalled" && status == "signalled");
  }

  void poll(attempt& a) {
    const bool watched = s_.term.err_is_terminal || s_.json();
    const milliseconds wait = watched ? progress_wait : settle_wait;
    const auto path =
        "/v1/cancels/" + text_of(*a.body, "id") + "?wait=" + o_.level + "&wait_ms=" + std::to_string(wait.count());
    api_.call("GET", path, nullptr, wait + settle_allowance, [this, &a](answer<json> got) {
      if (a.code) return;
      if (!got) {
        const auto& p = got.error();
        if (!transient(p)) {
          a.code = s_.fail(p);
          return;
        }
        if (const auto pause = lost(a, p))
          s_.loop.after(*pause, [this, &a] {
            api_.find_again();
            poll(a);
          });
        return;
      }
      contact_.contact();
      const json before = *a.body;
      take(a, std::move(*got));
      const bool changed = before != *a.body;
      if (has_reached_level(*a.body)) {
        a.code = exit_of_cancel(*a.body, o_.level);
        return;
      }
      if (changed || !s_.json()) progress(a);
      poll(a);
    });
  }

  void progress(const attempt& a) {
    if (s_.json()) return s_.print_line({{"type", "progress"}, {"cancel", *a.body}});
    if (!s_.term.err_is_terminal) return;
    const std::string line =
        cut(progress_text(*a.body, look()), s_.term.columns > 0 ? static_cast<std::size_t>(s_.term.columns) : 79,
            s_.term.characters);
    std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
    shown_ = true;
  }

  void clear_progress() {
    if (shown_) std::fprintf(stderr, "\r\x1b[K");
    shown_ = false;
  }

  void time_is_up() {
    if (std::exchange(up_, true)) return;
    for (auto& a : attempts_)
      if (a->body && !a->code) look_once_more(*a);
  }

  /// Fetches the cancel again, so that the report is as of the end of the waiting, not as of the last answer.
  void look_once_more(attempt& a) {
    const auto path = "/v1/cancels/" + text_of(*a.body, "id");
    api_.call("GET", path, nullptr, last_look, [this, &a](answer<json> got) {
      if (a.code) return;
      if (got) take(a, std::move(*got));
      a.code = exit_of_cancel(*a.body, o_.level);
    });
  }

  /// The outcome belongs to our request; a later query of the same cancel need not repeat it.
  static void take(attempt& a, json body) {
    if (a.body->contains("outcome")) body["outcome"] = (*a.body)["outcome"];
    a.body = std::move(body);
  }

  void report(const attempt& a) {
    if (!a.body) return;
    if (s_.json()) return s_.print_line(*a.body);
    if (o_.quiet) {
      if (const auto id = text_of(*a.body, "id"); !id.empty()) s_.print(id + "\n");
      for (const auto& operation : member(member(*a.body, "would_stop"), "operations"))
        s_.print(text_of(operation, "id") + "\n");
      return;
    }
    if (o_.dry_run) return s_.print(dry_run_text(*a.body, look(), s_.term.columns));
    s_.print(report_text(*a.body, look()));
    if (up_ && *a.code == exit_code::unproven)
      s_.warn(std::string(interrupted_ ? "no longer waiting" : "the time is up") + "; the cancel goes on: quell why " +
              text_of(*a.body, "id"));
  }

  session& s_;
  api& api_;
  const cancel_options& o_;
  backoff contact_;
  std::vector<std::unique_ptr<attempt>> attempts_;
  bool reached_ = false, is_loss_reported_ = false, shown_ = false, up_ = false, interrupted_ = false;
};

/// Found before the first cancel was sent: the other targets, which were right, still run.
problem nothing_cancelled(problem p) {
  p.detail = "nothing was cancelled: " + p.detail;
  auto document = json::parse(p.document, nullptr, false);
  if (!document.is_object()) return p;
  document["detail"] = p.detail;
  p.document = to_line(document);
  return p;
}

} // namespace

exit_code execute(session& s, const cancel_options& o) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  auto ids = find_operations(**controller, o.ids);
  if (!ids) return s.fail(nothing_cancelled(ids.error()));
  return cancel_command(s, **controller, o).execute(*ids);
}

} // namespace quell::cli
