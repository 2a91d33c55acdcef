// The own work of an operation of this process has ended. After a restart also: it is given up before it has an agent.
#pragma once

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
  enum class reach : bool { itself, with_all_below } what = reach::itself; ///< actors below whose agents are gone, too
  /// The last answer of a turn, stored with its end; also if a stop came first.
  std::optional<records::message_record> last_answer{};
};

end_local::answer apply(const end_local& command, const context& with);
std::string describe(const end_local& command);

} // namespace quell::controller::commands
