// Clients from their first frame on, and the path from the controller's thread to the sessions.
#include "actors/voice/voice_host.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <list>

#include "actors/voice/brains.hpp"
#include "actors/voice/own_brain.hpp"
#include "actors/voice/session.hpp"

namespace quell::controller::voice {

namespace voices = integrations::voice;

namespace {

using namespace std::chrono_literals;
constexpr auto hello_timeout = 10s, token_look_interval = 1s;

bool is_loopback_address(const std::string& listen) {
  return listen.starts_with("127.") || listen.starts_with("localhost:") || listen.starts_with("[::1]:");
}

class real_voice_host final : public voice_host {
 public:
  explicit real_voice_host(voice_context_ref house) : context_(std::move(house)) {}
  ~real_voice_host() override { stop(); }

  result<void> open(const voice_options& o) {
    voices::listening_place clients{
        o.settings.listen,  voices::direction::client_to_gateway,
        o.tls_cert,         o.tls_key,
        o.settings.clients, [](const std::string& sentence) { spdlog::warn("{}", sentence); }};
    const auto port = context_->loop->listen(
        clients, [this](std::shared_ptr<voices::frame_link> link) { client_came(std::move(link)); });
    if (!port) return failure(port.error().code, "voice.listen " + o.settings.listen + ": " + port.error().detail);
    address_ = o.settings.listen.substr(0, o.settings.listen.rfind(':') + 1) + std::to_string(*port);
    if (o.settings.brain == "builtin") return {};
    const voices::listening_place programs{
        o.settings.brain, voices::direction::brain_to_gateway, {}, {}, o.settings.clients, {}};
    const auto door = context_->loop->listen(
        programs, [brains = brains_](std::shared_ptr<voices::frame_link> link) { brains->came(std::move(link)); });
    if (!door) return failure(door.error().code, "voice.brain: " + door.error().detail);
    return {};
  }

  std::string address() const override { return address_; }

  void signal(const actor_signal& s) override {
    context_->loop->post([exchanges = context_->exchanges, id = s.operation] { exchanges->signalled(id); });
  }

  void on_event(const records::event_record& e) override {
    if (!e.scope || (e.type != event_type::turn_complete && e.type != event_type::turn_abort &&
                     e.type != event_type::approval_required && e.type != event_type::acknowledgement))
      return;
    context_->loop->post([this, e] {
      const auto all = sessions_; // a session can end during the loop
      for (const auto& s : all)
        if (s->scope().text() == e.scope->text()) s->on_event(e);
    });
  }

  void stop() override {
    if (std::exchange(is_stopped_, true)) return;
    context_->loop->stop([this] { say_farewell(); });
    sessions_.clear();
  }

 private:
  struct guest {
    std::shared_ptr<voices::frame_link> link;
    std::string id = operation_id::fresh().text();
    std::shared_ptr<session> in{};
  };
  void say_farewell();
  void client_came(std::shared_ptr<voices::frame_link> link);
  void first_frame(const std::shared_ptr<guest>& g, const voices::frame& f);
  void refuse(const std::shared_ptr<guest>& g, const fault& why);
  bool has_room_for(const speaker& who) const;
  void look_at_token(const std::weak_ptr<guest>& whose, const std::string& token);

  const voice_context_ref context_;
  const std::shared_ptr<brains> brains_ = std::make_shared<brains>();
  std::list<std::shared_ptr<session>> sessions_;
  std::list<std::weak_ptr<guest>> guests_; ///< all connections, and some that have ended
  std::string address_;
  bool is_stopped_ = false;
  bool is_parting_ = false; ///< only used on the loop's thread
};

/// Each client gets the ends of its answers, and the reason.
void real_voice_host::say_farewell() {
  const fault why = coded_fault{error_code::shutting_down, "quelld is stopping; come again when it is back"};
  is_parting_ = true;
  for (const auto& one : std::exchange(guests_, {}))
    if (const auto g = one.lock()) g->in ? g->in->shut_down(why) : refuse(g, why);
  brains_->shut_down(why);
}

/// A client that may omit the hello is ready at once, any other client after its hello.
void real_voice_host::client_came(std::shared_ptr<voices::frame_link> link) {
  auto g = std::make_shared<guest>();
  g->link = link;
  if (is_parting_) return g->link->close();
  std::erase_if(guests_, [](const auto& one) { return one.expired(); });
  guests_.push_back(g);
  link->begin({[this, g](const voices::frame& f) { g->in ? g->in->on_client_message(f) : first_frame(g, f); },
               [this, g](const fault& why) { g->in ? g->in->client_broke(why) : refuse(g, why); },
               [g] { g->in ? g->in->client_gone() : g->link->close(); }});
  if (link->is_loopback()) return link->send({voices::tag::ready, {}});
  context_->loop->after(hello_timeout, [this, weak = std::weak_ptr(g)] {
    if (const auto late = weak.lock(); late && !late->in)
      refuse(late, {"unauthorized", "no hello came within 10 s", {}});
  });
}

void real_voice_host::refuse(const std::shared_ptr<guest>& g, const fault& why) {
  g->link->send({voices::tag::error, voices::error_json(why.code, why.detail)});
  g->link->close();
}

/// One token must not take the places of all others.
bool real_voice_host::has_room_for(const speaker& who) const {
  const auto talking = std::count_if(sessions_.begin(), sessions_.end(),
                                     [&](const auto& one) { return one->token_id() == who.by.token_id; });
  return static_cast<std::size_t>(talking) < context_->settings.clients_per_token;
}

void real_voice_host::first_frame(const std::shared_ptr<guest>& g, const voices::frame& f) {
  const bool is_hello = f.tag == voices::tag::hello;
  if (!is_hello && !g->link->is_loopback())
    return refuse(g, {"unauthorized", "the first frame from another machine is a hello with a token", {}});
  auto who = is_hello ? speaker_of(f.payload, context_->settings, context_->caller_of, g->id, g->link->is_loopback())
                      : result<speaker>(nobody_in_particular(context_->settings, g->id));
  if (!who) return refuse(g, who.error());
  if (!has_room_for(*who))
    return refuse(g, {"too_many_clients",
                      "as many clients talk with this token as may (voice.clients_per_token = " +
                          std::to_string(context_->settings.clients_per_token) + "); end one, or use another token",
                      {}});
  const bool is_builtin = context_->settings.brain == "builtin";
  auto brain = is_builtin ? own_brain(context_, *who) : result<std::shared_ptr<brain_port>>(brains_->take_one());
  if (!brain) return refuse(g, brain.error());
  if (!*brain)
    return refuse(g,
                  {"no_brain",
                   brains_->count() == 0 ? "no brain is connected; start one that speaks at " + context_->settings.brain
                                         : "every brain is talking to somebody; come again",
                   {}});
  spdlog::info("voice {}: {} talks in scope {}", g->id, who->author.id, who->scope.text());
  if (!g->link->is_loopback()) g->link->send({voices::tag::ready, {}});
  g->in = std::make_shared<session>(context_, g->id, *who, g->link, std::move(*brain),
                                    [this, id = g->id](const std::shared_ptr<session>& s) {
                                      spdlog::info("voice {}: over", id);
                                      sessions_.remove(s);
                                    });
  sessions_.push_back(g->in);
  g->in->begin();
  if (!who->token.empty()) look_at_token(g, who->token);
  if (!is_hello) g->in->on_client_message(f);
}

/// A conversation ends with its token, within about a second. The store is read elsewhere, so that no frame waits.
void real_voice_host::look_at_token(const std::weak_ptr<guest>& whose, const std::string& token) {
  context_->loop->after(token_look_interval, [this, whose, token] {
    if (whose.expired()) return;
    context_->work->background_reads->run([this, context = context_, whose, token](controller::store_reader&) {
      const auto by = context->caller_of(token);
      context->loop->post([this, whose, token, why = by ? std::nullopt : std::optional(by.error())] {
        const auto g = whose.lock();
        if (!g) return;
        if (!why || why->code != "unauthorized") return look_at_token(whose, token);
        spdlog::info("voice {}: ends with its token", g->id);
        if (g->in) g->in->client_broke(*why);
      });
    });
  });
}

} // namespace

result<std::unique_ptr<voice_host>> voice_host::start(voice_options o, turns::turn_scheduler& turn_scheduler) {
  if (o.tls_cert.empty() && !o.insecure && !is_loopback_address(o.settings.listen))
    return failure("insecure_listen", "voice.listen " + o.settings.listen +
                                          " is reachable from other machines and has no TLS; set http.tls_cert and "
                                          "http.tls_key, or allow it with --insecure");
  return start_on(voices::voice_loop::start(), std::move(o), turn_scheduler);
}

result<std::unique_ptr<voice_host>> voice_host::start_on(std::shared_ptr<voices::voice_loop> loop, voice_options o,
                                                         turns::turn_scheduler& turn_scheduler) {
  auto house = std::make_shared<voice_context>(
      voice_context{o.settings, o.caller_of, turn_scheduler, turn_scheduler.runtime(), std::move(loop), nullptr});
  house->exchanges = std::make_shared<exchange_table>(house);
  auto made = std::make_unique<real_voice_host>(std::move(house));
  if (auto opened = made->open(o); !opened) return tl::unexpected(opened.error());
  return made;
}

} // namespace quell::controller::voice
