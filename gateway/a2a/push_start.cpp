// Starts push notifications on a gateway. Their looks at tasks run on the thread of the streams, so that no number of
// them delays a request.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "gateway/a2a/push_look.hpp"
#include "gateway/a2a/push_sender.hpp"
#include "gateway/a2a_handlers.hpp"
#include "gateway/gateway_context.hpp"

namespace quell::controller::http::a2a {

namespace {

awaitable<> look_for(std::shared_ptr<gateway_context> gw, push_config config, push_sender::looked done,
                     [[maybe_unused]] std::shared_ptr<void> here) {
  std::optional<fault> failed;
  try {
    auto look = co_await look_for_push(*gw->watching, std::move(config));
    done(std::move(look));
  } catch (const problem& p) {
    failed = coded_fault{p.code, p.detail, {}};
  } catch (const std::exception& e) {
    failed = coded_fault{error_code::internal, e.what()};
  }
  if (failed) done(tl::unexpected(*failed));
}

} // namespace

std::shared_ptr<push_port> start_push(const std::shared_ptr<gateway_context>& gw,
                                      std::function<std::shared_ptr<void>()> counted) {
  push_sender::edges edges;
  edges.state_directory = gw->options.state_directory;
  edges.origins = gw->options.push_origins;
  edges.look = [weak = std::weak_ptr(gw), counted = std::move(counted)](const push_config& config,
                                                                        push_sender::looked done) {
    const auto held = weak.lock();
    if (!held) return;
    auto& io = *held->watching->io;
    boost::asio::post(io, [weak, &io, counted, config, done = std::move(done)]() mutable {
      const auto still = weak.lock();
      if (!still || still->stopping) return;
      boost::asio::co_spawn(io, look_for(still, std::move(config), std::move(done), counted()), boost::asio::detached);
    });
  };
  auto made = std::make_shared<push_sender>(std::move(edges));
  made->resume();
  return made;
}

} // namespace quell::controller::http::a2a
