// Runs a session over Asio: dialling, TLS, reading, writing, timers, and an orderly shutdown.
#include "integrations/chat/service_link.hpp"

#include <utility>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "integrations/chat/backoff.hpp"
#include "integrations/chat/link_changes.hpp"
#include "integrations/chat/missed_events.hpp"
#include "integrations/chat/notebook.hpp"
#include "integrations/chat/web.hpp"

namespace quell::integrations::chat {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using stream = asio::ssl::stream<tcp::socket>;
using link_io_error = boost::system::error_code;

constexpr std::size_t most_unsent_bytes = 1 << 20, most_events_waiting = 100'000;
constexpr std::chrono::milliseconds farewell_timeout{500};

/// The certificate error, which Asio's own message leaves out.
std::string tls_error(const link_io_error& error, stream& s) {
  if (const auto verified = SSL_get_verify_result(s.native_handle()); verified != X509_V_OK)
    return std::string("the certificate is not accepted: ") + X509_verify_cert_error_string(verified) +
           " (an own authority is named by tls_ca)";
  return error.message();
}

} // namespace

struct service_link::implementation : std::enable_shared_from_this<service_link::implementation> {
  implementation(std::string name, link_settings s, std::unique_ptr<service_session> speaker, host& h,
                 std::function<void(const std::string&)> l, memory remembers)
      : name(std::move(name)), settings(std::move(s)), session(std::move(speaker)), at(h), log(std::move(l)),
        missed({h, this->name, [this] { return runner(); },
                [this](const event& e) { session->on_event(e, web_loop::now()); },
                [this](std::uint64_t newest, bool is_whole) {
                  session->events_are_complete(newest, is_whole, web_loop::now());
                },
                [this](const operation_id& which, std::optional<status> how) {
                  session->looked(which, how, web_loop::now());
                },
                [this](const std::string& sentence) { tell(sentence); }}),
        changes(
            h, settings.changes, [this] { return runner(); },
            [this](const operation_id& turn) { session->drop(turn, web_loop::now()); },
            [this](const std::string& sentence) { tell(sentence); }),
        notes(std::move(remembers)), io(1), tls(asio::ssl::context::tls_client), wake(io), deadline(io), pause(io),
        missing(io), waits(settings.retry_first, settings.retry_most), random(std::random_device{}()) {}

  result<void> prepare() {
    if (!settings.tls) return {};
    link_io_error error;
    tls.set_options(
        asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1, error);
    tls.set_verify_mode(asio::ssl::verify_peer, error);
    if (settings.tls_ca.empty())
      tls.set_default_verify_paths(error);
    else
      tls.load_verify_file(settings.tls_ca, error);
    if (error)
      return failure(error_code::invalid_field,
                     name + ": tls_ca " + settings.tls_ca + " cannot be used: " + error.message());
    if (settings.tls_cert.empty()) return {};
    tls.use_certificate_chain_file(settings.tls_cert, error);
    if (!error) tls.use_private_key_file(settings.tls_key, asio::ssl::context::pem, error);
    if (error)
      return failure(error_code::invalid_field, name + ": tls_cert " + settings.tls_cert + " and tls_key " +
                                                    settings.tls_key + " cannot be used: " + error.message());
    return {};
  }

  /// From any thread to the link's thread, if it still exists. Queued work does not keep the link alive.
  template <class Work>
  static void hand_over(const std::weak_ptr<implementation>& weak, Work work) {
    const auto self = weak.lock();
    if (!self) return;
    asio::post(self->io, [weak, work = std::move(work)] {
      const auto it = weak.lock();
      if (!it || it->is_stopping) return;
      work(*it);
      it->flush();
    });
  }

  // ---- on the link's thread ----------------------------------------------------------------------------------------
  // Performs the session's requests after each call of it.
  void flush() {
    if (is_stopping) return;
    for (auto& h : session->take_received()) {
      changes.handed_over(h);
      at.say(std::move(h.message), [weak = weak_from_this(), mark = h.mark, key = h.key](result<decision> what) {
        hand_over(weak, [mark, key, what = std::move(what)](implementation& c) {
          c.session->decided(mark, what, web_loop::now());
          c.changes.decided(key, what);
        });
      });
    }
    changes.perform(session->take_changes());
    for (auto& a : session->approvals())
      at.approve(std::move(a.order), [weak = weak_from_this(), mark = a.mark](result<void> what) {
        hand_over(weak, [mark, what = std::move(what)](implementation& c) {
          c.session->approved(mark, what, web_loop::now());
        });
      });
    if (is_open) {
      unsent += session->to_send();
      if (session->is_up()) waits.worked();
      write();
      if (auto disconnect = session->disconnect_wanted()) cut(std::move(*disconnect));
      if (unsent.size() > most_unsent_bytes) cut({"the server does not take what is sent to it", redial::soon});
    }
    show(is_open ? session->state() : std::string());
    auto due = session->due();
    const auto write_at = notes.keep(session->version(), web_loop::now(), [this] { return session->to_keep(); });
    if (write_at && (!due || *write_at < *due)) due = write_at;
    if (!due) return;
    wake.expires_after(std::max(*due - web_loop::now(), std::chrono::nanoseconds(1'000'000)));
    wake.async_wait([self = shared_from_this()](const link_io_error& error) {
      if (error || self->is_stopping) return;
      self->session->tick(web_loop::now());
      self->flush();
    });
  }

  void cut(disconnect_request disconnect) {
    if (!reason) reason = std::move(disconnect);
    close();
  }

  void close() {
    link_io_error ignored;
    if (socket) socket->lowest_layer().close(ignored);
  }

  void write() {
    if (is_writing || unsent.empty() || !is_open) return;
    is_writing = true;
    const auto sending = std::make_shared<const std::string>(std::exchange(unsent, {}));
    const auto done = [self = shared_from_this(), of = socket, sending](const link_io_error& error, std::size_t) {
      if (self->socket != of) return; // belongs to an old connection
      self->is_writing = false;
      if (error) return self->close(); // the reader reports the reason
      if (self->is_stopping && self->unsent.empty()) return self->close();
      self->write();
    };
    if (settings.tls)
      asio::async_write(*socket, asio::buffer(*sending), done);
    else
      asio::async_write(socket->next_layer(), asio::buffer(*sending), done);
  }

  /// Closes the socket if the current step takes too long.
  void set_deadline(const char* what) {
    deadline.expires_after(settings.connect_timeout);
    deadline.async_wait([self = shared_from_this(), of = socket, what](const link_io_error& error) {
      if (error || self->socket != of) return;
      self->cut(
          {std::string(what) + " takes longer than " + std::to_string(self->settings.connect_timeout.count()) + " ms",
           redial::soon});
    });
  }

  asio::awaitable<std::string> dial() {
    link_io_error error;
    auto to = asio::redirect_error(asio::use_awaitable, error);
    const auto place = settings.host + ":" + std::to_string(settings.port);
    tcp::resolver resolver(io);
    set_deadline("finding the server's address");
    const auto found = co_await resolver.async_resolve(settings.host, std::to_string(settings.port), to);
    if (error) co_return "cannot find " + settings.host + ": " + error.message();
    if (reason || is_stopping) co_return std::string("given up");
    set_deadline("connecting");
    co_await asio::async_connect(socket->lowest_layer(), found, to);
    if (error) co_return "cannot connect to " + place + ": " + error.message();
    socket->lowest_layer().set_option(tcp::no_delay(true), error);
    if (settings.tls) {
      set_deadline("the TLS handshake");
      SSL_set_tlsext_host_name(socket->native_handle(), settings.host.c_str());
      socket->set_verify_callback(asio::ssl::host_name_verification(settings.host), error);
      co_await socket->async_handshake(stream::client, to);
      if (error) co_return "no TLS with " + place + ": " + tls_error(error, *socket);
    }
    deadline.cancel();
    co_return std::string();
  }

  /// One connection from dial to end; returns the reason of the end.
  asio::awaitable<disconnect_request> one_connection() {
    reason.reset();
    unsent.clear();
    is_writing = false;
    socket = std::make_shared<stream>(io, tls);
    show("connecting to " + settings.host);
    if (auto failed = co_await dial(); !failed.empty()) {
      deadline.cancel();
      co_return reason ? *reason : disconnect_request{std::move(failed), redial::soon};
    }
    is_open = true;
    session->connected(web_loop::now());
    flush();
    std::string bytes(16 << 10, '\0');
    const auto of = socket; // the buffers of a pending operation live as long as this frame
    while (!reason) {
      link_io_error error;
      auto to = asio::redirect_error(asio::use_awaitable, error);
      const auto count = settings.tls ? co_await of->async_read_some(asio::buffer(bytes), to)
                                      : co_await of->next_layer().async_read_some(asio::buffer(bytes), to);
      if (error) {
        if (!reason) reason = {error == asio::error::eof ? "the server hung up" : error.message(), redial::soon};
        break;
      }
      if (reason || is_stopping) break;
      session->received(std::string_view(bytes).substr(0, count), web_loop::now());
      flush();
    }
    is_open = false;
    close();
    co_return reason.value_or(disconnect_request{"closed", redial::soon});
  }

  asio::awaitable<void> keep() {
    const auto self = shared_from_this();
    while (!is_stopping) {
      const auto ended = co_await one_connection();
      if (is_stopping) break;
      session->lost(ended.why, web_loop::now());
      flush();
      const auto chance = std::uniform_real_distribution<double>(0, 1)(random);
      const auto wait = ended.when == redial::slowly ? waits.longest(chance) : waits.step(chance);
      const auto tenths = (wait.count() + 50) / 100;
      show("retrying in " + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s: " + ended.why);
      pause.expires_after(wait);
      link_io_error ignored;
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
  }

  void show(const std::string& text) {
    if (text.empty()) return;
    if (const std::lock_guard lock(mutex); std::exchange(shown, text) == text) return;
    tell(text);
  }

  void tell(const std::string& sentence) const {
    if (log) log(name + ": " + sentence);
  }

  /// Restores what an earlier process stored.
  void recall() {
    auto unfinished = session->recall(notes.recall(), web_loop::now());
    missed.fetch(session->last_event(), std::move(unfinished));
    missing.expires_after(missed_events::longest_wait);
    missing.async_wait([self = shared_from_this()](const link_io_error& error) {
      if (error || self->is_stopping) return;
      self->missed.give_up();
      self->flush();
    });
  }

  std::function<void(std::function<void()>)> runner() {
    return [weak = weak_from_this()](std::function<void()> job) {
      hand_over(weak, [job = std::move(job)](implementation&) { job(); });
    };
  }

  void end() {
    const bool was_open = is_open;
    notes.close(session->version(), web_loop::now(), [this] { return session->to_keep(); });
    if (was_open) {
      unsent += session->farewell();
      write();
    }
    is_stopping = true;
    pause.cancel();
    wake.cancel();
    missing.cancel();
    deadline.cancel();
    if (!was_open || !is_writing) return close();
    deadline.expires_after(farewell_timeout);
    deadline.async_wait([self = shared_from_this()](const link_io_error& error) {
      if (!error) self->close();
    });
  }

  void run() {
    recall();
    asio::co_spawn(
        io, [self = shared_from_this()] { return self->keep(); },
        [this](std::exception_ptr e) {
          if (e) show("ended after an unexpected error; restart quelld");
          deadline.cancel();
        });
    while (true) {
      try {
        io.run();
        return;
      } catch (const std::exception& e) {
        if (log) log(name + ": goes on after an unexpected error: " + e.what());
      }
    }
  }

  // ---- any thread --------------------------------------------------------------------------------------------------
  void on_event(const event& e) {
    {
      if (e.type == event_type::thinking_delta) return; // no chat shows it
      // The link's thread has at most one pending job; the queue here is bounded.
      const std::lock_guard lock(mutex);
      if (events.size() >= most_events_waiting && e.type == event_type::text_delta) return; // the only unlimited kind
      events.push_back(e);
      if (events.size() > 1) return;
    }
    hand_over(weak_from_this(), [](implementation& c) {
      std::deque<event> all;
      {
        const std::lock_guard lock(c.mutex);
        all.swap(c.events);
      }
      for (const auto& one : all) c.missed.hear(one);
    });
  }

  const std::string name;
  const link_settings settings;
  const std::unique_ptr<service_session> session;
  host& at;
  const std::function<void(const std::string&)> log;
  missed_events missed;
  link_changes changes;
  notebook notes;
  asio::io_context io;
  asio::ssl::context tls;
  std::shared_ptr<stream> socket;
  asio::steady_timer wake, deadline, pause, missing;
  backoff waits;
  std::mt19937_64 random;
  std::string unsent;
  std::optional<disconnect_request> reason; ///< why we are closing this connection, if we are
  bool is_writing = false, is_open = false, is_stopping = false;
  std::thread thread;

  mutable std::mutex mutex;
  std::string shown = "starting";
  std::deque<event> events;
};

service_link::service_link(std::shared_ptr<implementation> c) : implementation_(std::move(c)) {}
service_link::~service_link() { stop(); }

result<std::unique_ptr<service_link>> service_link::start(std::string name, link_settings settings,
                                                          std::unique_ptr<service_session> session, host& at,
                                                          std::function<void(const std::string&)> log,
                                                          memory remembers) {
  auto c = std::make_shared<implementation>(std::move(name), std::move(settings), std::move(session), at,
                                            std::move(log), std::move(remembers));
  if (auto ready = c->prepare(); !ready) return tl::unexpected(ready.error());
  c->thread = std::thread([c] { c->run(); });
  return std::unique_ptr<service_link>(new service_link(std::move(c)));
}

void service_link::on_event(const event& e) { implementation_->on_event(e); }

std::string service_link::state() const {
  const std::lock_guard lock(implementation_->mutex);
  return implementation_->shown;
}

void service_link::stop() {
  if (!implementation_->thread.joinable()) return;
  boost::asio::post(implementation_->io, [c = implementation_] { c->end(); });
  implementation_->thread.join();
  const std::lock_guard lock(implementation_->mutex);
  implementation_->shown = "stopped";
}

} // namespace quell::integrations::chat
