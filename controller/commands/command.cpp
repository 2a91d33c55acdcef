// All commands: their descriptions, and how often each one came.
#include "controller/commands/command.hpp"

#include "controller/commands/command_counts.hpp"

namespace quell::controller {

namespace {

static_assert(std::variant_size_v<command_variant> == command_counts::size);

template <std::size_t... Which>
command_counts::names names_of_all(std::index_sequence<Which...>) {
  return {std::variant_alternative_t<Which, command_variant>::name...};
}

} // namespace

std::string describe(const command& what) {
  return std::visit([](const auto& one) { return commands::describe(one); }, static_cast<const command_variant&>(what));
}

void command_counts::count(const command& what) { counts_[what.index()].fetch_add(1, std::memory_order_relaxed); }

std::vector<std::pair<std::string_view, std::uint64_t>> command_counts::now() const {
  static const auto names = names_of_all(std::make_index_sequence<size>());
  std::vector<std::pair<std::string_view, std::uint64_t>> all;
  all.reserve(size);
  for (std::size_t i = 0; i < size; ++i) all.emplace_back(names[i], counts_[i].load(std::memory_order_relaxed));
  return all;
}

} // namespace quell::controller
