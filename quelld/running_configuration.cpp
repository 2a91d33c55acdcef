// Compares the printed configurations; what differs decides whether the new one can be taken.
#include "quelld/running_configuration.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>

#include <spdlog/spdlog.h>

#include "integrations/host/log.hpp"
#include "protocol/nearest.hpp"
#include "protocol/toml.hpp"
#include "quelld/changed_settings.hpp"

namespace quell::controller {

std::string without_values(const std::string& printed) {
  std::istringstream lines(printed);
  std::string out;
  for (std::string line; std::getline(lines, line); out += line + '\n') {
    if (!line.starts_with("env = {")) continue;
    std::string names;
    try {
      const auto read = toml::parse(line);
      if (const auto* pairs = read["env"].as_table())
        for (const auto& [name, value] : *pairs) names += (names.empty() ? " " : ", ") + std::string(name.str());
    } catch (const toml::parse_error&) { // a line of a text: it is hidden whole
    }
    line = "# env (values are not printed):" + names;
  }
  return out;
}

running_configuration::running_configuration(const loaded& first, std::function<result<loaded>()> load)
    : load_(std::move(load)), words_(std::make_shared<reloaded_words>(first.turns.chat)),
      printed_(printed_config(first)) {}

reload_result running_configuration::take_new(turns::turn_scheduler& scheduler) {
  auto next = load_();
  if (!next) return tl::unexpected(next.error());
  auto printed = printed_config(*next);
  auto changed = changed_settings(*printed_.get(), printed);
  if (!changed) return changed;
  std::vector<std::string> fixed;
  std::copy_if(changed->begin(), changed->end(), std::back_inserter(fixed),
               [](const std::string& place) { return !can_be_reloaded(place); });
  if (!fixed.empty())
    return failure(error_code::needs_restart,
                   "nothing was changed, because these settings take effect only at a restart: " + listed(fixed) +
                       ". Restart quelld, or put them back and reload again.");
  host::set_log_level(next->settings.log_level);
  words_->reload(next->turns.chat);
  scheduler.reload(next->turns);
  printed_.set(std::move(printed));
  return changed;
}

void running_configuration::reload(turns::turn_scheduler& scheduler) {
  const auto waiting = requests_.take();
  const auto done = take_new(scheduler);
  if (done)
    spdlog::info("the configuration was reloaded; changed: {}", done->empty() ? "nothing" : listed(*done));
  else
    spdlog::error("the configuration was not reloaded: {}", done.error().detail);
  for (const auto& answer : waiting) answer(done);
}

void running_configuration::close() {
  for (const auto& answer : requests_.take()) answer(failure(error_code::shutting_down, "quelld stops"));
}

} // namespace quell::controller
