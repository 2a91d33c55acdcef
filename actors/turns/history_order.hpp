// A change of a scope's conversation that a caller asks for, and its answer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "controller/message_order.hpp"
#include "controller/orders.hpp"

namespace quell::controller::turns {

/// Shape and rights are already checked.
struct history_order {
  caller by;
  scope_path scope;
  enum class action : std::uint8_t { clear, compact, edit, remove, regenerate, fork } what = action::clear;
  // The newest row that the caller saw; neither: whatever it is.
  std::optional<std::uint64_t> expect_seq{};
  std::optional<message_id> expect_id{};
  std::optional<std::string> expect_text{}; ///< of the newest question, to be asked again
  std::optional<message_id> message{};      ///< to edit or delete
  std::string text{};                       ///< the edited message; of one to be asked again: "" = as it was
  std::optional<scope_path> to{};           ///< of a fork
  // Of one to be asked again:
  std::optional<operation_id> from{};          ///< its turn; all behind it goes, too; absent: the newest
  std::optional<attachments> files{};          ///< absent: as it had them
  std::map<std::string, std::string> labels{}; ///< of the new turn, beside those of the old one
  std::optional<stream_client> client{};       ///< that streams the new turn; absent: nobody owns it
  std::string via_channel{};                   ///< of that client
};

struct history_answer {
  std::uint64_t seq = 0;                   ///< of the newest row of the scope; of a fork: of the other one
  std::optional<message_id> message{};     ///< that was written
  std::optional<operation_id> operation{}; ///< that was started: a turn, or a model call that writes a summary
  std::uint64_t messages = 0;              ///< that are no longer read; of a fork: that were copied
  std::uint64_t bytes = 0;                 ///< of texts, inputs and results that were copied
};

} // namespace quell::controller::turns
