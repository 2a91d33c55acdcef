// `quell events`: the stored events, or with -f new events as they happen, resumed by event id.
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/backoff.hpp"
#include "cli/commands/commands.hpp"
#include "cli/event_stream.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/lookup.hpp"
#include "cli/operation_view.hpp"
#include "cli/short_id.hpp"
#include "cli/turn_view.hpp"
#include "cli/url.hpp"

namespace quell::cli {
namespace {

using nlohmann::json;

/// The id that identifies a token, whose name is not unique.
std::string audit_id(const std::string& id) { return id.empty() ? "" : " " + (id.size() == 36 ? short_id(id) : id); }

/// `Mia: cancel scope team/build (slack, slack-bot): enough`.
std::string audit_words(const json& data) {
  const auto& by = member(data, "by");
  const auto& via = member(data, "via");
  const auto name = text_of(by, "name").empty() ? text_of(by, "id") : text_of(by, "name");
  auto words = name + ": " + text_of(data, "action") + " " + text_of(data, "target") + " (" + text_of(via, "channel") +
               ", " + text_of(via, "token") + audit_id(text_of(via, "token_id")) + ")";
  if (const auto reason = text_of(data, "reason"); !reason.empty()) words += ": " + reason;
  return printable(words);
}

void show(const session& s, const json& event) {
  if (s.json()) return s.print_line(event);
  const view v = view_of(s);
  const auto at = instant_of(event, "at");
  std::string line =
      (at ? clock_text(*at, v.now, v.zone) : std::string("-")) + "  " + printable(text_of(event, "type"));
  if (const auto id = text_of(event, "operation"); !id.empty()) line += "  " + short_id(id);
  if (const auto id = text_of(event, "cancel"); !id.empty()) line += "  cancel " + short_id(id);
  if (const auto worker = text_of(event, "worker"); !worker.empty()) line += "  " + printable(worker);
  if (const auto scope = text_of(event, "scope"); !scope.empty()) line += "  " + printable(scope);
  const auto& data = member(event, "data");
  if (text_of(event, "type").starts_with("operation_"))
    line += "  " + operation_name(data);
  else if (type_of(event) == event_type::audit)
    line += "  " + audit_words(data);
  else if (type_of(event) == event_type::output)
    line += "  " + text_of(data, "stream") + " " + cut(printable(text_of(data, "text")), 120, v.characters);
  else
    line += event_words(event);
  s.print(cut(line, static_cast<std::size_t>(s.term.columns), v.characters) + "\n");
  std::fflush(stdout);
}

class follow_events {
 public:
  follow_events(session& s, api& controller, std::string path, std::string after)
      : s_(s), api_(controller), path_(std::move(path)), after_(std::move(after)), contact_(milliseconds{60'000}),
        parser_([this](const stream_event& e) { take(e); }) {}

  exit_code execute() {
    start();
    s_.loop.run_until([this] { return code_.has_value(); });
    return *code_;
  }

 private:
  void start() {
    auto request = api_.request("GET", with_query(path_, {{"after", after_}}));
    request.timeout = milliseconds{0};
    request.headers.emplace_back("Accept: text/event-stream");
    parser_ = event_parser([this](const stream_event& e) { take(e); });
    refusal_.clear();
    refused_ = false;
    http_sink sink;
    sink.head = [this](const http_head& head) {
      refused_ = head.status >= 300;
      if (!refused_) contact_.contact();
    };
    sink.body = [this](std::string_view bytes) {
      if (!refused_) {
        parser_.feed(bytes);
        contact_.contact();
      } else if (refusal_.size() < 64 * 1024) {
        refusal_.append(bytes);
      }
      return true;
    };
    sink.end = [this](const http_end& end) { over(end); };
    s_.loop.start(std::move(request), std::move(sink));
  }

  void take(const stream_event& e) {
    if (!e.id.empty()) after_ = e.id;
    const auto event = json::parse(e.data, nullptr, false);
    if (event.is_object()) show(s_, event);
  }

  void over(const http_end& end) {
    std::optional<milliseconds> pause = milliseconds{200};
    if (!end.error.empty() || (refused_ && (end.head.status == 503 || end.head.status == 429))) {
      pause = contact_.lost(std::chrono::steady_clock::now());
      if (!end.sent && !was_open_) pause.reset();
      if (!pause) {
        code_ = s_.fail(api_.problem_of(end, refusal_));
        return;
      }
    } else if (refused_) {
      code_ = s_.fail(api_.problem_of(end, refusal_));
      return;
    }
    was_open_ = true;
    s_.loop.after(*pause, [this] {
      api_.find_again();
      start();
    });
  }

  session& s_;
  api& api_;
  std::string path_, after_, refusal_;
  backoff contact_;
  event_parser parser_;
  std::optional<exit_code> code_;
  bool refused_ = false, was_open_ = false;
};

} // namespace

exit_code execute(session& s, const events_options& o) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  std::string path = "/v1/events";
  if (o.operation) {
    auto id = find_operation(**controller, *o.operation);
    if (!id) return s.fail(id.error());
    path = "/v1/operations/" + *id + "/events";
  }
  path = with_query(path, {{"scope", o.scope.value_or("")}, {"types", o.types.value_or("")}});
  if (o.follow) return follow_events(s, **controller, path, o.after.value_or("")).execute();
  auto list =
      (*controller)->all_pages(with_query(path, {{"after", o.after.value_or("0")}, {"limit", "1000"}}), "events");
  if (!list) return s.fail(list.error());
  for (const auto& event : *list) show(s, event);
  return exit_code::done;
}

} // namespace quell::cli
