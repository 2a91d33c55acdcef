// The input of one call: parsed, checked against the tool's schema, and without the part meant for quell
// (`_meta.timeout`).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "actors/turn/turn.hpp"
#include "actors/turns/tool_catalogue.hpp"
#include "protocol/fault.hpp"

namespace quell::controller::turns {

constexpr std::size_t most_input_bytes = 1 << 20;

struct call_input {
  std::string json; ///< an object that fits the schema; passed to the tool
  milliseconds timeout{
      0}; ///< of this call: `_meta.timeout`, exec's `timeout_ms`, the configuration, built-in; 0 = none
  milliseconds task_timeout{0}; ///< of the command that exec leaves in the background; 0 = none
};

/// Fault `invalid_input`: a sentence for the model that names the field, and its JSON pointer. An empty text means the
/// empty object.
result<call_input> read_input(const tool_definition& tool, const std::string& input_json);
/// The same check; returns only the fault.
std::optional<fault> check_input(const tool_definition& tool, const std::string& input_json);

/// A turn's view of a call, for `actors::turn::look_up`. An unknown tool is `unusable`.
actors::tool_traits traits_of(const tool_set& tools, const std::vector<approval_rule>& approvals,
                              const tool_call& call);

} // namespace quell::controller::turns
