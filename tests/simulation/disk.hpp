// A disk in memory behind SQLite's own file layer: it records unsynced writes, and loses some of them when its machine
// crashes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/random.hpp"

namespace quell::simulation {

class disk {
 public:
  /// Name of the file layer with which a database is opened.
  static constexpr const char* layer = "simulated";

  struct write {
    std::size_t at = 0;
    std::vector<char> bytes; ///< empty: a truncation to `at`
    bool truncates = false;
  };
  struct file {
    std::vector<char> bytes;  ///< as a reader sees it
    std::vector<char> synced; ///< as it is after a power cut, if nothing else arrives
    std::vector<write> unsynced;
    bool exists = false;
  };

  /// An empty store: the production schema, written once per process and copied here.
  disk();
  ~disk();
  disk(const disk&) = delete;

  /// The whole file layer uses this disk (one at a time).
  void mount();
  /// The machine dies: open files answer with errors from now on, and `r` chooses the part of the unsynced writes that
  /// survives (none, a beginning, any part, all).
  void crash(random_stream& r);
  /// After a crash, or at the first start: files may be opened again.
  void restart() { dead_ = false; }

  void full(bool is) { full_ = is; }
  void broken(bool is) { broken_ = is; }
  /// The power fails after this many more writes.
  void cut_power_after(std::uint64_t writes) { left_ = writes, counting_ = true; }

  // ---- for the file layer
  file& open(const std::string& name) {
    auto& f = files_[name];
    f.exists = true;
    return f;
  }
  bool has(const std::string& name) const {
    const auto at = files_.find(name);
    return at != files_.end() && at->second.exists;
  }
  void remove(const std::string& name) { files_.erase(name); }
  /// The result of a write, truncation or sync for SQLite: 0 = success.
  int trouble(bool is_write);
  bool dead() const { return dead_; }

 private:
  std::map<std::string, file> files_;
  bool dead_ = false, full_ = false, broken_ = false, counting_ = false;
  std::uint64_t left_ = 0;
};

} // namespace quell::simulation
