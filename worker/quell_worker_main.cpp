// quell-worker: reads its configuration, takes its state directory, joins a controller and runs until it is told to
// leave.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

#include "integrations/host/kept_memory.hpp"
#include "integrations/host/log.hpp"
#include "integrations/host/service_manager.hpp"
#include "protocol/join.hpp"
#include "protocol/standard_streams.hpp"
#include "worker/announced_states.hpp"
#include "worker/command_line.hpp"
#include "worker/guardian/client.hpp"
#include "worker/guardian/sandbox.hpp"
#include "worker/hidden_directories.hpp"
#include "worker/rotate_key.hpp"
#include "worker/session_loop.hpp"

extern char** environ;

namespace {

using namespace quell;
using namespace quell::worker;

constexpr const char* version = "0.1.0";
int leave_descriptor = -1, change_descriptor = -1;

/// Does only async-signal-safe work: the loop reads the count.
void raise_descriptor(int descriptor) {
  const int saved = errno;
  const std::uint64_t one = 1;
  (void)!::write(descriptor, &one, sizeof one);
  errno = saved;
}
void ask_to_leave(int) { raise_descriptor(leave_descriptor); }
void ask_for_change(int) { raise_descriptor(change_descriptor); }

/// Uses handlers instead of SIG_IGN or a blocked mask: an exec resets handlers, so that tasks inherit nothing.
void take_signals() {
  leave_descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  struct sigaction action {};
  action.sa_handler = ask_to_leave;
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
  change_descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  action.sa_handler = ask_for_change;
  ::sigaction(SIGURG, &action, nullptr); // its default action is harmless to a worker that does not handle it
  action.sa_handler = [](int) {};
  ::sigaction(SIGPIPE, &action, nullptr);
}

std::map<std::string, std::string> own_environment() {
  std::map<std::string, std::string> all;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text(*entry);
    if (const auto at = text.find('='); at != std::string_view::npos)
      all.emplace(text.substr(0, at), text.substr(at + 1));
  }
  return all;
}

int fail(int code, const fault& f) {
  std::cerr << "quell-worker: " << f.detail << "\n";
  return code;
}

std::string own_directory() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

std::string default_state(const std::string& name, const std::map<std::string, std::string>& environment) {
  if (::geteuid() == 0) return "/var/lib/quell-worker/" + name;
  const auto home = environment.find("HOME");
  return (home == environment.end() ? std::string("/tmp") : home->second) + "/.local/state/quell-worker/" + name;
}

result<std::string> join_text(const command_line& line, const settings_layer& s) {
  if (line.join_file.empty()) {
    if (s.join) return *s.join;
    return failure(
        "bad_config",
        "no controller to join; give --join LINE or --join-file FILE (`quell worker add NAME` prints the line)");
  }
  std::ifstream file;
  if (line.join_file != "-") file.open(line.join_file);
  std::istream& from = line.join_file == "-" ? std::cin : file;
  std::string text;
  if (!from || !(from >> text))
    return failure("bad_config", "cannot read the join line from " +
                                     (line.join_file == "-" ? std::string("standard input") : line.join_file));
  // The file can hold the whole printed command.
  while (!text.starts_with("qwj") && from >> text) {
  }
  return text;
}

int keygen(const std::string& state) {
  auto directory = state_directory::open(state);
  if (!directory) return fail(1, directory.error());
  if (directory->has_key()) {
    auto keys = directory->key();
    if (!keys) return fail(1, keys.error());
    const auto ring = key_ring::read(directory->keys(), *keys, {});
    if (!ring) return fail(1, ring.error());
    std::cerr << "quell-worker: " << state << " has a key already; this is its public half\n";
    std::cout << ring->own().public_key << "\n";
    return 0;
  }
  const auto keys = key_pair::generate();
  if (auto stored = directory->store_key(keys); !stored) return fail(1, stored.error());
  std::cout << keys.public_key << "\n";
  return 0;
}

/// Quotes plain text of the probe as a JSON string.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

int probe() {
  const auto found = probe_containment();
  std::cout << "{\"level\":" << quoted(std::string(name_of(found.level))) << ",\"limits\":[";
  for (std::size_t i = 0; i < found.limits.size(); ++i) std::cout << (i ? "," : "") << quoted(found.limits[i]);
  std::cout << "]}\n";
  return 0;
}

/// With fewer descriptors than this the sockets' library aborts in the middle of the start.
result<void> check_open_files() {
  constexpr rlim_t least = 64; // about 40 are used without any task
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= least) return {};
  return failure("open_files", "the limit of open files (ulimit -n) is " + std::to_string(files.rlim_cur) +
                                   "; a worker needs at least " + std::to_string(least) +
                                   ", and four more for each task. Raise it and start again");
}

} // namespace

int main(int argc, char** argv) {
  fill_standard_streams();
  const auto parsed = parse_command_line(argc, argv, version);
  hide_join_line(argc, argv);
  if (!parsed.line) return parsed.exit_code;
  const command_line& line = *parsed.line;
  if (line.probe) return probe();
  host::keep_freed_memory();
  host::start_log("worker", line.log_level, line.log_format);

  const auto environment = own_environment();
  settings_layer s;
  if (!line.config.empty()) {
    auto file = settings_from_file(line.config);
    if (!file) return fail(2, file.error());
    s = std::move(*file);
  }
  auto from_environment = settings_from_environment(environment);
  if (!from_environment) return fail(2, from_environment.error());
  s = merged(merged(std::move(s), *from_environment), line.flags);
  if (!s.slots) s.slots = std::max(8U, 4 * std::thread::hardware_concurrency());
  if (!s.work_dir) {
    const auto home = environment.find("HOME");
    s.work_dir = home == environment.end() || home->second.empty() ? "/" : home->second;
  }
  fill_in_sandbox(s);
  if (line.print_config) {
    std::cout << settings_as_toml(s);
    return 0;
  }
  if (line.keygen) {
    if (line.state.empty() && !s.name)
      return fail(2,
                  {"bad_config", "keygen needs --state DIR or --name NAME, to know where to keep the secret half", ""});
    return keygen(line.state.empty() ? default_state(*s.name, environment) : line.state);
  }

  if (line.rotate_key) {
    if (line.state.empty() && !s.name)
      return fail(2, {"bad_config", "rotate-key needs --state DIR or --name NAME, to know which worker is meant", ""});
    return rotate_key(line.state.empty() ? default_state(*s.name, environment) : line.state,
                      std::chrono::seconds(line.timeout_s));
  }

  if (auto enough = check_open_files(); !enough) return fail(1, enough.error());
  auto text = join_text(line, s);
  if (!text) return fail(2, text.error());
  auto join = parse_join(*text);
  if (!join) return fail(2, join.error());
  if (std::error_code error; !std::filesystem::is_directory(*s.work_dir, error))
    return fail(2,
                {"bad_config",
                 "the work_dir " + *s.work_dir + " is not a directory; make it or choose another with --work-dir", ""});
  take_signals(); // before the lock announces that this process can be signalled
  auto state = state_directory::open(line.state.empty() ? default_state(s.name.value_or(join->worker), environment)
                                                        : line.state);
  if (!state) return fail(1, state.error());
  auto keys = join->worker_secret_key.empty() ? state->key() : key_pair::from_secret(join->worker_secret_key);
  if (!keys) return fail(1, keys.error());

  auto users = account_table::look_up(s.users.value_or(std::vector<std::string>{}), s.user);
  if (!users) return fail(2, users.error());

  session_loop::settings loop;
  auto ring = key_ring::read(state->keys(), *keys, join->server_public_key);
  if (!ring) return fail(1, ring.error());
  loop.control.endpoints = join->control_endpoints;
  loop.keys = std::move(*ring);
  loop.bulk.socket.endpoints = join->bulk_endpoints;
  loop.guardian.binary = line.guardian.empty() ? own_directory() + "/quell-guardian" : line.guardian;
  loop.guardian.forced = s.least;
  loop.guardian.sandbox.on = *s.sandbox;
  for (const auto& name : *s.capabilities) loop.guardian.sandbox.capabilities |= *capability_bit(name);
  loop.guardian.sandbox.hidden = hidden_from_tasks(*s.hide, state->path(), {*s.work_dir, own_directory()}, environment);
  auto spaces =
      workspaces::open(s.workspaces.value_or(state->path() + "/workspaces"), s.workspaces_per_guild.value_or(0));
  if (!spaces && s.workspaces) return fail(2, spaces.error());
  if (spaces) {
    loop.spaces = std::move(*spaces);
    loop.guardian.sandbox.workspaces = loop.spaces->root();
    hide_workspaces(loop.guardian.sandbox.hidden, loop.spaces->root());
  } else {
    std::cerr << "quell-worker: " << spaces.error().detail << "\n";
  }
  if (*s.sandbox)
    loop.newly_hidden = [states = announced_states(), needed = std::vector{*s.work_dir, own_directory()}]() mutable {
      return without_needed(states.changed(), needed);
    };
  loop.limits = {*s.memory_bytes, *s.pids, *s.cpu_millis};
  loop.slots = *s.slots;
  loop.labels = s.labels;
  loop.work_dir = *s.work_dir;
  loop.software = version;
  loop.environment = task_environment::base_of(environment);
  for (const auto& [k, v] : s.env) loop.environment[k] = v;
  if (::access((own_directory() + "/quell").c_str(), X_OK) == 0) loop.tools = own_directory();
  loop.users = std::move(*users);
  loop.leave_descriptor = leave_descriptor;
  loop.change_descriptor = change_descriptor;
  auto worker = session_loop::open(std::move(loop), std::move(*state));
  if (!worker) return fail(1, worker.error());
  // Ready means that the guardian is up and clears what an earlier life left. The controller can come later.
  const auto socket = environment.find("NOTIFY_SOCKET");
  host::service_manager(socket == environment.end() ? "" : socket->second)
      .ready("looks for its controller; the log says when it has one");
  return (*worker)->run();
}
