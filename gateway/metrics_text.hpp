// Writes the Prometheus text format (0.0.4): families with help and type, samples with escaped labels.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/histogram.hpp"

namespace quell::controller::http {

class metrics_text {
 public:
  using labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  /// Begins a family; its samples follow. `type`: counter, gauge or histogram.
  void family(std::string_view name, std::string_view type, std::string_view help);
  void sample(std::uint64_t value, labels with = {});
  void sample(double value, labels with = {});
  void sample(const histogram& of, labels with = {});
  std::string take() { return std::move(out_); }

 private:
  void line(std::string_view suffix, labels with, std::string_view le, const std::string& value);
  std::string out_, name_;
};

} // namespace quell::controller::http
