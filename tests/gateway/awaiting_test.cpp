// Orders that must not be left in doubt: either the controller began one and answers it, or nothing was done.
#include "gateway/awaiting.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <catch2/catch.hpp>

using namespace quell::controller;
using namespace quell::controller::http;
using namespace std::chrono_literals;

namespace {

/// The caller's result: the answer, or the code of the problem.
struct order {
  std::shared_ptr<io_context> io = std::make_shared<io_context>();
  std::shared_ptr<order_claim> claim = std::make_shared<order_claim>();
  std::function<void(int)> reply;
  std::string learnt = "nothing";

  awaitable<> give(std::chrono::milliseconds until) {
    std::function<void(std::function<void(int)>)> start = [this](std::function<void(int)> to) {
      reply = std::move(to);
    };
    try {
      const auto answer = co_await ask_for_sure<int>(io, claim, start, until);
      learnt = "answer " + std::to_string(answer);
    } catch (const problem& p) {
      learnt = text_of(p.code);
    }
  }
  void runs(std::chrono::milliseconds until, const std::function<void()>& meanwhile) {
    boost::asio::co_spawn(*io, give(until), boost::asio::detached);
    boost::asio::post(*io, meanwhile);
    io->run();
  }
};

} // namespace

TEST_CASE("an order that nobody begins with is withdrawn, and whoever comes later must not begin", "[awaiting]") {
  order o;
  o.runs(1ms, [] {});
  CHECK(o.learnt == "storage_unavailable");
  CHECK_FALSE(o.claim->take());
}

TEST_CASE("an order that was begun is answered, however late", "[awaiting]") {
  order o;
  int waits = 0;
  std::function<void()> late = [&] {
    if (waits == 0) CHECK(o.claim->take());
    if (++waits == 1000) return o.reply(7);
    boost::asio::post(*o.io, late);
  };
  o.runs(1ms, late);
  CHECK(o.learnt == "answer 7");
}

TEST_CASE("an order that is answered in time is answered once", "[awaiting]") {
  order o;
  o.runs(1min, [&] {
    CHECK(o.claim->take());
    o.reply(3);
  });
  CHECK(o.learnt == "answer 3");
}
