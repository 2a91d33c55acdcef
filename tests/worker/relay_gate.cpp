// Rights to use the relay.
#include <catch2/catch.hpp>

#include "worker/relay_gate.hpp"
#include "worker/relay_places.hpp"

using namespace quell;
using namespace quell::worker;
using verdict = relay_gate::verdict;

namespace {

std::string request(const std::string& headers) { return "GET /v1/status HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n"; }

struct gated : relay_gate {
  operation_id task = operation_id::fresh();
  gated() { task_begins(task, "qt_secret"); }
};

} // namespace

TEST_CASE("the relay takes a first request with the token of a task that lives here", "[relay]") {
  gated g;
  CHECK(g.classify(request("Authorization: Bearer qt_secret\r\n")).what == verdict::admit);
  CHECK(g.classify(request("Authorization: Bearer qt_secret\r\n")).task == g.task);
  CHECK(g.classify(request("authorization:  bearer   qt_secret \r\n")).what == verdict::admit);
  CHECK(g.classify(request("A: b\r\nAuthorization: Bearer qt_secret\r\nC: d\r\n") + "{body").what == verdict::admit);
}

TEST_CASE("the relay refuses everybody else", "[relay]") {
  gated g;
  for (const char* headers :
       {"", "Authorization: Bearer \r\n", "Authorization: Bearer qt_secre\r\n", "Authorization: Bearer qt_secrets\r\n",
        "Authorization: Basic qt_secret\r\n", "X-Authorization: Bearer qt_secret\r\n", "Authorization: qt_secret\r\n",
        "Authorization: Bearer other\r\nAuthorization: Bearer qt_secret\r\n"}) {
    CAPTURE(headers);
    CHECK(g.classify(request(headers)).what == verdict::refuse);
  }
  // In the body, where the sender of a form could have put it.
  CHECK(g.classify(request("") + "\r\nAuthorization: Bearer qt_secret\r\n\r\n").what == verdict::refuse);
}

TEST_CASE("a token goes with its task, and a task without one opens nothing", "[relay]") {
  gated g;
  g.task_ends(g.task);
  CHECK(g.classify(request("Authorization: Bearer qt_secret\r\n")).what == verdict::refuse);
  g.task_begins(operation_id::fresh(), "");
  CHECK(g.classify(request("Authorization: Bearer \r\n")).what == verdict::refuse);
}

TEST_CASE("a head is waited for, but not for ever", "[relay]") {
  gated g;
  const auto whole = request("Authorization: Bearer qt_secret\r\n");
  for (std::size_t n = 0; n < whole.size(); ++n) CHECK(g.classify(whole.substr(0, n)).what == verdict::wait);
  CHECK(g.classify(std::string(relay_gate::most_head_bytes, 'x')).what == verdict::refuse);
}

TEST_CASE("at the limit the task with the most connections makes room with its oldest one", "[relay]") {
  relay_places places(3);
  const auto loud = operation_id::fresh(), quiet = operation_id::fresh();
  places.admit(1, quiet);
  places.admit(2, loud);
  CHECK_FALSE(places.gives_way());
  places.admit(3, loud);
  CHECK(places.gives_way() == 2);
  places.leave(2);
  places.leave(2);
  CHECK(places.size() == 2);
  CHECK_FALSE(places.gives_way());
  places.admit(4, quiet);
  CHECK(places.gives_way() == 1);
}
