// `quell wait`: waits until operations end; for a single one the exit code is that of `run`.
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/backoff.hpp"
#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/lookup.hpp"
#include "cli/operation_view.hpp"
#include "cli/operation_waiter.hpp"
#include "cli/short_id.hpp"

namespace quell::cli {

exit_code execute(session& s, const wait_options& o) {
  const auto fail = [&](const problem& p) {
    s.say(p);
    return o.ids.size() == 1 ? exit_of_run_problem(p) : exit_of_problem(p);
  };
  auto controller = s.connect();
  if (!controller) return fail(controller.error());
  auto ids = find_operations(**controller, o.ids);
  if (!ids) return fail(ids.error());

  backoff contact(o.reconnect);
  std::optional<exit_code> code;
  std::size_t left = ids->size();
  bool all_well = true;
  const auto lost = [&]() -> std::optional<milliseconds> {
    const auto pause = contact.lost(std::chrono::steady_clock::now());
    if (!pause && !code) {
      s.say(local_problem(local_code::unreachable,
                          "contact with the controller at " + (*controller)->where().url + " was lost"));
      code = ids->size() == 1 ? exit_code::run_failed : exit_code::unreachable;
    }
    return pause;
  };
  std::vector<std::unique_ptr<operation_waiter>> waiters;
  for (const auto& id : *ids) {
    operation_waiter::callbacks c;
    c.ended = [&, id](const nlohmann::json& operation) {
      const exit_code one = exit_of_operation(operation);
      all_well = all_well && one == exit_code::done;
      if (s.json())
        s.print_line({{"type", "operation"}, {"operation", operation}});
      else
        s.print(short_id(id) + " " + operation_state(operation, view_of(s)) + "\n");
      if (--left == 0 && !code) code = ids->size() == 1 ? one : all_well ? exit_code::done : exit_code::refused;
    };
    c.refused = [&](const problem& p) {
      const exit_code one = fail(p);
      if (!code) code = one;
    };
    c.lost = lost;
    c.contact = [&] { contact.contact(); };
    waiters.push_back(std::make_unique<operation_waiter>(**controller, id, std::move(c)));
    waiters.back()->start(operation_waiter::polls::of_full_length);
  }
  if (o.timeout && o.timeout->count() > 0)
    s.loop.after(*o.timeout, [&] {
      s.hint("the time is up; " + std::to_string(left) + " still live");
      if (!code) code = exit_code::unproven;
    });
  s.loop.run_until([&] { return code.has_value(); });
  return *code;
}

} // namespace quell::cli
