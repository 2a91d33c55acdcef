// Reads behind a performed cancel: whatever goes wrong there, the answer is about a cancel that is under way.
#include "gateway/cancel_perform.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

#include <stdexcept>

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::http;

namespace {

enum class ends { well, as_problem, as_exception, as_answer };
struct own_answer {};

awaitable<int> reading(ends how) {
  if (how == ends::as_problem) throw problem{.code = error_code::storage_unavailable, .detail = "no disk"};
  if (how == ends::as_exception) throw std::runtime_error("out of memory");
  if (how == ends::as_answer) throw own_answer{};
  co_return 7;
}

/// 0 = nothing was read; -1 = the reading answered by itself.
int read_after(ends how) {
  boost::asio::io_context io;
  int read = 0;
  const auto look = [&]() -> awaitable<> {
    try {
      auto found = co_await read_after_cancel<int>("cancel c1 is under way", reading(how));
      read = found.value_or(0);
    } catch (const own_answer&) {
      read = -1;
    }
  };
  boost::asio::co_spawn(io, look, boost::asio::detached);
  io.run();
  return read;
}

} // namespace

TEST_CASE("a read behind a performed cancel fails in no way that reaches its caller", "[cancel_perform]") {
  CHECK(read_after(ends::well) == 7);
  CHECK(read_after(ends::as_problem) == 0);
  CHECK(read_after(ends::as_exception) == 0);
}

TEST_CASE("a read behind a performed cancel can be the answer by itself", "[cancel_perform]") {
  CHECK(read_after(ends::as_answer) == -1);
}
