// The steps of a call; each step waits for an answer of the port.
#include "actors/agent/tool_run.hpp"

#include <utility>

namespace quell::actors {

void tool_run::begin() {
  it_.port->begin_call(it_.call,
                       [this, post = it_.post](bool may_begin) { post([this, may_begin] { go(may_begin); }); });
}

void tool_run::stop(const std::string& reason) {
  is_stopped_ = true;
  it_.work->stop(reason);
}

void tool_run::go(bool may_begin) {
  // The stop came while the go was on its way, so the work never began.
  if (!may_begin || is_stopped_) {
    it_.work->stop({}); // work of an earlier life of this process can live all the same
    return close({false, "null"});
  }
  it_.work->start(it_.post,
                  [this, post = it_.post](work_end how) { post([this, how = std::move(how)] { close(how); }); });
}

/// Reports how the work ended; the result that stands comes back and goes up.
void tool_run::close(const work_end& how) {
  if (std::exchange(is_over_, true)) return;
  if (how.closed) return it_.over({it_.what.call, it_.what.name, how.ok, how.cancelled, how.result});
  it_.port->close_call(
      it_.call, {it_.what.call, it_.what.name, how.ok, how.cancelled, how.result},
      [this, post = it_.post](const tool_result& stands) { post([this, stands] { it_.over(stands); }); });
}

} // namespace quell::actors
