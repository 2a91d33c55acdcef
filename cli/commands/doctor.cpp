// `quell doctor`: the guarantees that this machine and the cluster can and cannot give, and what to do about it.
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cli/child.hpp"
#include "cli/commands/commands.hpp"
#include "cli/containment_limits.hpp"
#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/instant.hpp"

namespace quell::cli {
namespace {

using nlohmann::json;

/// One finding; `level` is ok, note, warning or bad.
void add(json& findings, const char* level, const char* what, const std::string& text) {
  findings.push_back({{"level", level}, {"what", what}, {"text", text}});
}

void look_at_cluster(session& s, json& findings) {
  auto controller = s.connect();
  if (!controller) return add(findings, "bad", "controller", controller.error().detail);
  const auto before = wall_now();
  auto status = (*controller)->get("/v1/status");
  const auto after = wall_now();
  if (!status) return add(findings, "bad", "controller", status.error().detail);
  add(findings, "ok", "controller",
      (*controller)->where().url + " answers in " + duration_text(after - before) + " (from " +
          (*controller)->where().found_in + ")");
  const auto version = text_of(*status, "version");
  if (version != QUELL_VERSION)
    add(findings, "warning", "version",
        "quelld is " + version + ", this quell is " QUELL_VERSION ": install the same on both");
  else
    add(findings, "ok", "version", version + " on both sides");
  if (!(*controller)->where().url.starts_with("https://") &&
      (*controller)->where().url.find("//127.") == std::string::npos &&
      (*controller)->where().url.find("//localhost") == std::string::npos)
    add(findings, "warning", "transport", "the token travels without TLS: use https, or a tunnel");
  auto workers = (*controller)->all_pages("/v1/workers?limit=1000", "workers");
  if (!workers) return add(findings, "warning", "workers", workers.error().detail);
  if (workers->empty()) add(findings, "warning", "workers", "none is enrolled: quell worker add NAME");
  for (const auto& worker : *workers) {
    const auto name = printable(text_of(worker, "name")), state = text_of(worker, "status"),
               level = text_of(worker, "containment");
    std::string text = name + ": " + state + (level.empty() ? "" : ", containment " + level);
    if (const auto software = text_of(worker, "version"); !software.empty() && software != version)
      text += ", version " + printable(software) + " (the controller has " + version + ")";
    const auto last_contact = instant_of(worker, "last_heard_at");
    if (last_contact && *last_contact > after + milliseconds{2000})
      text += "; its last word is from the future: look at the clocks";
    const auto why = text_of(member(worker, "trouble"), "why"), other = text_of(member(worker, "rival"), "address");
    if (!why.empty()) text += "; it starts nothing: " + printable(why);
    if (!other.empty()) text += "; another process at " + printable(other) + " holds its key";
    const auto knows = worker.find("knows_controller_key");
    const bool is_behind = knows != worker.end() && knows->is_boolean() && !knows->get<bool>();
    if (is_behind) text += "; it does not know the controller's next key yet (quelld --rotate-key)";
    add(findings, state == "ready" && !is_behind && why.empty() && other.empty() ? "ok" : "warning", "worker", text);
    for (const auto& limit : member(worker, "containment_limits"))
      if (limit.is_string())
        add(findings, "note", "worker", name + " cannot promise: " + printable(limit.get<std::string>()));
    if (!level.empty() && member(worker, "containment_limits").empty() && !limits_of(level).empty())
      for (const auto& limit : limits_of(level)) add(findings, "note", "worker", name + " cannot promise: " + limit);
  }
}

void look_at_state(session& s, json& findings) {
  for (const auto& directory : state_directories(s.globals.where, s.env)) {
    const auto path = directory + "/client.json";
    struct stat about {};
    if (::stat(path.c_str(), &about) != 0) continue;
    if ((about.st_mode & 077) != 0)
      add(findings, "bad", "token", path + " holds a token and others may read it: chmod 600 " + path);
    else
      add(findings, "ok", "token", path + " is readable by you alone");
    struct statvfs space {};
    if (::statvfs(directory.c_str(), &space) != 0) continue;
    const std::uint64_t free = static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
    constexpr std::uint64_t little = 1ULL << 30;
    add(findings, free < little ? "warning" : "ok", "space",
        size_text(free) + " free in " + directory +
            (free < little ? ": below a reserve, starts are refused; free some" : ""));
  }
}

/// `quell-worker probe` prints {"level","limits"} for this machine.
void look_at_machine(json& findings) {
  const std::string program = own_directory() + "/quell-worker";
  std::string text;
  // The path is that of our own program; a quote in it would end the shell word early, so such a path is skipped.
  if (program.find('\'') == std::string::npos)
    if (std::FILE* pipe = ::popen(("'" + program + "' probe 2>/dev/null </dev/null").c_str(), "r")) {
      std::array<char, 4096> buffer;
      for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0 && text.size() < 64 * 1024;)
        text.append(buffer.data(), n);
      ::pclose(pipe);
    }
  const auto probe = json::parse(text, nullptr, false);
  const auto level = text_of(probe, "level");
  if (level.empty())
    return add(findings, "note", "machine",
               "the containment of this machine is not known: " + program + " probe does not answer");
  add(findings, level == "group" ? "warning" : "ok", "machine", "a worker here would contain tasks by " + level);
  bool is_reported = false;
  for (const auto& limit : member(probe, "limits"))
    if (limit.is_string()) {
      add(findings, "note", "machine", "cannot promise: " + printable(limit.get<std::string>()));
      is_reported = true;
    }
  if (!is_reported)
    for (const auto& limit : limits_of(level)) add(findings, "note", "machine", "cannot promise: " + limit);
}

} // namespace

exit_code execute(session& s, const doctor_options&) {
  json findings = json::array();
  look_at_cluster(s, findings);
  look_at_state(s, findings);
  look_at_machine(findings);
  add(findings, "note", "secrets",
      "tasks of one user id can read each other's environment, their tokens too: give tasks that do not trust each "
      "other their own user (`quell run --user NAME`; the worker runs as root and permits it: quell-worker --user "
      "NAME)");
  bool bad = false;
  for (const auto& f : findings) bad = bad || text_of(f, "level") == "bad";
  if (s.json()) {
    s.print_document({{"findings", findings}, {"ok", !bad}});
  } else {
    for (const auto& f : findings) {
      const auto level = text_of(f, "level");
      const auto shade = level == "ok"        ? color::green
                         : level == "bad"     ? color::red
                         : level == "warning" ? color::yellow
                                              : color::dim;
      s.print(painted(level + std::string(level.size() < 7 ? 7 - level.size() : 0, ' '), shade, s.term.color_out) +
              "  " + text_of(f, "what") + ": " + text_of(f, "text") + "\n");
    }
  }
  return bad ? exit_code::refused : exit_code::done;
}

} // namespace quell::cli
