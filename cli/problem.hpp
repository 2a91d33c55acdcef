// An error that the controller reported or this program found: a code, a sentence, and the problem document for --json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "protocol/fault.hpp"

namespace quell::cli {

/// The codes of problems that this program alone finds. Others are those of `error_code`.
enum class local_code : std::uint8_t {
  usage,       ///< a flag, an argument, or a file that was named
  local,       ///< something on this machine is in the way
  unreachable, ///< no controller answers
  ambiguous,   ///< several ids end in the typed one
  nothing,     ///< no id does
  io,          ///< a file cannot be read or written
  audit_broken ///< the chain of an audit file does not hold
};
std::string_view text_of(local_code code);

struct problem {
  int status = 0;        ///< HTTP status; 0 = there was no answer
  std::string code;      ///< the text of an `error_code` or a `local_code`; a newer controller may send another one
  std::string detail;    ///< what is wrong, where, what to do
  std::string document;  ///< the problem document (RFC 9457), one line of JSON
  int retry_after_s = 0; ///< 0 = the controller named none
  bool sent = true;      ///< false: the request certainly never reached a controller
};

/// True if there was no answer, or the server cannot handle the request now: a retry can succeed.
inline bool may_pass(const problem& p) { return p.status == 0 || p.status == 429 || p.status >= 502; }

template <class T>
using answer = tl::expected<T, problem>;

inline bool has_code(const problem& p, error_code code) { return p.code == text_of(code); }
inline bool has_code(const problem& p, local_code code) { return p.code == text_of(code); }
inline bool has_code(const fault& f, local_code code) { return f.code == text_of(code); }

/// A problem that this program found itself.
problem local_problem(local_code code, std::string detail);
problem local_problem(error_code code, std::string detail);
template <class Code>
tl::unexpected<problem> refuse(Code code, std::string detail) {
  return tl::unexpected<problem>(local_problem(code, std::move(detail)));
}
inline tl::unexpected<fault> failure(local_code code, std::string detail) {
  return tl::unexpected<fault>(fault{std::string(text_of(code)), std::move(detail), {}});
}
problem to_problem(const fault& f);
/// The problem in an HTTP answer of 400 and above, whatever its body.
problem problem_of_answer(int status, const std::string& body, const std::string& url);

} // namespace quell::cli
