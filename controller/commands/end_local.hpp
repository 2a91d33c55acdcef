// The own work of an operation of this process has ended. After a restart also: it is given up before it has an agent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "controller/commands/context.hpp"
#include "controller/local_operations.hpp"
#include "controller/records/history.hpp"

namespace quell::controller::commands {

struct end_local {
  using answer = bool;
  static constexpr std::string_view name = "end_local";

  operation_id id;
  own_outcome end;
  enum class reach : std::uint8_t {
    itself,
    with_its_calls, ///< its agent has died in this life, and so have the actors of its calls
    with_all_below, ///< the agents of everything below it are gone, too
  } what = reach::itself;
  /// The last answer of a turn, stored with its end; also if a stop came first.
  std::optional<records::message_record> last_answer{};
};

end_local::answer apply(const end_local& command, const context& with);
std::string describe(const end_local& command);

} // namespace quell::controller::commands
