// Configuration: layers, units, unknown keys, and checks of the configuration as a whole.
#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "protocol/duration.hpp"
#include "protocol/id.hpp"
#include "quelld/config.hpp"
#include "quelld/options.hpp"

using namespace quell;
using namespace quell::controller;
using namespace std::chrono_literals;

namespace {

struct file {
  std::string path =
      (std::filesystem::temp_directory_path() / ("quell-config-" + operation_id::fresh().text())).string();
  explicit file(const std::string& text) { std::ofstream(path) << text; }
  ~file() { std::filesystem::remove(path); }
};

} // namespace

TEST_CASE("environment beats file beats default", "[config]") {
  file f("[workers]\nlease = \"30s\"\nheartbeat = \"2s\"\n");
  const auto c = load_config(f.path, {{"QUELLD_WORKERS_LEASE", "40s"}});
  REQUIRE(c);
  CHECK(c->workers_lease == 40s);
  CHECK(c->workers_heartbeat == 2s);
  CHECK(c->http_listen == "127.0.0.1:7710");
}

TEST_CASE("a token's share of live operations comes from the file and reaches the ledger", "[config]") {
  const auto share_of = [](const config& c) {
    ledger_settings s;
    set_options(s, c);
    return s.max_live_per_token;
  };
  CHECK(share_of({}) == 1'000'000);
  file f("[limits]\noperations_per_token = 5000\n");
  const auto c = load_config(f.path, {});
  REQUIRE(c);
  CHECK(share_of(*c) == 5000);
  CHECK(share_of(*load_config(f.path, {{"QUELLD_LIMITS_OPERATIONS_PER_TOKEN", "0"}})) == 0);
}

TEST_CASE("the shares of live turns come from the file and reach the ledger", "[config]") {
  const auto shares_of = [](const config& c) {
    ledger_settings s;
    set_options(s, c);
    return std::array{s.max_turns_per_token, s.max_turns_per_author, s.max_turns_per_scope};
  };
  CHECK(shares_of({}) == std::array<std::size_t, 3>{20'000, 2000, 20'000});
  file f("[limits]\nturns_per_token = 5\nturns_per_author = 6\nturns_per_scope = 7\n");
  CHECK(shares_of(*load_config(f.path, {})) == std::array<std::size_t, 3>{5, 6, 7});
  CHECK(shares_of(*load_config(f.path, {{"QUELLD_LIMITS_TURNS_PER_SCOPE", "0"}}))[2] == 0);
}

TEST_CASE("the day's bytes of an author and of a scope come from the file", "[config]") {
  const auto defaults = byte_options_of({}).limits;
  CHECK(defaults.per_token == 64.0 * (1 << 30));
  CHECK(defaults.per_author == 16.0 * (1 << 30));
  CHECK(defaults.per_scope == 64.0 * (1 << 30));
  file f("[limits]\nbytes_per_day = \"1MiB\"\nbytes_per_day_per_author = \"2MiB\"\nbytes_per_day_per_scope = 0\n");
  const auto c = load_config(f.path, {});
  REQUIRE(c);
  const auto limits = byte_options_of(*c).limits;
  CHECK(limits.per_token == 1 << 20);
  CHECK(limits.per_author == 2 << 20);
  CHECK(limits.per_scope == 0);
}

TEST_CASE("a file that is uploaded has a limit, since it is in memory while it is sent", "[config]") {
  config c;
  CHECK(check_config(c));
  REQUIRE(set_config(c, "limits.blob_bytes", "32MiB"));
  CHECK(check_config(c));
  REQUIRE(set_config(c, "limits.blob_bytes", "33MiB"));
  CHECK_FALSE(check_config(c));
  REQUIRE(set_config(c, "limits.blob_bytes", "0"));
  CHECK_FALSE(check_config(c));
}

TEST_CASE("an unknown key is refused with the nearest known one", "[config]") {
  file f("[workers]\nleese = \"30s\"\n");
  const auto c = load_config(f.path, {});
  REQUIRE_FALSE(c);
  CHECK(c.error().detail.find("workers.lease") != std::string::npos);
  CHECK(c.error().detail.find(f.path) != std::string::npos);
}

TEST_CASE("values of the wrong kind name key and file", "[config]") {
  for (const auto* text :
       {"[workers]\nlease = 30\n", "[http]\ninsecure = \"maybe\"\n", "[store]\nreserve = \"12 potatoes\"\n",
        "lease = \"1s\"\n", "[workers\n", "[defaults]\nmin_containment = \"vm\"\n"}) {
    file f(text);
    const auto c = load_config(f.path, {});
    REQUIRE_FALSE(c);
    CHECK(c.error().detail.find(f.path) != std::string::npos);
  }
}

TEST_CASE("a wrong value in the file is named with its line, and an address is one", "[config]") {
  const auto why = [](const std::string& text) { return load_config(file(text).path, {}).error().detail; };
  CHECK_THAT(why("[log]\n[http]\n\nadvertise_url = true\n"),
             Catch::Contains(":4: http.advertise_url must be a string"));
  CHECK_THAT(why("[defaults]\nscope = true\n"), Catch::Contains(":2: defaults.scope must be a string"));
  for (const auto* wrong : {"\"\"", "\"nonsense\"", "\":1\"", "\"a:70000\"", "\"a:b\"", "\"a b:1\"", "7711"})
    for (const auto* key : {"listen", "output_listen"}) {
      INFO(key << " = " << wrong);
      const file f(std::string("[workers]\n") + key + " = " + wrong + "\n");
      const auto read = load_config(f.path, {});
      const auto sound = read ? check_config(*read) : result<void>(tl::unexpected(read.error()));
      REQUIRE_FALSE(sound);
      CHECK_THAT(sound.error().detail, Catch::Contains(std::string("workers.") + key) && Catch::Contains("HOST:PORT"));
    }
}

TEST_CASE("the printed configuration is read back as the same", "[config]") {
  config c;
  c.workers_lease = 90s;
  c.http_insecure = true;
  c.defaults_min_containment = containment::pidns;
  file f(config_text(c));
  const auto back = load_config(f.path, {});
  REQUIRE(back);
  CHECK(config_text(*back) == config_text(c));
}

TEST_CASE("a lease shorter than three heartbeats, half a TLS pair and plain HTTP off loopback are refused",
          "[config]") {
  config c;
  REQUIRE(check_config(c));
  auto lease = c;
  lease.workers_lease = 2s;
  CHECK_FALSE(check_config(lease));
  auto tls = c;
  tls.http_tls_cert = "cert.pem";
  CHECK_FALSE(check_config(tls));
  auto open = c;
  open.http_listen = "0.0.0.0:7710";
  CHECK_FALSE(check_config(open));
  open.http_insecure = true;
  CHECK(check_config(open));
}

TEST_CASE("origins are a list in the file or a text with commas, each an origin and nothing else", "[config]") {
  file f("[http]\ncors_origins = [\"https://bots.example\", \"http://localhost:3000\"]\n");
  const auto c = load_config(f.path, {});
  REQUIRE(c);
  CHECK(cors_origins(*c) == std::vector<std::string>{"https://bots.example", "http://localhost:3000"});
  CHECK(check_config(*c));
  const auto from_environment = load_config("", {{"QUELLD_HTTP_CORS_ORIGINS", "https://a.example, https://b.example"}});
  CHECK(cors_origins(*from_environment).size() == 2);
  for (const auto* bad : {"*", "https://*", "bots.example", "https://bots.example/", "https://Bots.example", "ftp://a",
                          "https://", "https://user@a", "null"}) {
    INFO(bad);
    config odd;
    odd.http_cors_origins = bad;
    CHECK_FALSE(check_config(odd));
  }
}

TEST_CASE("push origins are origins, each with its port", "[config]") {
  config c;
  c.http_push_origins = "http://10.1.2.3:8080, https://hooks.internal,http://[::1],http://[::1]:81";
  CHECK(check_config(c));
  CHECK(push_origins(c) == std::vector<std::string>{"http://10.1.2.3:8080", "https://hooks.internal:443",
                                                    "http://[::1]:80", "http://[::1]:81"});
  for (const auto* bad : {"10.1.2.3", "http://h/path", "*"}) {
    c.http_push_origins = bad;
    CHECK_FALSE(check_config(c));
  }
}

TEST_CASE("a log level or format that does not exist is refused", "[config]") {
  config c;
  c.log_format = "json";
  CHECK(check_config(c));
  c.log_format = "yaml";
  CHECK_FALSE(check_config(c));
  c.log_format = "text";
  c.log_level = "shout";
  CHECK_FALSE(check_config(c));
}

TEST_CASE("durations and sizes have units and nothing else", "[config]") {
  CHECK(*parse_duration("250ms") == 250ms);
  CHECK(*parse_duration("2d") == 48h);
  CHECK(*parse_duration("0") == 0ms);
  for (const auto* bad : {"5", "", "s", "1.5s", "-1s", "1s ", "1 s", "99999999999d", "1h30m"})
    CHECK_FALSE(parse_duration(bad));
  CHECK(*parse_size("64KiB") == 65536);
  CHECK(*parse_size("12") == 12);
  for (const auto* bad : {"", "KiB", "1KB", "-1", "99999999GiB"}) CHECK_FALSE(parse_size(bad));
  for (const auto d : {0ms, 1ms, 1500ms, 2000ms, 3600'000ms, 86'400'000ms})
    CHECK(*parse_duration(duration_text(d)) == d);
}
