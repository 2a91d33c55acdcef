// The bodies of messages and of approvals, checked for shape and limits.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "actors/turns/turn_scheduler.hpp"
#include "controller/open_questions.hpp"
#include "gateway/problem.hpp"

namespace quell::controller::http {

struct message_request {
  turns::message_order order; ///< without the author
  bool cancel_on_disconnect = true;
  milliseconds merge_text{0};
};

tl::expected<message_request, problem> read_message(std::string_view text);
/// `{"reason","by"}` of an approval or a denial, with the other input of an approval, and the answer to a question if
/// there is one: its reason and person are those of the decision.
struct read_word {
  decision word;
  std::optional<human_answer> answer;
  std::optional<milliseconds> always{}; ///< this exact call may begin without a human for so long
};
tl::expected<read_word, problem> read_decision(std::string_view text, approval_outcome how);

} // namespace quell::controller::http
