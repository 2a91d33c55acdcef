// `quell up`: quelld and its workers as children in the foreground, restarted when they die, stopped in order.
//
// Order of a stop: first everything that runs is cancelled, so that no agent reacts to the end of its tools; then the
// workers stop (SIGTERM: their tasks get their grace, results are sent), then quelld. If this process is killed, the
// kernel sends the children SIGTERM.
#include <signal.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "cli/child.hpp"
#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/join_file.hpp"
#include "cli/signals.hpp"
#include "cli/up_ports.hpp"
#include "cli/url.hpp"

namespace quell::cli {
namespace {

using nlohmann::json;

constexpr milliseconds start_timeout{30'000};
constexpr milliseconds stop_timeout{60'000};
constexpr milliseconds cancel_within{3'000};
constexpr milliseconds kill_timeout{5'000};
constexpr milliseconds link_timeout{3'000};
constexpr milliseconds between_worker_looks{100};
constexpr milliseconds first_pause{500};
constexpr milliseconds most_pause{10'000};

struct member_process {
  child process;
  milliseconds pause = first_pause;
  std::chrono::steady_clock::time_point started{};
};

class up_command {
 public:
  up_command(session& s, const up_options& o) : s_(s), o_(o) {
    state_ = std::filesystem::absolute(state_directories(s.globals.where, s.env).front()).lexically_normal().string();
    while (state_.size() > 1 && state_.ends_with('/')) state_.pop_back();
  }

  exit_code execute() {
    if (auto made = make_directories(); !made) return s_.fail(made.error());
    signal_watch signals(s_.loop, {SIGINT, SIGTERM, SIGHUP, SIGCHLD},
                         [this](int n) { n == SIGCHLD ? reap() : ask_to_stop(); });
    mask_ = signals.mask_before();
    watch_client_file();
    prepare_controller();
    start_member(controller_);
    s_.loop.after(start_timeout, [this] {
      if (!ready_ && !stopping_) fail("quelld was not ready within 30 s; its log is " + controller_.process.log);
    });
    s_.loop.run_until([this] { return over(); });
    if (inotify_ >= 0) ::close(inotify_);
    return code_;
  }

 private:
  answer<bool> make_directories() {
    std::error_code error;
    for (const auto& directory : {state_, state_ + "/logs", state_ + "/workers"}) {
      std::filesystem::create_directories(directory, error);
      if (error)
        return refuse(local_code::local, "the state directory " + directory + " cannot be made: " + error.message() +
                                             "; choose another with --state");
    }
    ::chmod((state_ + "/workers").c_str(), 0700);
    return true;
  }

  void prepare_controller() {
    controller_.process.name = "quelld";
    controller_.process.log = state_ + "/logs/quelld.log";
    // Chosen once, so that a restarted quelld has the same ones.
    ports_ = choose_ports(state_ + "/workers", o_.config, s_.env);
    set_controller_command(o_.listen.value_or("127.0.0.1:7710"));
  }

  void set_controller_command(const std::string& listen) {
    auto& command = controller_.process.command;
    command = {own_directory() + "/quelld", "--state", state_};
    // A config file determines the listening address unless a flag does.
    if (o_.listen || !o_.config) command.insert(command.end(), {"--listen", listen});
    command.insert(command.end(), ports_.flags.begin(), ports_.flags.end());
    if (o_.config) command.insert(command.end(), {"--config", *o_.config});
  }

  // --- quelld becomes ready when it has written client.json
  void watch_client_file() {
    inotify_ = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    ::inotify_add_watch(inotify_, state_.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO);
    s_.loop.watch(inotify_, ready_for::reading, [this] {
      std::array<char, 4096> buffer;
      bool touched = false;
      for (ssize_t n = 0; (n = ::read(inotify_, buffer.data(), buffer.size())) > 0;)
        for (ssize_t at = 0; at < n;) {
          const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
          touched = touched || (event->len > 0 && std::string_view(event->name) == "client.json");
          at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
        }
      if (touched) client_file_written();
    });
  }

  void client_file_written() {
    const auto text = file_text(state_ + "/client.json", 64 * 1024);
    const auto document = json::parse(text.value_or(""), nullptr, false);
    connection c;
    c.url = base_address(text_of(document, "url"));
    c.token = text_of(document, "token");
    c.found_in = state_ + "/client.json";
    c.ca_file = s_.env("QUELL_CA_FILE").value_or("");
    if (c.url.empty() || stopping_) return;
    if (api_ == nullptr || api_->where().url != c.url || api_->where().token != c.token) {
      apis_.push_back(std::make_unique<api>(s_.loop, s_.globals.where, s_.env,
                                            c)); // calls of the previous one can still be in progress
      api_ = apis_.back().get();
    }
    if (ready_) return;
    ready_ = true;
    if (o_.listen && o_.listen->ends_with(":0")) // a restart keeps the port that was chosen
      set_controller_command(o_.listen->substr(0, o_.listen->size() - 1) + c.url.substr(c.url.rfind(':') + 1));
    s_.loop.after(milliseconds{0}, [this] { start_workers(); });
  }

  // --- workers
  void start_workers() {
    auto known = api_->all_pages("/v1/workers?limit=1000", "workers");
    if (!known) return fail(known.error().detail);
    for (int n = 1; static_cast<int>(workers_.size()) < o_.workers && n <= 1000 && !stopping_; ++n) {
      const std::string name = "w" + std::to_string(n);
      auto enrolled = enrol(*api_, *known, name, state_ + "/workers", ports_.ports);
      if (!enrolled) return fail(enrolled.error().detail);
      if (!*enrolled) continue; // a worker that another program enrolled
      auto worker = std::make_unique<member_process>();
      worker->process.name = name;
      worker->process.log = state_ + "/logs/" + name + ".log";
      worker->process.command = {own_directory() + "/quell-worker", "--join-file",
                                 state_ + "/workers/" + name + ".join", "--state", state_ + "/workers/" + name};
      if (o_.slots)
        worker->process.command.insert(worker->process.command.end(), {"--slots", std::to_string(*o_.slots)});
      workers_.push_back(std::move(worker));
    }
    for (auto& worker : workers_)
      if (!stopping_) start_member(*worker);
    join_deadline_ = std::chrono::steady_clock::now() + start_timeout;
    wait_for_workers();
  }

  void wait_for_workers() {
    api_->call("GET", "/v1/workers?limit=1000", nullptr, milliseconds{10'000}, [this](answer<json> list) {
      if (stopping_ || announced_) return;
      std::size_t ready = 0;
      if (list)
        for (const auto& worker : member(*list, "workers"))
          for (const auto& ours : workers_)
            if (text_of(worker, "name") == ours->process.name && text_of(worker, "status") == "ready") ++ready;
      if (ready == workers_.size()) return announce();
      if (std::chrono::steady_clock::now() < join_deadline_) {
        s_.loop.after(between_worker_looks, [this] { wait_for_workers(); });
        return;
      }
      s_.warn("only " + std::to_string(ready) + " of " + std::to_string(workers_.size()) +
              " workers are ready after 30 s; see " + state_ + "/logs");
      announce();
    });
  }

  void announce() {
    announced_ = true;
    if (s_.json()) {
      json names = json::array();
      for (const auto& worker : workers_) names.push_back(worker->process.name);
      return s_.print_line({{"type", "ready"}, {"url", api_->where().url}, {"state", state_}, {"workers", names}});
    }
    // The link signs in once; without it the address and the token of client.json are shown.
    api_->call("POST", "/v1/sessions/links", json::object(), link_timeout, [this](const answer<json>& link) {
      say_ready(link ? api_->where().url + text_of(*link, "path") : api_->where().url);
    });
  }

  void say_ready(const std::string& console) {
    const auto defaults = state_directories(
        {}, [this](const char* name) { return std::string_view(name) == "QUELL_STATE" ? std::nullopt : s_.env(name); });
    const std::string quell = state_ == defaults.front() ? "quell" : "quell --state " + state_;
    s_.print("quell is up at " + api_->where().url + " with " + std::to_string(workers_.size()) +
             " workers; state and logs in " + state_ + "\n" + "Console: " + console + "\n" +
             "Try, in another terminal:\n" + "  " + quell + " run -- sh -c 'echo hello from $QUELL_WORKER'\n" + "  " +
             quell + " ps --tree\n" + "  " + quell + " cancel --scope default\n" + "Ctrl-C stops it all.\n");
    std::fflush(stdout);
  }

  // --- life and death
  void start_member(member_process& m) {
    m.started = std::chrono::steady_clock::now();
    if (auto started = start(m.process, mask_); !started) fail(started.error().detail);
  }

  void reap() {
    for (auto* m : members()) {
      int status = 0;
      if (m->process.pid == 0 || ::waitpid(m->process.pid, &status, WNOHANG) != m->process.pid) continue;
      m->process.pid = 0;
      ended(*m, status);
    }
  }

  void ended(member_process& m, int status) {
    if (stopping_) {
      const bool badly = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
      if (badly && !killed_) s_.warn(m.process.name + " ended with " + ending_text(status));
      return stop_next();
    }
    if (&m == &controller_ && !ready_) {
      show_log(m.process, 5);
      return fail("quelld did not start (" + ending_text(status) + "); its log is " + m.process.log);
    }
    const bool lived = std::chrono::steady_clock::now() - m.started > most_pause;
    m.pause = lived ? first_pause : std::min(m.pause * 2, most_pause);
    s_.warn(m.process.name + " ended with " + ending_text(status) + "; starting it again");
    show_log(m.process, 3);
    s_.loop.after(m.pause, [this, &m] {
      if (!stopping_) start_member(m);
    });
  }

  void show_log(const child& c, std::size_t lines) {
    std::istringstream tail(log_tail(c, lines));
    for (std::string line; std::getline(tail, line);)
      std::fprintf(stderr, "  %s | %s\n", c.name.c_str(), printable(line).c_str());
  }

  void fail(const std::string& why) {
    if (stopping_) return;
    code_ = exit_code::refused;
    s_.say(local_problem(local_code::local, why));
    ask_to_stop();
  }

  // --- stop
  void ask_to_stop() {
    if (!std::exchange(stopping_, true)) {
      s_.hint("stopping; Ctrl-C again kills what runs");
      s_.loop.after(stop_timeout, [this] { kill_all("it did not stop within 60 s"); });
      return cancel_all();
    }
    stop_workers();
    if (std::exchange(hurried_, true)) return kill_all("asked three times");
    for (auto* m : members()) tell(*m, SIGTERM); // a worker's second SIGTERM kills its tasks at once
    s_.loop.after(kill_timeout, [this] { kill_all("it did not stop within 5 s"); });
  }

  void cancel_all() {
    if (api_ == nullptr || controller_.process.pid == 0) return stop_workers();
    const nlohmann::json body = {
        {"everything", true}, {"reason", "quell up ends"}, {"wait", "signalled"}, {"wait_ms", 2000}};
    cancelling_ = api_->call("POST", "/v1/cancels", body, cancel_within,
                             [this](const answer<nlohmann::json>&) { stop_workers(); });
  }

  void stop_workers() {
    if (std::exchange(are_workers_reported_, true)) return;
    for (auto& worker : workers_) tell(*worker, SIGTERM);
    stop_next();
  }

  /// Stops quelld when the last worker is gone.
  void stop_next() {
    if (!are_workers_reported_) return;
    for (const auto& worker : workers_)
      if (worker->process.pid != 0) return;
    if (!std::exchange(is_controller_reported_, true)) tell(controller_, SIGTERM);
  }

  void kill_all(const std::string& why) {
    if (over() || std::exchange(killed_, true)) return;
    s_.warn("killing: " + why);
    code_ = exit_code::refused;
    for (auto* m : members()) tell(*m, SIGKILL);
  }

  static void tell(const member_process& m, int signal) {
    if (m.process.pid != 0) ::kill(m.process.pid, signal);
  }

  bool over() {
    if (!stopping_) return false;
    for (const auto* m : members())
      if (m->process.pid != 0) return false;
    return true;
  }

  std::vector<member_process*> members() {
    std::vector<member_process*> all{&controller_};
    for (auto& worker : workers_) all.push_back(worker.get());
    return all;
  }

  session& s_;
  const up_options& o_;
  std::string state_;
  sigset_t mask_{};
  up_ports ports_;
  member_process controller_;
  std::vector<std::unique_ptr<member_process>> workers_;
  std::vector<std::unique_ptr<api>> apis_;
  api* api_ = nullptr; ///< the latest one
  std::chrono::steady_clock::time_point join_deadline_{};
  int inotify_ = -1;
  exit_code code_ = exit_code::done;
  bool ready_ = false, announced_ = false, stopping_ = false, hurried_ = false, killed_ = false,
       are_workers_reported_ = false, is_controller_reported_ = false;
  event_loop::handle cancelling_{};
};

} // namespace

exit_code execute(session& s, const up_options& o) { return up_command(s, o).execute(); }

} // namespace quell::cli
