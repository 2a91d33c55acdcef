// The redirect with which a browser comes back from a login.
#include <catch2/catch.hpp>

#include "cli/browser.hpp"
#include "cli/redirect_catcher.hpp"

using namespace quell::cli;

TEST_CASE("the fields of a redirect are decoded, the first of each name counts") {
  CHECK(fields_of_redirect("/callback?code=a%2Bb+c&state=s&code=other&empty=&bare#code=z") ==
        redirect_fields{{"code", "a+b c"}, {"state", "s"}, {"empty", ""}, {"bare", ""}});
  CHECK(fields_of_redirect("http://127.0.0.1:1/callback?iss=https%3A%2F%2Fas%zz%4").at("iss") == "https://as%zz%4");
  CHECK(fields_of_redirect("/callback").empty());
  CHECK(fields_of_redirect("").empty());
  std::string many = "?";
  for (int i = 0; i < 1000; ++i) many += "n" + std::to_string(i) + "=x&";
  CHECK(fields_of_redirect(many).size() <= 32);
}

TEST_CASE("a catcher listens on loopback, at a port of its own") {
  const auto one = redirect_catcher::open(), other = redirect_catcher::open();
  REQUIRE(one);
  REQUIRE(other);
  CHECK(one->uri().starts_with("http://127.0.0.1:"));
  CHECK(one->uri().ends_with("/callback"));
  CHECK(one->uri() != other->uri());
}

TEST_CASE("only web addresses are opened, and only where there is a browser") {
  const auto nothing = [](const char*) { return std::optional<std::string>(); };
  CHECK_FALSE(open_browser("https://example.org", nothing));
  const auto named = [](const char* name) {
    return std::string(name) == "BROWSER" ? std::optional<std::string>("true") : std::nullopt;
  };
  CHECK(open_browser("https://example.org", named));
  for (const char* bad : {"file:///etc/passwd", "javascript:x", "--help", "https://x y", "https://x\n"})
    CHECK_FALSE(open_browser(bad, named));
}
