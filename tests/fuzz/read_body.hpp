// The promises of every reader of a request's body.
#pragma once

#include "gateway/problem.hpp"
#include "protocol/utf8.hpp"
#include "tests/fuzz/samples.hpp"
#include "tests/fuzz/target.hpp"

namespace quell::fuzz {

/// Whether the body was read; if not, the problem is one of the client, and says so in UTF-8.
template <class T>
bool taken(const tl::expected<T, controller::http::problem>& read) {
  if (read) return true;
  const auto& kind = controller::http::kind_of_problem(read.error().code);
  expect(kind.status >= 400 && kind.status < 500, "a bad body is the client's mistake");
  const auto document = controller::http::problem_json(read.error(), id_number<request_id>(1));
  expect(is_utf8(document), "a problem is UTF-8");
  expect(read.error().detail.size() + read.error().errors.size() > 0, "a problem says what is wrong");
  return false;
}

} // namespace quell::fuzz
