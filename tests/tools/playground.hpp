// A workspace in a fresh folder, with a neighbouring folder outside of it that no tool may reach.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "worker/tools/tool.hpp"

namespace quell::testing {

using nlohmann::json;
namespace fs = std::filesystem;

class playground {
 public:
  playground() {
    char name[] = "/tmp/quell-tools-XXXXXX";
    base_ = ::mkdtemp(name);
    fs::create_directory(root());
    put(base_ / "secret.txt", "secret");
  }
  ~playground() { fs::remove_all(base_); }

  fs::path root() const { return base_ / "work"; }
  fs::path outside() const { return base_ / "secret.txt"; }
  static void put(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  static std::string got(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  json run(const std::string& tool, const json& input, const json& limits = json::object()) const {
    return json::parse(worker::tools::run_request(
        json{{"tool", tool}, {"workspace", root().string()}, {"input", input}, {"limits", limits}}.dump()));
  }
  /// The result of a call that must succeed.
  json good(const std::string& tool, const json& input, const json& limits = json::object()) const {
    const json answer = run(tool, input, limits);
    INFO(answer.dump());
    REQUIRE(answer.at("ok") == true);
    return answer.at("result");
  }
  /// The code of a call that must fail; its message is not empty.
  std::string code(const std::string& tool, const json& input, const json& limits = json::object()) const {
    const json answer = run(tool, input, limits);
    INFO(answer.dump());
    REQUIRE(answer.at("ok") == false);
    CHECK_FALSE(answer.at("error").at("message").get<std::string>().empty());
    return answer.at("error").at("code");
  }

 private:
  fs::path base_;
};

} // namespace quell::testing
