// Which requests may begin.
#include "integrations/models/gate.hpp"

#include "integrations/models/model.hpp"

namespace quell::integrations {
namespace {

constexpr auto rate_window = std::chrono::minutes(1);

} // namespace

void model_gate::place::row::forget(time_point now) {
  while (!begun.empty() && begun.front() + rate_window <= now) begun.pop_front();
}

void model_gate::place::row::touch_first() {
  if (const auto* next = first(); next && next->touched_) next->touched_();
}

model_gate::place::place(std::shared_ptr<row> of, const model_share& whose, std::function<void()> touched)
    : row_(std::move(of)), touched_(std::move(touched)), at_(row_->waiting.enter(this, whose.scope, whose.tenant)) {}

model_gate::place::~place() {
  if (is_inside_)
    --row_->inside;
  else
    row_->waiting.leave(at_);
  row_->touch_first();
}

bool model_gate::place::enter(time_point now) {
  if (is_inside_) return true;
  row_->forget(now);
  if (row_->first() != this) return false;
  if (row_->most_at_once > 0 && row_->inside >= row_->most_at_once) return false;
  if (row_->most_a_minute > 0 && row_->begun.size() >= row_->most_a_minute) return false;
  row_->waiting.pop_front();
  is_inside_ = true;
  ++row_->inside;
  if (row_->most_a_minute > 0) row_->begun.push_back(now);
  row_->touch_first(); // there can be room for the next one, too, and its time is another one now
  return true;
}

std::size_t model_gate::place::ahead() const {
  if (is_inside_) return 0;
  return row_->waiting.ahead_of(at_);
}

model_gate::time_point model_gate::place::when() const {
  const auto never = time_point::max();
  if (is_inside_ || row_->first() != this) return never;
  if (row_->most_at_once > 0 && row_->inside >= row_->most_at_once) return never;
  if (row_->most_a_minute == 0 || row_->begun.size() < row_->most_a_minute) return time_point::min();
  return row_->begun.front() + rate_window;
}

std::unique_ptr<model_gate::place> model_gate::line_up(const model_settings& settings, const model_share& whose,
                                                       std::function<void()> touched) {
  if (settings.concurrency == 0 && settings.rate == 0) return nullptr;
  auto& row = rows_[settings.name];
  if (!row) row = std::make_shared<place::row>();
  row->most_at_once = settings.concurrency;
  row->most_a_minute = settings.rate;
  return std::unique_ptr<place>(new place(row, whose, std::move(touched)));
}

} // namespace quell::integrations
