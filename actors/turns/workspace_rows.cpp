// A file that cannot be read counts as missing: the conversation then gets a new workspace.
#include "actors/turns/workspace_rows.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include "integrations/host/private_file.hpp"
#include "protocol/sha256.hpp"

namespace quell::controller::turns {
namespace {

using nlohmann::json;

std::string text_of(const workspace_row& row) {
  return json{{"key", row.key},
              {"worker", row.worker},
              {"name", row.name},
              {"used", row.used},
              {"lost", row.lost},
              {"used_at_ms", row.used_at.time_since_epoch().count()},
              {"keep_ms", row.keep.count()}}
             .dump(-1, ' ', false, json::error_handler_t::replace) +
         "\n";
}

std::optional<workspace_row> row_in(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  const auto all = json::parse(file, nullptr, false);
  const auto text = [&](const char* key) {
    return all.is_object() && all.contains(key) && all[key].is_string() ? all[key].get<std::string>() : std::string();
  };
  const auto number = [&](const char* key) {
    return all.is_object() && all.contains(key) && all[key].is_number_integer() ? all[key].get<std::int64_t>() : 0;
  };
  workspace_row row;
  row.key = text("key");
  row.worker = text("worker");
  row.name = text("name");
  row.lost = text("lost");
  row.used = all.is_object() && all.contains("used") && all["used"].is_boolean() && all["used"].get<bool>();
  row.used_at = wall_time{wall_time::duration{number("used_at_ms")}};
  row.keep = milliseconds{number("keep_ms")};
  if (row.key.empty() || row.worker.empty() || row.name.empty()) {
    spdlog::warn("{} does not say where a workspace is; it is not used", path);
    return std::nullopt;
  }
  return row;
}

/// Not one that is being written.
bool is_row(const std::filesystem::directory_entry& e) { return e.path().extension().empty(); }

} // namespace

std::string key_of_turn(const std::string& turn) { return "turn " + turn; } // no scope has a space

result<std::shared_ptr<workspace_rows>> workspace_rows::open(const std::string& directory) {
  auto rows = std::make_shared<workspace_rows>();
  if (directory.empty()) return rows;
  rows->directory_ = directory + "/workspaces";
  std::error_code error;
  std::filesystem::create_directory(rows->directory_, error);
  if (error || ::chmod(rows->directory_.c_str(), 0700) < 0)
    return failure(error_code::storage_unavailable, rows->directory_ + " cannot be made: " + error.message());
  for (const auto& e : std::filesystem::directory_iterator(rows->directory_, error))
    if (is_row(e)) rows->files_.insert(e.path().filename().string());
  rows->has_of_turns_ = !rows->files_.empty(); // of an earlier life
  if (error) return failure(error_code::storage_unavailable, rows->directory_ + " cannot be read: " + error.message());
  return rows;
}

std::string workspace_rows::path_of(const std::string& file) const { return directory_ + "/" + file; }

std::optional<workspace_row> workspace_rows::find(const std::string& key) const {
  const std::lock_guard lock(guard_);
  if (directory_.empty()) {
    const auto at = kept_.find(key);
    return at == kept_.end() ? std::nullopt : std::optional(at->second);
  }
  if (files_.empty()) return std::nullopt;
  const auto file = sha256_hex(key);
  if (!files_.contains(file)) return std::nullopt; // as nearly every turn finds
  auto row = row_in(path_of(file));
  if (row && row->key != key) row.reset();
  return row;
}

result<void> workspace_rows::put(const workspace_row& row) {
  const std::lock_guard lock(guard_);
  if (directory_.empty()) {
    kept_[row.key] = row;
    return {};
  }
  const auto file = sha256_hex(row.key);
  files_.insert(file); // also if the write fails: it can have left the file
  return write_private_file(path_of(file), text_of(row));
}

void workspace_rows::drop(const std::string& key) {
  const std::lock_guard lock(guard_);
  kept_.erase(key);
  if (directory_.empty()) return;
  const auto file = sha256_hex(key);
  std::error_code error;
  std::filesystem::remove(path_of(file), error);
  if (!error) files_.erase(file);
}

std::vector<workspace_row> workspace_rows::all() const {
  const std::lock_guard lock(guard_);
  std::vector<workspace_row> rows;
  for (const auto& [key, row] : kept_) rows.push_back(row);
  if (directory_.empty()) return rows;
  std::error_code error;
  for (const auto& e : std::filesystem::directory_iterator(directory_, error))
    if (is_row(e))
      if (auto row = row_in(e.path().string())) rows.push_back(std::move(*row));
  return rows;
}

} // namespace quell::controller::turns
