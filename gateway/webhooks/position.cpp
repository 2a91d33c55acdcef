// Reads and writes a number in a file.
#include "gateway/webhooks/position.hpp"

#include <charconv>
#include <filesystem>
#include <fstream>

#include "integrations/host/private_file.hpp"

namespace quell::controller::webhooks {

position_file::position_file(const std::string& state_directory, const std::string& name)
    : folder_(state_directory + "/webhooks"), path_(folder_ + "/" + name) {}

result<std::optional<std::uint64_t>> position_file::read() const {
  std::error_code error;
  if (!std::filesystem::exists(path_, error) && !error) return std::optional<std::uint64_t>();
  std::ifstream in(path_);
  std::string text;
  std::getline(in, text);
  std::uint64_t position = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), position);
  if (!in || wrong != std::errc{} || end != text.data() + text.size())
    return failure(error_code::storage_unavailable,
                   path_ + " holds no event id. Restore it, or remove it: then only new events "
                           "are delivered.");
  return std::optional(position);
}

result<void> position_file::write(std::uint64_t position) const {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return failure(error_code::storage_unavailable, folder_ + " cannot be made: " + error.message());
  return write_private_file(path_, std::to_string(position) + "\n");
}

} // namespace quell::controller::webhooks
