// The configuration that quelld runs with, as admins are shown it.
#include <catch2/catch.hpp>

#include "quelld/running_configuration.hpp"

using quell::controller::without_values;

TEST_CASE("of the variables of MCP servers the names alone are shown", "[quelld][reload]") {
  CHECK(without_values("name = \"a\"\nenv = { KEY = \"x\", OTHER = \"y\" }\n") ==
        "name = \"a\"\n# env (values are not printed): KEY, OTHER\n");
}

TEST_CASE("an address is shown without a name, a password and a query", "[quelld][reload]") {
  CHECK(without_values("url = \"https://ann:pw@host:8/mcp?key=x&y=1\"\n") == "url = \"https://…@host:8/mcp?…\"\n");
  CHECK(without_values("url = \"https://token@host\"\n") == "url = \"https://…@host\"\n");
  CHECK(without_values("base_url = \"http://host/v1?key=x\"\n") == "base_url = \"http://host/v1?…\"\n");
  CHECK(without_values("gateway_url = \"wss://ann:pw@host/?key=x\"\n") == "gateway_url = \"wss://…@host/?…\"\n");
  for (const std::string plain : {"url = \"https://host/a@b\"\n", "base_url = \"http://127.0.0.1:80/v1\"\n",
                                  "url = \"\"\n", "model = \"a?b@c\"\n"})
    CHECK(without_values(plain) == plain);
}
