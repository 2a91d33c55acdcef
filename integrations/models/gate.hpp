// Which requests may begin: for each model at most so many at once and so many in a minute. The tenants and scopes that
// wait for it take turns (`fair_row`). One thread; pure: the time is passed in.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "integrations/models/fair_row.hpp"

namespace quell::integrations {

struct model_settings;

/// Whose turn at a model a request takes.
struct model_share {
  std::string scope;
  std::string tenant{}; ///< "" = none
};

class model_gate {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// One request: it waits in the row of its model, then it is inside, until it is destroyed.
  class place {
   public:
    place(const place&) = delete;
    place& operator=(const place&) = delete;
    ~place();
    /// True once the request may begin, and from then on.
    bool enter(time_point now);
    /// The places that come before it if no other one lines up.
    std::size_t ahead() const;
    /// When `enter` can succeed if no place is given back before; `max` if only that helps.
    time_point when() const;

   private:
    friend class model_gate;
    struct row;
    place(std::shared_ptr<row> of, const model_share& whose, std::function<void()> touched);

    std::shared_ptr<row> row_;
    std::function<void()> touched_;
    bool is_inside_ = false;
    fair_row::seat at_; ///< in the row while it waits
  };

  /// A place in the row, behind the others of its scope. `touched`: `enter` may succeed now. Null if the model has no
  /// limit.
  std::unique_ptr<place> line_up(const model_settings& settings, const model_share& whose,
                                 std::function<void()> touched);

 private:
  std::map<std::string, std::shared_ptr<place::row>> rows_; ///< by the model's configured name
};

struct model_gate::place::row {
  std::size_t most_at_once = 0, most_a_minute = 0; ///< 0 = any number
  std::size_t inside = 0;
  fair_row waiting;             ///< of places
  std::deque<time_point> begun; ///< of the last minute, if there is a rate

  void forget(time_point now);
  place* first() const { return static_cast<place*>(waiting.front()); }
  void touch_first();
};

} // namespace quell::integrations
