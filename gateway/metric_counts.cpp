// Counts. The times of a cancel are in its row, which is read when metrics are requested: a cancel itself pays nothing.
#include "gateway/metric_counts.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "protocol/conversation.hpp"

namespace quell::controller::http {

namespace {

/// The `reason` in a turn_abort's data, one of a few words that quell writes itself.
std::string reason_of(const std::string& data) {
  constexpr std::string_view key = "\"reason\":\"";
  const auto at = data.find(key);
  if (at == std::string::npos) return "unknown";
  const auto from = at + key.size();
  return data.substr(from, data.find('"', from) - from);
}

/// Adds the data of a model_usage.
void add_use(std::map<std::string, metric_counts::model_use>& models, const std::string& data) {
  const auto fields = nlohmann::json::parse(data, nullptr, false);
  if (!fields.is_object()) return;
  const auto usage = fields.value("usage", nlohmann::json::object());
  auto& use = models[fields.value("model", "")];
  use.input = sum_of_use(use.input, usage.value("input_tokens", std::uint64_t{0}));
  use.output = sum_of_use(use.output, usage.value("output_tokens", std::uint64_t{0}));
  use.cached = sum_of_use(use.cached, usage.value("cached_input_tokens", std::uint64_t{0}));
  use.cost += usage.value("cost", 0.0);
}

} // namespace

void metric_counts::on_event(const records::event_record& event) {
  const std::lock_guard lock(mutex_);
  ++events_[event.type];
  if (event.type == event_type::turn_complete) ++turns_["complete"];
  if (event.type == event_type::turn_abort) ++turns_[reason_of(event.data)];
  if (event.type == event_type::model_usage) add_use(models_, event.data);
  if (event.type != event_type::cancel_settled || !event.cancel) return;
  if (unread_.size() < most_untimed)
    unread_.push_back(*event.cancel);
  else
    ++missed_;
}

std::vector<cancel_id> metric_counts::take_settled() {
  const std::lock_guard lock(mutex_);
  cancels_untimed = missed_.load();
  return std::exchange(unread_, {});
}

void metric_counts::settled(const records::report_counts& report) {
  if (report.fenced_ms) fenced.observe(*report.fenced_ms / 1000);
  if (report.signalled_ms) signalled.observe(*report.signalled_ms / 1000);
  if (report.settled_ms) settled_seconds.observe(*report.settled_ms / 1000);
}

void metric_counts::answered(std::string_view method, std::string_view route, double seconds) {
  struct {
    std::string_view method, route;
  } const sought{method, route};
  auto found = requests.find(sought);
  if (found == requests.end())
    found = requests.emplace(route_name{std::string(method), std::string(route)}, histogram{}).first;
  found->second.observe(seconds);
}

std::map<std::string_view, std::uint64_t> metric_counts::events_by_type() const {
  std::map<std::string_view, std::uint64_t> by_text;
  const std::lock_guard lock(mutex_);
  for (const auto& [type, count] : events_) by_text.emplace(text_of(type), count);
  return by_text;
}

std::map<std::string, metric_counts::model_use> metric_counts::use_by_model() const {
  const std::lock_guard lock(mutex_);
  return models_;
}

std::map<std::string, std::uint64_t> metric_counts::turns_by_end() const {
  const std::lock_guard lock(mutex_);
  return turns_;
}

} // namespace quell::controller::http
