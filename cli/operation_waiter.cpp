// Waits by long polls.
#include "cli/operation_waiter.hpp"

#include <nlohmann/json.hpp>

#include "cli/fields.hpp"
#include "protocol/vocabulary.hpp"

namespace quell::cli {
namespace {
constexpr milliseconds whole_wait{30'000};
constexpr milliseconds short_wait{1'000};
/// Time that an answer can take beyond the requested wait.
constexpr milliseconds answer_allowance{15'000};
} // namespace

operation_waiter::operation_waiter(api& controller, std::string operation, callbacks c)
    : api_(controller), operation_(std::move(operation)), callbacks_(std::move(c)) {}

operation_waiter::~operation_waiter() {
  api_.loop().abandon(call_);
  api_.loop().forget(timer_);
}

void operation_waiter::start(polls how) {
  how_ = how;
  poll(how == polls::short_while_pending ? short_wait : whole_wait);
}

void operation_waiter::poll(milliseconds wait) {
  const std::string path = "/v1/operations/" + operation_ + "?wait=ended&wait_ms=" + std::to_string(wait.count());
  call_ = api_.call("GET", path, nullptr, wait + answer_allowance, [this](answer<nlohmann::json> a) {
    call_ = 0;
    const auto again = [this](milliseconds pause, milliseconds next, bool search) {
      timer_ = api_.loop().after(pause, [this, next, search] {
        if (search) api_.find_again();
        poll(next);
      });
    };
    if (!a) {
      const auto& p = a.error();
      if (p.status != 0 && p.status != 503 && p.status != 502 && p.status != 504 && p.status != 429)
        return callbacks_.refused(p);
      if (const auto pause = callbacks_.lost()) again(*pause, whole_wait, true);
      return;
    }
    if (callbacks_.contact) callbacks_.contact();
    const std::string name = text_of(*a, "status");
    const auto status = parse_name<quell::status>(name);
    if (status && is_terminal(*status)) return callbacks_.ended(*a);
    if (callbacks_.update) callbacks_.update(*a);
    again(milliseconds{name.empty() ? 1000 : 0},
          how_ == polls::short_while_pending && name == "pending" ? short_wait : whole_wait, false);
  });
}

} // namespace quell::cli
