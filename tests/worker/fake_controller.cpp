// The controller's half of a session, played by a test.
#include "tests/worker/fake_controller.hpp"

#include <catch2/catch.hpp>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <spawn.h>
#include <sstream>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/patience.hpp"
#include "worker/clocks.hpp"

extern char** environ;

namespace quell::test {

using worker::boot_now;

fake_controller::fake_controller() {
  control_ = std::move(*server_socket::bind({"tcp://127.0.0.1:0", server_keys_}));
  bulk_ = std::move(*server_socket::bind({"tcp://127.0.0.1:0", server_keys_}));
  control_->allow({worker_keys_.public_key});
  bulk_->allow({worker_keys_.public_key});
  const auto nobody = [](std::string_view) {};
  control_thread_ = std::jthread(
      [this, nobody] { control_->run([this](const peer& p, std::string_view b) { control_frame(p, b); }, nobody); });
  bulk_thread_ = std::jthread(
      [this, nobody] { bulk_->run([this](const peer& p, std::string_view b) { bulk_frame(p, b); }, nobody); });
}

fake_controller::~fake_controller() {
  control_->stop();
  bulk_->stop();
}

std::string fake_controller::join_text() const {
  return to_text({"w1",
                  {"tcp://127.0.0.1:" + std::to_string(control_->port())},
                  {"tcp://127.0.0.1:" + std::to_string(bulk_->port())},
                  server_keys_.public_key,
                  worker_keys_.secret_key});
}

void fake_controller::welcoming(bool yes) {
  const std::lock_guard lock(mutex_);
  welcoming_ = yes;
}
void fake_controller::answering_heartbeats(bool yes) {
  const std::lock_guard lock(mutex_);
  answering_ = yes;
}
void fake_controller::storing_results(bool yes) {
  const std::lock_guard lock(mutex_);
  storing_ = yes;
}
void fake_controller::epoch(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  epoch_ = number;
}
void fake_controller::lease(std::chrono::milliseconds length, std::chrono::milliseconds heartbeat) {
  const std::lock_guard lock(mutex_);
  lease_ = length;
  heartbeat_ = heartbeat;
}
session_id fake_controller::session() {
  const std::lock_guard lock(mutex_);
  return session_;
}

void fake_controller::send(wire::message body, std::uint64_t number) {
  control_->send(control_route_, wire::encode(wire::envelope{session_, number, receiver_.ack(), std::move(body)}));
}

void fake_controller::tell(wire::message body) {
  const std::lock_guard lock(mutex_);
  const auto number = sender_.push(body, boot_now());
  send(std::move(body), number);
}

void fake_controller::tell_raw(wire::envelope frame) {
  const std::lock_guard lock(mutex_);
  control_->send(control_route_, wire::encode(frame));
}

void fake_controller::tell_bulk(wire::bulk_message m) {
  const std::lock_guard lock(mutex_);
  bulk_->send(bulk_route_, wire::encode(m));
}

void fake_controller::control_frame(const peer& from, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  auto frame = wire::decode(bytes);
  if (!frame) {
    order.push_back("unreadable: " + frame.error().detail);
    changed_.notify_all();
    return;
  }
  if (const auto* h = std::get_if<wire::hello>(&frame->body)) {
    hellos.push_back(*h);
    order.push_back("hello");
    if (welcoming_) {
      control_route_ = from.route;
      session_ = h->proposed;
      sender_ = channel_sender{};
      receiver_ = channel_receiver{};
      wire::welcome w;
      w.cluster = cluster_;
      w.epoch = epoch_;
      w.worker = "w1";
      w.lease = lease_;
      w.heartbeat = heartbeat_;
      send(w, sender_.push(w, boot_now()));
      wire::results_stored stored;
      for (const auto& r : h->results) {
        messages.emplace_back(r);
        stored.operations.push_back(r.operation);
      }
      if (storing_ && !stored.operations.empty()) send(stored, sender_.push(stored, boot_now()));
    }
  } else if (frame->session == session_) {
    sender_.acknowledged(frame->ack, boot_now());
    order.push_back("ack:" + std::to_string(frame->ack));
    if (const auto* b = std::get_if<wire::worker_heartbeat>(&frame->body)) {
      if (answering_) send(wire::lease_granted{b->beat, lease_}, 0);
    } else if (frame->number != 0 && receiver_.accept(frame->number) == channel_receiver::verdict::deliver) {
      receiver_.applied(frame->number);
      messages.push_back(frame->body);
      if (const auto* e = std::get_if<wire::task_ended>(&frame->body)) {
        order.push_back("ended");
        wire::results_stored stored{{e->operation}};
        if (storing_) send(stored, sender_.push(stored, boot_now()));
      } else if (std::holds_alternative<wire::task_stopping>(frame->body)) {
        order.push_back("stopping");
      } else if (std::holds_alternative<wire::farewell>(frame->body)) {
        ++farewells;
        send(wire::acknowledge{}, 0);
      }
    }
  }
  changed_.notify_all();
}

void fake_controller::bulk_frame(const peer& from, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  auto m = wire::decode_bulk(bytes);
  if (!m) return;
  if (std::holds_alternative<wire::bulk_hello>(*m)) {
    bulk_route_ = from.route;
    ++bulk_links;
  } else if (const auto* o = std::get_if<wire::output>(&*m)) {
    auto& text = output[{o->operation, o->which}];
    if (o->offset <= text.size()) {
      if (o->offset + o->bytes.size() > text.size()) text += o->bytes.substr(text.size() - o->offset);
    } else {
      text.resize(o->offset, '?'); // a hole: dropped bytes
      text += o->bytes;
    }
    if (o->end) output_ended[{o->operation, o->which}] = true;
    if (acknowledging_output)
      bulk_->send(bulk_route_,
                  wire::encode(wire::bulk_message{wire::output_ack{o->operation, o->which, text.size(), false}}));
  }
  bulk.push_back(std::move(*m));
  changed_.notify_all();
}

bool fake_controller::until(const std::function<bool()>& test, std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, testing::patient(limit), test);
}

wire::task_ended fake_controller::ended(const operation_id& operation, std::chrono::milliseconds limit) {
  if (!until([&] { return find<wire::task_ended>(operation) != nullptr; }, limit))
    FAIL("waited in vain for the end of task " << operation.text() << " through " << see([&] { return hellos.size(); })
                                               << " sessions");
  return see([&] { return *find<wire::task_ended>(operation); });
}

std::string worker_process::binary() {
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const auto& folder : {here / "../bin", here / "bin", here})
    if (std::filesystem::exists(folder / "quell-worker")) return (folder / "quell-worker").lexically_normal().string();
  return "quell-worker";
}

worker_process::worker_process(std::vector<std::string> arguments, std::map<std::string, std::string> environment) {
  char name[] = "/tmp/quell-worker-log-XXXXXX";
  const int log = ::mkstemp(name);
  log_file_ = name;
  arguments.insert(arguments.begin(), binary());
  std::vector<char*> argv, envp;
  for (auto& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  std::vector<std::string> variables;
  for (char** e = environ; *e; ++e) variables.emplace_back(*e);
  for (auto& [k, v] : environment) variables.push_back(k + "=" + v);
  for (auto& v : variables) envp.push_back(v.data());
  envp.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, log, 2);
  posix_spawn_file_actions_adddup2(&actions, log, 1);
  REQUIRE(::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), envp.data()) == 0);
  posix_spawn_file_actions_destroy(&actions);
  ::close(log);
}

worker_process::~worker_process() {
  if (code_ < 0) {
    ::kill(pid_, SIGCONT);
    ::kill(pid_, SIGTERM);
    if (wait() < 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  std::filesystem::remove(log_file_);
}

void worker_process::signal(int number) const { ::kill(pid_, number); }

int worker_process::wait(std::chrono::milliseconds limit) {
  if (code_ >= 0) return code_;
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  pollfd wait{fd, POLLIN, 0};
  const bool over = ::poll(&wait, 1, static_cast<int>(testing::patient(limit).count())) == 1;
  ::close(fd);
  if (!over) return -1;
  int status = 0;
  ::waitpid(pid_, &status, 0);
  code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return code_;
}

std::string worker_process::log() const {
  std::ifstream file(log_file_);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

scratch_directory::scratch_directory() {
  char name[] = "/tmp/quell-test-XXXXXX";
  path = ::mkdtemp(name);
}
scratch_directory::~scratch_directory() { std::filesystem::remove_all(path); }

} // namespace quell::test
