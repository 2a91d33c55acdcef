// Written completely or not at all. A failure never stops quelld: without the memory a restart only leaves old buttons
// behind.
#include "quelld/chat/memory_file.hpp"

#include <spdlog/spdlog.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "integrations/host/private_file.hpp"

namespace quell::controller::chat {
namespace {

constexpr std::size_t most_bytes = 4 << 20;

std::string read(const std::string& path) {
  std::error_code error;
  if (std::filesystem::file_size(path, error) > most_bytes || error) return {};
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

result<void> write(const std::string& folder, const std::string& path, const std::string& text) {
  if (text.size() > most_bytes) return failure(error_code::too_large, "it is larger than 4 MiB");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return failure(error_code::storage_unavailable, folder + " cannot be made: " + error.message());
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  return write_private_file(path, text);
}

} // namespace

integrations::chat::memory memory_file(const std::string& state_directory, const std::string& name) {
  const auto folder = state_directory + "/chat", path = folder + "/" + name + ".json";
  const auto is_broken = std::make_shared<std::atomic<bool>>(false);
  return {[path] { return read(path); },
          [folder, path, name, is_broken](const std::string& text) {
            const auto written = write(folder, path, text);
            // Logged once each time that writing begins to fail.
            if (!is_broken->exchange(!written) && !written)
              spdlog::warn("chat: what {} remembers cannot be kept: {}", name, written.error().detail);
            return written.has_value();
          }};
}

std::function<integrations::chat::memory(const std::string&)> memories_in(std::string state_directory) {
  return [directory = std::move(state_directory)](const std::string& name) { return memory_file(directory, name); };
}

} // namespace quell::controller::chat
