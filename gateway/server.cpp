// Start and stop of the gateway: checks, listeners, the threads, and an orderly end.
#include "gateway/server.hpp"

#include <utility>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <fstream>
#include <thread>

#include <netinet/tcp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <spdlog/spdlog.h>

#include "gateway/a2a_handlers.hpp"
#include "gateway/event_reading.hpp"
#include "gateway/guarded_stream.hpp"
#include "gateway/listener.hpp"
#include "gateway/presenter.hpp"
#include "gateway/session.hpp"
#include "gateway/sign_in_handlers.hpp"
#include "gateway/tls_files.hpp"
#include "integrations/net/file_watch.hpp"
#include "protocol/urgency.hpp"

namespace quell::controller::http {

namespace {

constexpr std::chrono::seconds stop_timeout{3};
constexpr std::chrono::seconds between_log_lines{10};

constexpr std::chrono::seconds renewal_interval{1};

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

/// At most half of the descriptors go to connections (a stream takes two): the store, output files and workers need the
/// others.
gateway_options within_limits(gateway_options o) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur == RLIM_INFINITY) return o;
  o.max_connections = std::min(o.max_connections, std::max<std::size_t>(files.rlim_cur / 2, 16));
  return o;
}

class running_gateway : public gateway {
 public:
  running_gateway(gateway_options options, service& controller, output_store& output)
      : io_(std::make_shared<boost::asio::io_context>(1)),
        context_(std::make_shared<gateway_context>(
            std::make_shared<shared_state>(within_limits(std::move(options)), controller, output), io_)),
        tcp_(*io_), unix_(*io_) {
    context_->watching = another_thread(lane::watching);
    context_->signals = another_thread(lane::rows);
  }

  ~running_gateway() override { stop(); }

  result<void> start() {
    auto& options = context_->options;
    if (options.task_token_key.empty())
      return failure("bad_options", "the gateway needs a key for task tokens; none was given");
    auto tls = load_own_tls(options.tls_cert, options.tls_key);
    if (!tls) return tl::unexpected(tls.error());
    tls_ = *tls;
    auto bound = listen_tcp(tcp_, options.listen);
    if (!bound) return tl::unexpected(bound.error());
    bound_ = *bound;
    if (!bound_.is_loopback && !tls_ && !options.insecure)
      return failure("insecure_listen", "will not serve plain HTTP on " + options.listen +
                                            ": tokens would travel in the clear; set [http] tls_cert and "
                                            "tls_key, listen on 127.0.0.1, or give --insecure");
    if (!options.unix_path.empty())
      if (auto local = listen_unix(unix_, options.unix_path); !local) return local;
    auto store = read_pool::open(options.open_store, std::max(1U, options.readers));
    if (!store) return tl::unexpected(store.error());
    context_->store = std::move(*store);
    for (const auto& token : options.tokens) context_->tokens.put(token);
    if (!options.admin_token.empty()) context_->admin_hash = token_hash(options.admin_token);
    restore_sign_ins(*context_);
    context_->shared->push = a2a::start_push(context_, [this] { return counted(); });
    const bool is_use_apart = static_cast<bool>(options.model_use);
    if (is_use_apart)
      options.model_use(
          [whole_context = context_](const records::event_record& e) { whole_context->metrics.on_event(e); });
    context_->controller.on_event([whole_context = context_, is_use_apart](const committed_event& e) {
      const bool is_counted_there = is_use_apart && e.event.type == event_type::model_usage;
      if (!is_counted_there && !is_of_this_moment(e.event)) whole_context->metrics.on_event(e.event);
      for (auto* each : threads_of(*whole_context)) each->hub.publish(e.event);
      whole_context->shared->push->on_event(e.event);
    });
    context_->controller.on_signal([whole_context = context_](const external_signal& s) {
      whole_context->signals->externals.publish(s);
      whole_context->externals.publish(s);
    });
    boost::asio::co_spawn(*io_, accept(context_, tcp_, &tls_, counted()), boost::asio::detached);
    if (unix_.is_open())
      boost::asio::co_spawn(*io_, accept(context_, unix_, nullptr, counted()), boost::asio::detached);
    boost::asio::co_spawn(*context_->watching->io, render(context_, counted()), boost::asio::detached);
    boost::asio::co_spawn(*io_, renew(context_, counted()), boost::asio::detached);
    threads_.emplace_back([io = io_] { run(*io, pace::quick); });
    threads_.emplace_back([io = context_->signals->io] { run(*io, pace::quick); });
    threads_.emplace_back([io = context_->watching->io] { run(*io, pace::ordinary); });
    return {};
  }

  std::string url() const override {
    auto host = bound_.host;
    if (host == "0.0.0.0") host = "127.0.0.1";
    if (host == "[::]") host = "[::1]";
    return (tls_ ? "https://" : "http://") + host + ':' + std::to_string(bound_.port);
  }
  std::uint16_t port() const override { return bound_.port; }

  void read_events(records::event_filter filter, std::function<void(result<kept_events>)> done) override {
    auto& io = *context_->watching->io;
    boost::asio::post(io, [this, &io, filter = std::move(filter), done = std::move(done)]() mutable {
      if (context_->stopping) return;
      boost::asio::co_spawn(io, read_for(context_, std::move(filter), std::move(done), counted()),
                            boost::asio::detached);
    });
  }

  void stop() override {
    if (threads_.empty()) {
      if (context_->store) context_->store->stop();
      return;
    }
    if (context_->options.model_use) context_->options.model_use([](const records::event_record&) {});
    context_->controller.on_event([](const committed_event&) {});
    context_->controller.on_signal([](const external_signal&) {});
    context_->stopping = true;
    context_->shared->push->stop();
    boost::asio::post(*io_, [this] {
      boost::system::error_code ignored;
      tcp_.close(ignored);
      unix_.close(ignored);
      renewal_.notify();
      context_->connections.close_idle();
    });
    for (auto* each : threads_of(*context_))
      boost::asio::post(*each->io, [each] {
        each->hub.close();
        each->externals.close();
      });
    {
      std::unique_lock lock(mutex_);
      all_ended_.wait_for(lock, stop_timeout, [this] { return running_ == 0; });
    }
    for (auto* each : threads_of(*context_)) each->io->stop();
    for (auto& thread : threads_) thread.join();
    threads_.clear();
    context_->store->stop();
    if (!context_->options.unix_path.empty()) ::unlink(context_->options.unix_path.c_str());
  }

 private:
  std::unique_ptr<thread_context> another_thread(lane rows) {
    return std::make_unique<thread_context>(context_->shared, std::make_shared<boost::asio::io_context>(1), rows);
  }

  static std::array<thread_context*, 3> threads_of(gateway_context& whole_context) {
    return {&whole_context, whole_context.watching.get(), whole_context.signals.get()};
  }

  enum class pace : bool { ordinary, quick };
  static void run(boost::asio::io_context& io, pace how) {
    const auto turn = how == pace::quick ? turns_of::answering : turns_of::bulk;
    take_short_turns(turn);
    turn_keeper keeper(turn);
    // A thread whose coroutines have all ended waits for the next.
    const auto work = boost::asio::make_work_guard(io);
    while (true) {
      try {
        while (true) {
          if (io.poll_one() > 0) {
            keeper.worked();
          } else {
            if (io.run_one() == 0) break;
            keeper.begins();
          }
        }
        return;
      } catch (const std::exception& e) {
        spdlog::error("the gateway's loop goes on after an unexpected error: {}", e.what());
      }
    }
  }

  /// `tls_in_use`: the context for new connections, since it can be renewed; null for a listener without TLS.
  awaitable<> accept(std::shared_ptr<gateway_context> gw, any_acceptor& acceptor, const tls_context* tls_in_use,
                     [[maybe_unused]] std::shared_ptr<void> here) {
    auto silent_until = std::chrono::steady_clock::now();
    while (!gw->stopping) {
      boost::system::error_code error;
      any_socket socket =
          co_await acceptor.async_accept(boost::asio::redirect_error(boost::asio::use_awaitable, error));
      if (gw->stopping || error == boost::asio::error::operation_aborted) co_return;
      const auto tls = tls_in_use ? *tls_in_use : nullptr;
      if (error) {
        // Descriptors have probably run out: a connection that has been idle for a second or more makes room, and
        // the listener continues after a pause. A new connection is about to send its request; the next one can wait in
        // the accept queue.
        if (const auto now = std::chrono::steady_clock::now(); now >= silent_until) {
          silent_until = now + std::chrono::seconds(10);
          spdlog::warn("HTTP connections cannot be accepted and wait ({}); with too many open files, raise ulimit -n",
                       error.message());
        }
        gw->connections.make_room(std::chrono::steady_clock::now(), std::chrono::seconds(1));
        signal pause(*gw->io);
        co_await pause.wait_until(std::chrono::steady_clock::now() + std::chrono::milliseconds(50));
        continue;
      }
      const auto where = place_for_another(*gw);
      if (!where) continue; // the socket closes; a client that retries can find room
      auto peer = peer_of(socket);
      auto entered = connection::enter(gw, std::move(peer), *where);
      boost::asio::co_spawn(*gw->io, serve(gw, std::move(socket), tls, std::move(entered)), boost::asio::detached);
    }
  }

  /// Beyond the limit there are places only for cancels.
  std::optional<connection_table::place> place_for_another(gateway_context& gw) {
    auto& all = gw.connections;
    if (!all.is_full()) return connection_table::place::ordinary;
    const auto now = std::chrono::steady_clock::now();
    if (now >= silent_about_limit_until_) {
      silent_about_limit_until_ = now + between_log_lines;
      spdlog::warn("HTTP connections are at their limit of {}: {}", gw.options.max_connections, all.summary());
    }
    if (all.make_room(now)) return connection_table::place::ordinary;
    if (!all.is_reserve_full() || all.make_room_in_reserve()) return connection_table::place::reserved;
    return std::nullopt;
  }

  awaitable<> serve(std::shared_ptr<gateway_context> gw, any_socket socket,
                    std::shared_ptr<boost::asio::ssl::context> tls, std::shared_ptr<connection> place) {
    if (place->must_go) co_return;
    const int yes = 1;
    ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NODELAY, &yes,
                 sizeof yes); // fails on a Unix socket, which needs none
    const auto here = counted();
    if (tls)
      co_await serve_tls(gw, std::move(socket), tls, std::move(place));
    else
      co_await serve_plain(gw, std::move(socket), std::move(place));
  }

  /// While the ticket lives, `stop` waits for its coroutine.
  std::shared_ptr<void> counted() {
    const std::lock_guard lock(mutex_);
    ++running_;
    return {nullptr, [this](void*) {
              const std::lock_guard lock(mutex_);
              if (--running_ == 0) all_ended_.notify_all();
            }};
  }

  static awaitable<> read_for(std::shared_ptr<gateway_context> gw, records::event_filter filter,
                              std::function<void(result<kept_events>)> done,
                              [[maybe_unused]] std::shared_ptr<void> here) {
    std::optional<fault> failed;
    try {
      auto found = co_await read_shown_events(*gw->watching, std::move(filter));
      done(std::move(found));
    } catch (const problem& p) {
      failed = coded_fault{p.code, p.detail};
    } catch (const std::exception& e) {
      failed = coded_fault{error_code::internal, e.what()};
    }
    if (failed) done(tl::unexpected(*failed));
  }

  /// Loads a replaced certificate with its key, and a replaced bootstrap token.
  awaitable<> renew(std::shared_ptr<gateway_context> gw, [[maybe_unused]] std::shared_ptr<void> here) {
    const auto& o = gw->options;
    const auto token_file = o.admin_token.empty() ? "" : o.state_directory + "/admin.token";
    integrations::file_watch certificate(o.tls_cert), key(o.tls_key), token(token_file);
    while (!gw->stopping) {
      co_await renewal_.wait_until(std::chrono::steady_clock::now() + renewal_interval);
      if (gw->stopping) co_return;
      const bool new_certificate = certificate.has_changed(), new_key = key.has_changed();
      if (new_certificate || new_key) take_tls(o);
      if (o.look_at_keys)
        if (auto changed = o.look_at_keys()) gw->options.server_public_key = std::move(*changed);
      if (!token.has_changed()) continue;
      const auto secret = first_line(token_file);
      if (secret.empty() || token_hash(secret) == gw->admin_hash) continue;
      gw->admin_hash = token_hash(secret);
      end_streams_of_ended_tokens(*gw);
      spdlog::info("the bootstrap token was replaced: the one before is no longer good");
    }
  }

  void take_tls(const gateway_options& o) {
    auto fresh = load_own_tls(o.tls_cert, o.tls_key);
    if (!fresh) { // probably one of the two files is still to come
      spdlog::warn("the certificate in use stays, as the new files do not serve: {}", fresh.error().detail);
      return;
    }
    tls_ = std::move(*fresh);
    spdlog::info("new connections are served with the certificate of {} as it is now", o.tls_cert);
  }

  static awaitable<> render(std::shared_ptr<gateway_context> gw, [[maybe_unused]] std::shared_ptr<void> here) {
    auto& streams = *gw->watching;
    const auto show = [&streams](std::vector<records::event_record> events) {
      return render_events(streams, std::move(events));
    };
    while (!streams.hub.closed()) {
      try {
        co_await streams.hub.run(show);
      } catch (const problem& p) {
        spdlog::warn("events could not be shown to watchers, who will resume from the store: {}", p.detail);
        streams.hub.lose_all();
      } catch (const std::exception& e) {
        spdlog::error("events could not be shown to watchers, who will resume from the store: {}", e.what());
        streams.hub.lose_all();
      }
    }
  }

  std::shared_ptr<boost::asio::io_context> io_;
  std::shared_ptr<gateway_context> context_;
  any_acceptor tcp_, unix_;
  tls_context tls_;
  signal renewal_{*io_}; ///< wakes the check of files when the gateway ends
  listening_port bound_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable all_ended_;
  std::size_t running_ = 0;
  std::chrono::steady_clock::time_point silent_about_limit_until_{}; ///< used only on the requests' thread
};

} // namespace
} // namespace quell::controller::http

namespace quell::controller {

result<std::unique_ptr<gateway>> gateway::start(gateway_options options, service& controller, output_store& output) {
  try {
    auto running = std::make_unique<http::running_gateway>(std::move(options), controller, output);
    if (auto started = running->start(); !started) return tl::unexpected(started.error());
    return running;
  } catch (const std::exception& e) {
    return failure(error_code::internal, std::string("the gateway could not start: ") + e.what());
  }
}

} // namespace quell::controller
