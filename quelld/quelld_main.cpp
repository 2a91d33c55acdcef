// quelld, the controller of a cluster: options, configuration, start, wait for a signal, planned stop.
#include <CLI/CLI.hpp>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <map>
#include <utility>

#include "integrations/host/kept_memory.hpp"
#include "integrations/host/log.hpp"
#include "integrations/host/service_manager.hpp"
#include "protocol/standard_streams.hpp"
#include "quelld/loaded.hpp"
#include "quelld/secrets.hpp"
#include "quelld/settings/reach.hpp"
#include "quelld/wiring.hpp"

extern char** environ;

namespace {

constexpr int runtime_error = 1;
constexpr int usage_error = 2;

struct flags {
  std::string config_file;
  std::map<std::string, std::string> settings; ///< key → text, over file and environment
  bool print_config = false, check_config = false, restored = false, insecure = false, rotate_token = false;
  bool rotate_key = false, finish_key = false;
};

std::map<std::string, std::string> environment() {
  std::map<std::string, std::string> all;
  for (char** e = environ; *e; ++e) {
    const std::string pair = *e;
    if (const auto equals = pair.find('='); equals != std::string::npos)
      all[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return all;
}

void declare(CLI::App& app, flags& f) {
  app.set_version_flag("-V,--version", std::string("quelld ") + QUELL_VERSION);
  app.add_option("--config", f.config_file, "TOML configuration (see --print-config)")->type_name("FILE");
  const auto setting = [&](const std::string& flag, const std::string& key, const std::string& help) {
    app.add_option_function<std::string>(
           flag, [&f, key](const std::string& text) { f.settings[key] = text; }, help)
        ->take_last();
  };
  setting("--state", "store.dir", "state directory (default ~/.local/state/quell)");
  setting("--listen,--http-listen", "http.listen", "HTTP address (default 127.0.0.1:7710, port 0 = a free one)");
  setting("--workers-listen", "workers.listen", "control address for workers (default 127.0.0.1:7711)");
  setting("--output-listen", "workers.output_listen", "bulk address for workers (default 127.0.0.1:7712)");
  setting("--log-level", "log.level", "debug, info, warn or error (default info)");
  app.add_option_function<std::vector<std::string>>(
         "--set",
         [&f](const std::vector<std::string>& pairs) {
           for (const auto& pair : pairs) {
             const auto equals = pair.find('=');
             f.settings[pair.substr(0, equals)] = equals == std::string::npos ? "" : pair.substr(equals + 1);
           }
         },
         "any configuration key, as in --set workers.lease=30s")
      ->type_name("SECTION.KEY=VALUE");
  app.add_flag("--insecure", f.insecure, "allow HTTP without TLS off loopback");
  app.add_flag("--restored", f.restored,
               "the store is a restored backup: jump above every number that workers may have seen");
  app.add_flag("--print-config", f.print_config, "print the configuration with every key and stop");
  app.add_flag(
      "--rotate-token", f.rotate_token,
      "put a new bootstrap token into the state directory and stop; a quelld that runs there takes it at once");
  app.add_flag("--rotate-key", f.rotate_key,
               "prepare the next key of this controller and stop; a quelld that runs there tells it to its workers");
  app.add_flag("--finish-key", f.finish_key,
               "put the prepared key in use and stop; workers that were not told it cannot connect from then on");
  app.add_flag("--check-config", f.check_config, "check the configuration and stop");
  app.footer("Examples:\n"
             "  quelld                                  a controller on this machine, loopback only\n"
             "  quelld --listen 127.0.0.1:0 --state /tmp/q   a free port and an own state directory\n"
             "  quelld --print-config > quelld.toml     a configuration to start from\n"
             "Then attach workers: quell worker add w1, and run the line that it prints.");
}

/// Raises the descriptor limit as far as allowed, since every connection of a worker, client or watcher is a
/// descriptor. False, with the reason on stderr, if the limit is so low that the socket library would abort during the
/// start.
bool take_open_files() {
  constexpr rlim_t least = 64; // about 40 are in use without any connection
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return true;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_max >= least) return true;
  std::cerr << "quelld: the limit of open files (ulimit -n) is " << files.rlim_max << "; it needs at least " << least
            << ", and one more for each connection. Raise it and start again.\n";
  return false;
}

/// Waits for SIGTERM or SIGINT (true) or for the controller's own failure (false); reloads when SIGHUP or a client
/// asks.
bool wait_for_end(quell::controller::controller_process& controller, const sigset_t& signals) {
  const int signal_fd = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  pollfd fds[3] = {{signal_fd, POLLIN, 0},
                   {controller.failure_descriptor(), POLLIN, 0},
                   {controller.reload_descriptor(), POLLIN, 0}};
  bool has_ended = false, reloads = false;
  const int memory_interval_ms = quell::host::return_freed_memory() ? 500 : -1;
  while (!has_ended && !(fds[1].revents & POLLIN)) {
    const int ready = ::poll(fds, 3, memory_interval_ms);
    if (ready == 0) (void)quell::host::return_freed_memory();
    if (ready <= 0) continue;
    signalfd_siginfo arrived{};
    while (::read(signal_fd, &arrived, sizeof arrived) == sizeof arrived)
      (arrived.ssi_signo == SIGHUP ? reloads : has_ended) = true;
    if (!has_ended && (std::exchange(reloads, false) || (fds[2].revents & POLLIN))) controller.reload();
  }
  ::close(signal_fd);
  return has_ended;
}

} // namespace

int main(int argc, char** argv) {
  quell::fill_standard_streams();
  CLI::App app{"quelld: the controller of a quell cluster"};
  flags f;
  declare(app, f);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : usage_error;
  }
  const auto load = [&f] {
    return quell::controller::load_all({f.config_file, f.settings, f.insecure}, environment());
  };
  const auto all = load();
  if (!all) {
    std::cerr << "quelld: " << all.error().detail << "\n";
    return usage_error;
  }
  const auto* c = &all->settings;
  if (f.print_config) {
    std::cout << quell::controller::printed_config(*all);
    return 0;
  }
  if (f.check_config) {
    for (const auto& what : quell::controller::turns::what_cannot_be_reached(all->turns))
      std::cout << "note: " << what << "\n";
    for (const auto& what : quell::controller::chat::places_without_service(all->chats, all->turns))
      std::cout << "note: " << what << "\n";
    for (const auto& what : quell::controller::turns::what_costs_nothing(all->turns))
      std::cout << "warning: " << what << "\n";
    std::cout << "the configuration is sound\n";
    return 0;
  }

  if (f.rotate_key || f.finish_key) {
    const auto key = f.finish_key ? quell::controller::finish_controller_key(c->store_dir)
                                  : quell::controller::prepare_controller_key(c->store_dir);
    if (!key) {
      std::cerr << "quelld: " << key.error().detail << "\n";
      return runtime_error;
    }
    if (f.finish_key)
      std::cout << "the controller goes by the key " << *key << "\n";
    else
      std::cout << "the controller will go by the key " << *key
                << "\nWhen `quell doctor` says that every worker knows it: quelld --state " << c->store_dir
                << " --finish-key\n";
    return 0;
  }
  if (f.rotate_token) {
    if (const auto done = quell::controller::replace_admin_token(c->store_dir); !done) {
      std::cerr << "quelld: " << done.error().detail << "\n";
      return runtime_error;
    }
    std::cout << "the bootstrap token in " << c->store_dir << "/client.json is a new one\n";
    return 0;
  }

  if (!take_open_files()) return runtime_error;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  quell::host::keep_freed_memory();
  quell::host::start_log("quelld", c->log_level, c->log_format);
  for (const auto& what : quell::controller::turns::what_costs_nothing(all->turns)) spdlog::warn("{}", what);

  const auto origin = f.restored ? quell::storage::store_origin::backup : quell::storage::store_origin::own_past;
  auto controller = quell::controller::controller_process::start({*all, origin, QUELL_VERSION, QUELL_COMMIT, load});
  if (!controller) {
    if (c->log_format == "json")
      spdlog::critical("quelld: {}", controller.error().detail);
    else
      std::cerr << "quelld: " << controller.error().detail << "\n";
    return runtime_error;
  }
  const auto where = (*controller)->url() + ", state " + (*controller)->state_directory();
  if (c->log_format == "json")
    spdlog::info("quelld is ready: {}", where);
  else
    std::cerr << "quelld is ready: " << where << std::endl;
  const auto surroundings = environment();
  const auto socket = surroundings.find("NOTIFY_SOCKET");
  const quell::host::service_manager manager(socket == surroundings.end() ? "" : socket->second);
  manager.ready("serves " + where);
  const bool planned = wait_for_end(**controller, signals);
  if (!planned) {
    auto why = (*controller)->failure_reason();
    if (!why.ends_with('.')) why += '.';
    spdlog::critical("quelld ends: {} Nothing that was answered is lost; start it again when the disk is well.", why);
    // Memory and disk can differ: an orderly stop would write memory's view.
    std::_Exit(runtime_error);
  }
  manager.stopping("hands over to the workers");
  (*controller)->stop();
  spdlog::info("quelld has stopped; workers keep their tasks for the handover lease");
  return 0;
}
