// Places for bodies that are in memory as a whole: a few at once, and no one may take all of them.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace quell::controller::http {

/// Any thread. A place is free again when its ticket is gone, which may outlive this.
class body_places {
 public:
  body_places(std::size_t in_all, std::size_t of_one) : table_(std::make_shared<table>(in_all, of_one)) {}

  /// nullptr: all are taken, or `who` has its share.
  [[nodiscard]] std::shared_ptr<void> take(const std::string& who) {
    {
      const std::lock_guard lock(table_->guard);
      const auto at = table_->taken.find(who);
      if (table_->sum >= table_->in_all || (at != table_->taken.end() && at->second >= table_->of_one)) return nullptr;
      ++table_->sum;
      ++table_->taken[who];
    }
    return {table_.get(), [held = table_, who](void*) { held->give_back(who); }};
  }

 private:
  struct table {
    table(std::size_t all, std::size_t one) : in_all(all), of_one(one) {}
    void give_back(const std::string& who) {
      const std::lock_guard lock(guard);
      const auto at = taken.find(who);
      if (at == taken.end()) return;
      --sum;
      if (--at->second == 0) taken.erase(at);
    }
    std::mutex guard;
    std::map<std::string, std::size_t> taken;
    std::size_t sum = 0;
    const std::size_t in_all, of_one;
  };
  std::shared_ptr<table> table_;
};

} // namespace quell::controller::http
