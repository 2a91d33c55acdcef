// Errors as RFC 9457 problem documents (SURFACE 4 and 5).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/orders.hpp"
#include "protocol/fault.hpp"
#include "protocol/id.hpp"

namespace quell::controller::http {

/// One bad field. `code` decides the problem's code; only pointer and message are sent.
struct field_error {
  error_code code = error_code::invalid_field;
  std::string pointer;
  std::string message;
};

/// The content of an error answer. The gateway's handlers throw it to end a request early; the router turns it into the
/// answer, so it never leaves this folder.
struct problem {
  error_code code = error_code::internal;
  std::string detail;
  std::vector<field_error> errors = {};
  std::optional<records::cancel_record> cancel = {};
  std::vector<std::pair<std::string, std::string>> members = {}; ///< further members: name and JSON text
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// One row of the table of all codes.
struct problem_kind {
  error_code code;
  unsigned status;
  std::string_view title;
};

/// The row of `code`: every code has one.
const problem_kind& kind_of_problem(error_code code);

/// A code that is not listed, as of a fault that should not have left its room, is `internal`.
problem from_fault(const fault& f);
problem from_fault(const coded_fault& f);
problem from_refusal(const refusal& r);
/// All bad fields of one request as one problem: `unknown_field` if there is one, the common code if all agree, else
/// `invalid_field`.
problem from_errors(std::vector<field_error> errors);

/// The `application/problem+json` document.
std::string problem_json(const problem& p, const request_id& request);

} // namespace quell::controller::http
