// Stores a model's answer with its calls: the message, an operation and a row for each call, and the message under
// which the results will be shown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/commands/context.hpp"
#include "controller/records/history.hpp"

namespace quell::controller::commands {

struct store_answer {
  using answer = std::vector<operation_id>;
  static constexpr std::string_view name = "store_answer";

  struct decided_call {
    operation_id id;
    create_order order; ///< its `call` lacks the seq of the answer
  };
  records::message_record message;
  std::vector<decided_call> calls;
  message_id results; ///< of the message for the results; unused without calls
};

store_answer::answer apply(const store_answer& command, const context& with);
std::string describe(const store_answer& command);

} // namespace quell::controller::commands
