// Compares the printed configurations; what differs decides whether the new one can be taken.
#include "quelld/running_configuration.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>

#include <spdlog/spdlog.h>

#include "integrations/host/log.hpp"
#include "protocol/nearest.hpp"
#include "protocol/toml.hpp"
#include "quelld/changed_settings.hpp"

namespace quell::controller {

namespace {

/// The names of a line `env = { … }`, as a comment.
std::string names_alone(const std::string& line) {
  std::string names;
  try {
    const auto read = toml::parse(line);
    if (const auto* pairs = read["env"].as_table())
      for (const auto& [name, value] : *pairs) names += (names.empty() ? " " : ", ") + std::string(name.str());
  } catch (const toml::parse_error&) { // a line of a text: it is hidden whole
  }
  return "# env (values are not printed):" + names;
}

/// The line of an address without a name and a password before its host and without its query: either can be secret.
std::string public_address(const std::string& line) {
  const auto scheme = line.find("://");
  if (scheme == std::string::npos) return line;
  const auto host = scheme + 3;
  const auto end_of_host = std::min(line.find_first_of("/?#", host), line.size());
  const auto credentials = line.rfind('@', end_of_host - 1);
  const bool names_somebody = credentials != std::string::npos && credentials >= host;
  const auto query = line.find('?', host);
  if (!names_somebody && query == std::string::npos) return line;
  auto shown = line.substr(0, host);
  shown +=
      names_somebody ? "…@" + line.substr(credentials + 1, query - credentials - 1) : line.substr(host, query - host);
  if (query == std::string::npos) return shown;
  return shown + "?…" + line.back();
}

/// True for `url`, `base_url`, `api_url` and all others.
bool is_address(const std::string& line) {
  const auto key = line.substr(0, line.find(" = "));
  return key.size() < line.size() && key.ends_with("url") && key.find(' ') == std::string::npos;
}

/// The values that models send as headers, by their places: they are not printed.
std::map<std::string, std::string> hidden_values(const loaded& l) {
  std::map<std::string, std::string> values;
  for (const auto& m : l.turns.models)
    for (const auto& [name, value] : m.headers) values["models." + m.name + ".headers." + name] = value;
  return values;
}

/// The places whose values differ, or that only one of both has.
std::vector<std::string> differing(const std::map<std::string, std::string>& before,
                                   const std::map<std::string, std::string>& after) {
  std::vector<std::string> places;
  for (const auto& [place, value] : before)
    if (const auto there = after.find(place); there == after.end() || there->second != value) places.push_back(place);
  for (const auto& [place, value] : after)
    if (!before.contains(place)) places.push_back(place);
  return places;
}

/// Those of `found` that no place of `changed` stands for already.
void add_places(std::vector<std::string>& changed, const std::vector<std::string>& found) {
  for (const auto& place : found)
    if (std::none_of(changed.begin(), changed.end(),
                     [&](const std::string& other) { return place == other || place.starts_with(other + "."); }))
      changed.push_back(place);
  std::sort(changed.begin(), changed.end());
}

} // namespace

std::string without_values(const std::string& printed) {
  std::istringstream lines(printed);
  std::string out;
  for (std::string line; std::getline(lines, line); out += line + '\n') {
    if (line.starts_with("env = {")) line = names_alone(line);
    if (is_address(line)) line = public_address(line);
  }
  return out;
}

running_configuration::running_configuration(const loaded& first, std::function<result<loaded>()> load)
    : load_(std::move(load)), words_(std::make_shared<reloaded_words>(first.turns.chat)),
      printed_(printed_config(first)), hidden_(hidden_values(first)) {}

reload_result running_configuration::take_new(turns::turn_scheduler& scheduler) {
  auto next = load_();
  if (!next) return tl::unexpected(next.error());
  auto printed = printed_config(*next);
  auto changed = changed_settings(*printed_.get(), printed);
  if (!changed) return changed;
  auto hidden = hidden_values(*next);
  add_places(*changed, differing(hidden_, hidden));
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
  hidden_ = std::move(hidden);
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
