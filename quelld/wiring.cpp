// Starts from the bottom (store, sockets, actor, gateway) and stops from the top.
#include "quelld/wiring.hpp"

#include <caf/actor_system.hpp>
#include <caf/send.hpp>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>

#include "actors/chat/chat_host.hpp"
#include "actors/controller_actor.hpp"
#include "actors/frame_queues.hpp"
#include "actors/scheduler_actors.hpp"
#include "actors/supervisor_actor.hpp"
#include "gateway/server.hpp"
#include "gateway/tokens.hpp"
#include "gateway/webhooks/start.hpp"
#include "integrations/host/log_rate_limiter.hpp"
#include "protocol/codec.hpp"
#include "quelld/actor_config.hpp"
#include "quelld/advertised.hpp"
#include "quelld/chat/connectors.hpp"
#include "quelld/chat/memory_file.hpp"
#include "quelld/hand_over.hpp"
#include "quelld/options.hpp"
#include "quelld/own_key.hpp"
#include "quelld/real_edges.hpp"
#include "quelld/recovered_core.hpp"
#include "quelld/retention.hpp"
#include "quelld/running_configuration.hpp"
#include "quelld/secrets.hpp"
#include "quelld/state_mark.hpp"
#include "quelld/token_callers.hpp"
#include "storage/audit.hpp"
#include "storage/queries.hpp"

namespace quell::controller {

namespace {

class process final : public controller_process {
 public:
  explicit process(options o)
      : options_(std::move(o)), configuration_(options_.configuration, options_.load),
        failure_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~process() override {
    stop();
    ::close(failure_fd_);
  }

  result<void> run();
  std::string url() const override { return url_; }
  std::string state_directory() const override { return options_.configuration.settings.store_dir; }
  int failure_descriptor() const override { return failure_fd_; }
  std::string failure_reason() const override {
    std::lock_guard lock(mutex_);
    return failure_reason_;
  }
  int reload_descriptor() const override { return configuration_.descriptor(); }
  void reload() override { configuration_.reload(*scheduler_); }
  void stop() override;

 private:
  result<void> open_store();
  result<void> open_sockets();
  result<void> start_actor();
  result<void> start_scheduler();
  result<void> start_chats();
  result<void> start_voice();
  result<void> start_gateway();
  void control_frame(const peer& from, std::string_view bytes);

  options options_;
  running_configuration configuration_;
  int failure_fd_;
  mutable std::mutex mutex_;
  std::string failure_reason_, url_;
  bool stopped_ = false;
  std::unique_ptr<storage::journal> journal_;
  std::unique_ptr<blob_files> blobs_;
  std::unique_ptr<kept_byte_quota> bytes_;
  records::recovered_state recovered_;
  std::vector<records::token_record> tokens_;
  bool has_live_calls_ = true;
  state_secrets secrets_;
  std::unique_ptr<server_socket> control_;
  std::unique_ptr<bulk_server> bulk_;
  real_edges edges_;
  actor_config actor_config_;
  std::unique_ptr<caf::actor_system> system_;
  std::promise<actors::controller_actor> handle_promise_;
  std::shared_future<actors::controller_actor> handle_future_{handle_promise_.get_future()};
  actors::controller_actor handle_;
  actors::supervisor_actor agents_; ///< the parent of all agents; its end comes when the core can start no more
  std::unique_ptr<service> service_;
  std::shared_ptr<controller_handle> controller_handle_ = std::make_shared<controller_handle>();
  std::unique_ptr<turns::turn_scheduler> scheduler_;
  std::unique_ptr<integrations::chat::host> chat_host_;
  std::unique_ptr<chat::connectors> chats_;
  std::unique_ptr<voice::voice_host> voice_;
  std::unique_ptr<webhooks::outgoing> webhooks_;
  std::unique_ptr<gateway> gateway_;
  std::unique_ptr<retention> retention_;
  frame_queues queues_; // used only by the control socket's thread, like the next three
  peer_budgets frame_budgets_{{400'000, 50'000}};
  peer_budgets byte_budgets_{{128 << 20, 16 << 20}};
  log_rate_limiter log_;
  std::jthread control_thread_;
};

result<void> process::open_store() {
  const auto& s = options_.configuration.settings;
  storage::journal::options o{.directory = s.store_dir, .reserve_bytes = s.store_reserve_bytes};
  o.keep_events = s.store_keep_events;
  o.origin = options_.origin;
  o.ordered_terminal_writes = true;
  o.changes = edges_.changes;
  auto opened = storage::journal::open(o);
  if (!opened) return tl::unexpected(opened.error());
  journal_ = std::move(*opened);
  if (auto kept = storage::keep_audit(s.store_dir, s.store_keep_audit); !kept) return kept;
  recovered_ = journal_->take_recovered();
  tokens_ = recovered_.tokens;
  if (auto done = open_blobs(s).map([this](auto blobs) { blobs_ = std::move(blobs); }); !done) return done;
  bytes_ = std::make_unique<kept_byte_quota>(byte_options_of(s));
  auto secrets = load_secrets(s.store_dir);
  if (!secrets) return tl::unexpected(secrets.error());
  secrets_ = std::move(*secrets);
  mark_state(s.store_dir);
  return {};
}

result<void> process::open_sockets() {
  const auto& s = options_.configuration.settings;
  auto control =
      server_socket::bind({.endpoint = endpoint_of(s.workers_listen), .keys = secrets_.curve, .io = urgency::urgent});
  if (!control)
    return failure(control.error().code, "workers.listen " + s.workers_listen + ": " + control.error().detail);
  control_ = std::move(*control);
  auto bulk = server_socket::bind({endpoint_of(s.workers_output_listen), secrets_.curve});
  if (!bulk)
    return failure(bulk.error().code, "workers.output_listen " + s.workers_output_listen + ": " + bulk.error().detail);
  bulk_ = std::make_unique<bulk_server>(
      std::move(*bulk), output_options_of(s, storage::output_folder), s.store_dir + "/http.sock",
      [this](std::string key, session_id session, std::function<void(std::optional<std::string>)> answer) {
        caf::anon_send(handle_future_.get(), actors::ask_core{[=](const commit_gate& c, moment) {
                         answer(c.workers().session_of_key(key) == session ? c.workers().name_of_key(key)
                                                                           : std::nullopt);
                         return std::function<void()>(); // waits for no commit
                       }});
      });
  return {};
}

void process::control_frame(const peer& from, std::string_view bytes) {
  const auto now = clock_now().boot;
  actors::arrived_frame f{from.route, from.public_key, {}, now, 0};
  const auto drop = [&](const std::string& why) {
    log_.warn(from.public_key, "control frame of key " + from.public_key + " dropped: " + why, now);
  };
  // Before the frame is parsed: dropping one must cost next to nothing. A numbered frame will be sent again.
  if (!frame_budgets_.take(from.public_key, 1, now) ||
      !byte_budgets_.take(from.public_key, static_cast<double>(bytes.size()), now))
    return drop("it sends more than any worker needs to");
  auto decoded = wire::decode(bytes);
  if (decoded) {
    f.content = std::move(*decoded);
    if (const auto* hello = std::get_if<wire::hello>(&f.content.body);
        hello && hello->version != wire::protocol_version)
      f.unsupported_version = hello->version;
  } else if (const auto version = wire::hello_version(bytes); version && *version != wire::protocol_version) {
    f.unsupported_version = *version;
  } else {
    return drop(decoded.error().detail);
  }
  auto queue = queues_.of(from.public_key);
  switch (queue->put(std::move(f), bytes.size())) {
  case actors::frame_queue::outcome::announce:
    return caf::anon_send(handle_, actors::frames_arrived{std::move(queue)});
  case actors::frame_queue::outcome::queued:
    return;
  case actors::frame_queue::outcome::full:
    return drop("32 MiB of its frames wait already");
  }
}

result<void> process::start_actor() {
  edges_.journal = journal_.get();
  edges_.control = control_.get();
  edges_.bulk = bulk_.get();
  edges_.secret_key = secrets_.task_token_key;
  edges_.on_failure = [this](const fault& why) {
    {
      std::lock_guard lock(mutex_);
      if (failure_reason_.empty()) failure_reason_ = why.detail;
    }
    ::eventfd_write(failure_fd_, 1);
  };
  journal_->on_commit([this, future = handle_future_](const storage::journal::commit_notice& n) {
    edges_.meter.noticed(n.ticket, n.failure.has_value(), clock_now().boot);
    actors::batch_committed m{n.ticket, n.failure.has_value(), {}, {}};
    if (n.failure) {
      m.code = n.failure->code;
      m.detail = n.failure->detail;
    }
    caf::anon_send(future.get(), std::move(m));
  });
  const auto& s = options_.configuration.settings;
  commit_gate_settings c;
  set_options(c.ledger, s);
  c.ledger.costs = options_.configuration.turns.costs;
  c.ledger.max_slots_of_guilds = turns::slots_of_guilds(options_.configuration.turns.chat);
  c.ledger.worker_lease = s.workers_lease;
  c.ledger.longest_lease = std::max(s.workers_lease, s.workers_handover);
  c.fleet = {s.workers_heartbeat, s.workers_lease, s.workers_handover};
  c.token_for = [key = secrets_.task_token_key](const operation_id& id) { return mint_task_token(id, key); };
  const auto [cluster, epoch] = std::pair(recovered_.cluster, recovered_.epoch);
  auto recovered = recover_core(c, std::move(recovered_), edges_, s.store_dir);
  if (!recovered) return tl::unexpected(recovered.error());
  has_live_calls_ = has_live_calls(**recovered);
  auto gate = std::make_shared<std::unique_ptr<commit_gate>>(std::move(*recovered));
  system_ = std::make_unique<caf::actor_system>(actor_config_);
  system_->await_actors_before_shutdown(false); // an agent that starts in the last moment must not delay the end
  handle_ = spawn_controller(*system_, edges_.activity, [gate](moment) { return std::move(*gate); });
  service_ = make_service(
      handle_, [j = journal_.get()] { return j->is_low(); }, cluster, epoch);
  edges_.front = service_.get();
  handle_promise_.set_value(handle_); // now notices of commits come, and what they release has somewhere to go
  control_thread_ = std::jthread([this] {
    (void)become_urgent();
    control_->run([this](const peer& from, std::string_view bytes) { control_frame(from, bytes); },
                  [this](std::string_view key) {
                    // Strangers can use ever new keys, so all of them together count as one peer.
                    log_.warn("strangers",
                              "connection refused: key " + std::string(key) + " is not enrolled (`quell worker add`)",
                              clock_now().boot);
                  });
  });
  return {};
}

result<void> process::start_scheduler() {
  controller_handle_->to = handle_;
  turns::turn_scheduler_options o;
  o.state_directory = options_.configuration.settings.store_dir;
  o.secret_key = secrets_.task_token_key;
  o.has_live_calls = has_live_calls_;
  o.open_store = [directory = options_.configuration.settings.store_dir] { return storage::open_reader(directory); };
  o.settings = options_.configuration.turns;
  o.output = bulk_.get();
  o.blobs = blobs_.get();
  o.core = link_over(controller_handle_, *journal_);
  agents_ = actors::spawn_supervisor(*system_, handle_);
  actors::use_actors(*system_, agents_, o);
  o.tell_live = [this](const records::event_record& e) { edges_.show(e); };
  auto started = turns::turn_scheduler::start(std::move(o));
  if (!started) return tl::unexpected(started.error());
  scheduler_ = std::move(*started);
  edges_.turn_scheduler = scheduler_.get();
  return {};
}

/// Before the gateway, so that nothing calls a service that does not exist yet; their events are buffered until then.
result<void> process::start_chats() {
  chat_host_ = chat::make_host(*service_, *scheduler_, {bytes_.get(), stops_in_a_place(configuration_.words())});
  const chat::connector_tools tools{*chat_host_, stops_somewhere(configuration_.words()),
                                    [](const std::string& sentence) { spdlog::info("chat: {}", sentence); },
                                    chat::memories_in(options_.configuration.settings.store_dir)};
  auto started = chat::connectors::start(options_.configuration.chats, tools);
  if (!started) return tl::unexpected(started.error());
  chats_ = std::move(*started);
  edges_.chats.open([all = chats_.get()](const records::event_record& e) { all->on_event(e); });
  return {};
}

result<void> process::start_voice() {
  if (!options_.configuration.voice.is_on()) return {};
  const auto& s = options_.configuration.settings;
  auto started = voice::voice_host::start(
      {options_.configuration.voice,
       [directory = s.store_dir](const std::string& secret) { return conversing_caller(secret, directory); },
       s.http_tls_cert, s.http_tls_key, s.http_insecure},
      *scheduler_);
  if (!started) return tl::unexpected(started.error());
  edges_.voice = (voice_ = std::move(*started)).get();
  return {};
}

result<void> process::start_gateway() {
  const auto& s = options_.configuration.settings;
  gateway_options g;
  set_options(g, s);
  edges_.measure(g);
  g.admin_token = secrets_.admin_token;
  g.task_token_key = secrets_.task_token_key;
  g.tokens = tokens_;
  g.version = options_.version;
  g.commit = options_.commit;
  g.started_at = clock_now().wall;
  g.is_stop_word = stops_in_a_place(configuration_.words());
  g.control_endpoints = {advertised(s.workers_listen, s.workers_advertise_host, control_->port())};
  g.bulk_endpoints = {advertised(s.workers_output_listen, s.workers_advertise_host, bulk_->socket().port())};
  g.server_public_key = secrets_.curve.public_key;
  const auto keys = std::make_shared<own_key>(
      s.store_dir, secrets_.curve.public_key, *control_, bulk_->socket(),
      [this](command_request&& what) { caf::anon_send(handle_, actors::posted(std::move(what))); });
  g.look_at_keys = [keys] { return keys->look(); };
  g.turns = scheduler_.get();
  g.blobs = blobs_.get();
  g.bytes = bytes_.get();
  g.configuration = [this] { return configuration_.printed(); };
  g.reload = [this](auto done) { configuration_.ask_for_reload(std::move(done)); };
  g.chat_services = [this] { return chats_->states(); };
  g.chat = [this](const std::string& name, integrations::chat::web_call call,
                  std::function<void(integrations::chat::web_answer)> done) {
    return chats_->called(name, std::move(call), std::move(done));
  };
  auto started = gateway::start(std::move(g), *service_, *bulk_);
  if (!started) return failure(started.error().code, "http.listen " + s.http_listen + ": " + started.error().detail);
  gateway_ = std::move(*started);
  if (s.store_keep_operations.count() > 0) {
    auto old = retention::start({s.store_dir, s.store_keep_operations}, *service_, *bulk_);
    if (!old) return tl::unexpected(old.error());
    retention_ = std::move(*old);
  }
  url_ = s.http_advertise_url.empty() ? gateway_->url() : s.http_advertise_url;
  nlohmann::json client = {{"url", url_}, {"token", secrets_.admin_token}};
  if (voice_) client["voice"] = voice_->address();
  return write_private_file(s.store_dir + "/client.json", client.dump() + "\n");
}

result<void> process::run() {
  if (auto r = open_store(); !r) return r;
  if (auto r = open_sockets(); !r) return r;
  if (auto r = start_actor(); !r) return r;
  if (auto r = start_scheduler(); !r) return r;
  if (auto r = start_chats(); !r) return r;
  if (auto r = start_voice(); !r) return r;
  if (auto r = start_gateway(); !r) return r;
  const auto& c = options_.configuration;
  auto webhooks = webhooks::start_over(*gateway_, c.chats.outgoing, c.settings.store_dir, open_store_of(c.settings));
  if (!webhooks) return tl::unexpected(webhooks.error());
  webhooks_ = std::move(*webhooks);
  edges_.webhooks = webhooks_.get();
  return {};
}

void process::stop() {
  if (std::exchange(stopped_, true)) return;
  configuration_.close();
  if (handle_) hand_over(handle_); // frames leave after their commit; then the front ends close
  retention_.reset();
  if (gateway_) gateway_->stop();
  if (webhooks_) webhooks_->stop();
  if (voice_) voice_->stop();
  edges_.chats.close();
  if (chats_) chats_->stop();
  if (scheduler_) scheduler_->stop();
  if (blobs_) blobs_->close();
  {
    const std::lock_guard lock(controller_handle_->guard);
    controller_handle_->to = nullptr;
  }
  if (control_) control_->stop();
  if (control_thread_.joinable()) control_thread_.join();
  edges_.front = nullptr;
  if (journal_) journal_->close();
  if (handle_) end_actor(*system_, handle_);
  if (agents_) end_actor(*system_, agents_);
  // The system waits for the actor's thread, which ends with the last handle: the handles in the journal's notice and
  // in the service must go first.
  gateway_.reset();
  edges_.voice = nullptr;
  voice_.reset();
  chats_.reset();
  chat_host_.reset();
  service_.reset();
  journal_.reset();
  handle_ = nullptr;
  handle_promise_ = {};
  handle_future_ = {};
  bulk_.reset();
  system_.reset();
  edges_.turn_scheduler = nullptr;
  scheduler_.reset();
}

} // namespace

result<std::unique_ptr<controller_process>> controller_process::start(options o) {
  auto p = std::make_unique<process>(std::move(o));
  if (auto running = p->run(); !running) return tl::unexpected(running.error());
  return p;
}

} // namespace quell::controller
