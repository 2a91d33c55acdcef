// `quell worker …`: enrol, list, show, drain, resume, remove.
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/operation_view.hpp"
#include "cli/table.hpp"
#include "cli/url.hpp"

namespace quell::cli {
namespace {

using nlohmann::json;

std::string joined_values(const json& value) {
  std::string out;
  if (value.is_object())
    for (const auto& [key, item] : value.items())
      out += (out.empty() ? "" : ", ") +
             printable(key + "=" + (item.is_string() ? item.get<std::string>() : to_line(item)));
  if (value.is_array())
    for (const auto& item : value)
      out += (out.empty() ? "" : "; ") + printable(item.is_string() ? item.get<std::string>() : to_line(item));
  return out;
}

std::string described_worker(const json& worker, const view& v) {
  const auto status = text_of(worker, "status");
  std::string out;
  const auto row = [&](const std::string& name, const std::string& value) {
    if (!value.empty() && value != "-")
      out += name + std::string(name.size() < 13 ? 13 - name.size() : 1, ' ') + value + "\n";
  };
  row("worker", printable(text_of(worker, "name")));
  row("status", painted(status, color_of_status(status), v.color));
  row("slots", std::to_string(number_of(worker, "slots_used")) + " of " + std::to_string(number_of(worker, "slots")) +
                   " used, " + std::to_string(number_of(worker, "operations_live")) + " operations live");
  row("labels", joined_values(member(worker, "labels")));
  row("containment", text_of(worker, "containment"));
  row("cannot", joined_values(member(worker, "containment_limits")));
  row("version", printable(text_of(worker, "version")));
  row("address", printable(text_of(worker, "address")));
  row("joined", instant_and_age(worker, "joined_at", v));
  row("last heard", instant_and_age(worker, "last_heard_at", v));
  row("lease", instant_and_age(worker, "lease_expires_at", v));
  const auto& silent = member(worker, "unreachable");
  if (silent.is_object())
    row("unreachable", "since " + instant_and_age(silent, "since_at", v) + ", its tasks are dead by " +
                           instant_and_age(silent, "dead_by", v));
  const auto& drain = member(worker, "drain");
  if (drain.is_object()) {
    std::string text = "since " + instant_and_age(drain, "since_at", v);
    if (const auto reason = text_of(drain, "reason"); !reason.empty()) text += ": " + printable(reason);
    if (instant_of(drain, "deadline_at")) text += ", until " + instant_and_age(drain, "deadline_at", v);
    row("drain", text);
  }
  return out;
}

exit_code show(const session& s, const answer<json>& worker) {
  if (!worker) return s.fail(worker.error());
  if (s.json())
    s.print_document(*worker);
  else
    s.print(described_worker(*worker, view_of(s)));
  return exit_code::done;
}

std::string path_of(const std::string& name, const char* action = "") {
  return "/v1/workers/" + percent_encoded(name) + action;
}

} // namespace

exit_code execute(session& s, const worker_add_options& o) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  json body{{"name", o.name}, {"key", o.key ? json(*o.key) : json()}, {"labels", json::object()}};
  for (const auto& label : o.labels)
    body["labels"][label.substr(0, label.find('='))] = label.substr(label.find('=') + 1);
  auto worker = (*controller)->post("/v1/workers", body);
  if (!worker) return s.fail(worker.error());
  if (s.json()) {
    s.print_document(*worker);
    return exit_code::done;
  }
  const auto join = text_of(*worker, "join");
  if (join.empty()) {
    s.print("worker " + printable(o.name) + " is enrolled with its own key\n");
    return exit_code::done;
  }
  s.print((join.starts_with("quell-worker") ? join : "quell-worker --join " + join) + "\n");
  s.hint("the line is a secret: it holds the worker's key. The same line works again after a restart of the worker.");
  for (const char* key : {"warning", "advice"})
    if (const auto text = text_of(*worker, key); !text.empty()) s.warn(text);
  for (const auto& warning : member(*worker, "warnings"))
    if (warning.is_string()) s.warn(warning.get<std::string>());
  return exit_code::done;
}

exit_code execute(session& s, const worker_list_options& o) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  auto list = (*controller)->all_pages("/v1/workers?limit=1000", "workers");
  if (!list) return s.fail(list.error());
  if (s.json()) {
    s.print_document({{"workers", *list}, {"next_cursor", nullptr}});
    return exit_code::done;
  }
  const view v = view_of(s);
  table rows({"NAME", "STATUS", "SLOTS>", "LIVE>", "CONTAINMENT", "HEARD", "LABELS"});
  for (const auto& worker : *list) {
    if (o.quiet) {
      s.print(printable(text_of(worker, "name")) + "\n");
      continue;
    }
    const auto status = text_of(worker, "status"), containment = text_of(worker, "containment");
    const auto last_contact = instant_of(worker, "last_heard_at");
    rows.add({printable(text_of(worker, "name")), painted(status, color_of_status(status), v.color),
              std::to_string(number_of(worker, "slots_used")) + "/" + std::to_string(number_of(worker, "slots")),
              std::to_string(number_of(worker, "operations_live")), containment.empty() ? "-" : containment,
              last_contact ? relative_text(*last_contact, v.now) : "never", joined_values(member(worker, "labels"))});
  }
  if (o.quiet) return exit_code::done;
  if (rows.empty())
    s.hint("no worker is enrolled: quell worker add NAME");
  else
    s.print(rows.text(s.term.columns, s.term.characters));
  return exit_code::done;
}

exit_code execute(session& s, const worker_show_options& o) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  return show(s, (*controller)->get(path_of(o.name)));
}

exit_code execute(session& s, const worker_drain_options& o) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  json body{{"cancel", o.cancel}};
  if (o.reason) body["reason"] = *o.reason;
  if (o.deadline) body["deadline_ms"] = o.deadline->count();
  return show(s, (*controller)->post(path_of(o.name, "/drain"), body));
}

exit_code execute(session& s, const worker_resume_options& o) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  return show(s, (*controller)->post(path_of(o.name, "/resume"), json::object()));
}

exit_code execute(session& s, const worker_remove_options& o) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  auto gone = (*controller)->remove(path_of(o.name) + (o.cancel ? "?cancel=true" : ""));
  if (!gone) return s.fail(gone.error());
  if (s.json())
    s.print_document(*gone);
  else
    s.print("worker " + printable(o.name) + " is removed\n");
  return exit_code::done;
}

} // namespace quell::cli
