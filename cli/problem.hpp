// An error that the controller reported or this program found: a code, a sentence, and the problem document for --json.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "protocol/fault.hpp"

namespace quell::cli {

struct problem {
  int status = 0;        ///< HTTP status; 0 = there was no answer
  std::string code;      ///< SURFACE 5, or `unreachable`, `usage`, `local`
  std::string detail;    ///< what is wrong, where, what to do
  std::string document;  ///< the problem document (RFC 9457), one line of JSON
  int retry_after_s = 0; ///< 0 = the controller named none
  bool sent = true;      ///< false: the request certainly never reached a controller
};

/// True if there was no answer, or the server cannot handle the request now: a retry can succeed.
inline bool may_pass(const problem& p) { return p.status == 0 || p.status == 429 || p.status >= 502; }

template <class T>
using answer = tl::expected<T, problem>;

/// A problem that this program found itself.
problem local_problem(std::string code, std::string detail);
inline tl::unexpected<problem> refuse(std::string code, std::string detail) {
  return tl::unexpected<problem>(local_problem(std::move(code), std::move(detail)));
}
problem to_problem(const fault& f);
/// The problem in an HTTP answer of 400 and above, whatever its body.
problem problem_of_answer(int status, const std::string& body, const std::string& url);

} // namespace quell::cli
