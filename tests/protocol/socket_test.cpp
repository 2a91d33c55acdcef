// The two sockets over real TCP with real CURVE keys: accepted and refused keys, delivered and dropped frames.
#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/protocol/socket_fixture.hpp"

using namespace quell;
using namespace quell::testing;

TEST_CASE("key pairs are Z85 and belong together", "[socket]") {
  const auto keys = key_pair::generate();
  CHECK(is_public_key(keys.public_key));
  CHECK(is_public_key(keys.secret_key));
  const auto again = key_pair::from_secret(keys.secret_key);
  REQUIRE(again);
  CHECK(again->public_key == keys.public_key);
  CHECK_FALSE(is_public_key(""));
  CHECK_FALSE(is_public_key(keys.public_key + "0"));
  CHECK_FALSE(is_public_key(std::string(39, '0') + " "));
  CHECK_FALSE(is_public_key(std::string(39, '0') + "\xff"));
  CHECK_FALSE(is_public_key(std::string(40, '#'))); // Z85 letters, but 5 of them exceed 32 bits
  CHECK(key_pair::from_secret("short").error().code == "bad_key");
}

TEST_CASE("a frame reaches the server with the sender's proven key, and the answer comes back", "[socket]") {
  const auto worker = key_pair::generate();
  running_server server({worker.public_key});
  auto client = open_client(server, worker);
  send_when_connected(*client, "hello");
  const auto got = server.next();
  CHECK(got.frame == "hello");
  CHECK(got.from.public_key == worker.public_key);
  server.socket->send(got.from.route, "welcome");
  CHECK(receive_one(*client) == "welcome");
  CHECK(client->connected());
  CHECK(client->connections() == 1);
  CHECK_FALSE(client->trouble());
}

TEST_CASE("an unknown key is refused: the server hears of it once, the client is told why", "[socket]") {
  const auto known = key_pair::generate();
  const auto stranger = key_pair::generate();
  running_server server({known.public_key});
  auto client = open_client(server, stranger);
  until(*client, "the refusal", [&] {
    CHECK_FALSE(client->send("let me in"));
    (void)client->receive();
    return client->trouble().has_value() && client->trouble()->find("not enrolled") != std::string::npos;
  });
  CHECK_THAT(*client->trouble(), Catch::Contains(stranger.public_key));
  CHECK_THAT(*client->trouble(), !Catch::Contains(stranger.secret_key));
  CHECK(server.next_refused() == stranger.public_key);
  // A second connection of the same stranger is also refused, but not reported again within the minute.
  client->reset();
  until(*client, "the second refusal", [&] { return client->trouble().has_value(); });
  auto worker = open_client(server, known);
  send_when_connected(*worker, "I may");
  CHECK(server.next().frame == "I may");
  CHECK(server.refused_count() == 1);
  CHECK(server.frame_count() == 1);
}

TEST_CASE("a key that is enrolled later gets in by itself", "[socket]") {
  const auto worker = key_pair::generate();
  running_server server({});
  auto client = open_client(server, worker);
  until(*client, "the refusal", [&] { return client->trouble().has_value(); });
  server.socket->allow({worker.public_key});
  send_when_connected(*client, "at last");
  CHECK(server.next().frame == "at last");
  CHECK_FALSE(client->trouble());
}

TEST_CASE("nobody listening and a wrong controller key are told apart", "[socket]") {
  const auto worker = key_pair::generate();
  std::string closed_port;
  {
    running_server gone({});
    closed_port = gone.endpoint();
  }
  auto alone = open_client({closed_port}, worker, key_pair::generate().public_key);
  until(*alone, "the news that nobody answers", [&] { return alone->trouble().has_value(); });
  CHECK_THAT(*alone->trouble(), Catch::Contains("nobody answers at " + closed_port));
  CHECK_FALSE(alone->connected());
  CHECK_FALSE(alone->send("into the void"));

  running_server server({worker.public_key});
  auto misled = open_client({server.endpoint()}, worker, key_pair::generate().public_key);
  until(*misled, "the failed handshake", [&] { return misled->trouble().has_value(); });
  CHECK_THAT(*misled->trouble(), Catch::Contains("handshake"));
  CHECK_FALSE(misled->connected());
}

TEST_CASE("two connections of the same key are two routes", "[socket]") {
  const auto worker = key_pair::generate();
  running_server server({worker.public_key});
  auto first = open_client(server, worker);
  auto second = open_client(server, worker);
  send_when_connected(*first, "first");
  const auto a = server.next();
  send_when_connected(*second, "second");
  const auto b = server.next();
  CHECK(a.from.public_key == b.from.public_key);
  CHECK(a.from.route != b.from.route);
  server.socket->send(b.from.route, "for the second");
  server.socket->send(a.from.route, "for the first");
  CHECK(receive_one(*first) == "for the first");
  CHECK(receive_one(*second) == "for the second");
}

TEST_CASE("a reset drops queued frames, takes a fresh route and loses nothing that is sent afterwards", "[socket]") {
  const auto worker = key_pair::generate();
  running_server server({worker.public_key});
  auto client = open_client(server, worker);
  const int descriptor = client->descriptor();
  send_when_connected(*client, "one");
  const auto old = server.next();
  server.socket->send(old.from.route, "for the old life");
  until(*client, "the frame to arrive", [&] {
    pollfd p{client->descriptor(), POLLIN, 0};
    return ::poll(&p, 1, 0) == 1;
  });
  client->reset();
  CHECK(client->descriptor() == descriptor);
  send_when_connected(*client, "two");
  const auto fresh = server.next();
  CHECK(fresh.frame == "two");
  CHECK(fresh.from.route != old.from.route);
  server.socket->send(old.from.route, "for nobody");
  server.socket->send(fresh.from.route, "for the new life");
  CHECK(receive_one(*client) == "for the new life");
  CHECK_FALSE(client->receive());
}

TEST_CASE("a frame for a route that is gone, or never was, is dropped silently and the loop goes on", "[socket]") {
  const auto worker = key_pair::generate();
  running_server server({worker.public_key});
  server.socket->send("no such route", "x");
  server.socket->send("", "x");
  auto client = open_client(server, worker);
  send_when_connected(*client, "hello");
  const auto first = server.next();
  client.reset();
  auto other = open_client(server, worker);
  send_when_connected(*other, "hello again");
  const auto second = server.next();
  for (int i = 0; i < 1000; ++i) server.socket->send(first.from.route, std::string(1000, 'x'));
  server.socket->send(second.from.route, "still here");
  CHECK(receive_one(*other) == "still here");
}

TEST_CASE("nothing is queued for a server that is away, and the client comes back by itself", "[socket]") {
  const auto worker = key_pair::generate();
  auto server = std::make_unique<running_server>(std::vector{worker.public_key});
  const std::string endpoint = server->endpoint();
  const key_pair keys = server->keys;
  auto client = open_client(*server, worker);
  send_when_connected(*client, "before");
  CHECK(server->next().frame == "before");
  server.reset();
  until(*client, "the loss to be noticed", [&] {
    (void)client->receive();
    return !client->connected();
  });
  CHECK(client->trouble().has_value());
  // libzmq reports the loss a moment before it removes the connection; frames sent in between are lost with it.
  const auto deadline = steady::now() + test_bound;
  while (client->send("lost")) REQUIRE(steady::now() < deadline);

  auto again = server_socket::bind({endpoint, keys});
  REQUIRE(again);
  (*again)->allow({worker.public_key});
  std::vector<std::string> got;
  std::jthread loop([&] {
    (*again)->run(
        [&](const peer& from, std::string_view frame) {
          got.emplace_back(frame);
          (*again)->send(from.route, "seen");
        },
        nullptr);
  });
  {
    const std::unique_ptr<server_socket, void (*)(server_socket*)> stops_at_the_end(
        again->get(), [](server_socket* s) { s->stop(); });
    send_when_connected(*client, "after");
    CHECK(receive_one(*client) == "seen");
    CHECK(client->connections() == 2);
  }
  loop.join();
  CHECK(got == std::vector<std::string>{"after"});
}

TEST_CASE("endpoints are tried in turn, one per reset", "[socket]") {
  const auto worker = key_pair::generate();
  std::string closed_port;
  {
    running_server gone({});
    closed_port = gone.endpoint();
  }
  running_server server({worker.public_key});
  auto client = open_client({closed_port, server.endpoint()}, worker, server.keys.public_key);
  until(*client, "the first endpoint to fail", [&] { return client->trouble().has_value(); });
  client->reset();
  send_when_connected(*client, "found");
  CHECK(server.next().frame == "found");
  client->reset();
  until(*client, "the first endpoint again", [&] { return client->trouble().has_value(); });
}

TEST_CASE("a key that is taken out of the set is heard no more, though its connection stands", "[socket]") {
  const auto stays = key_pair::generate();
  const auto removed = key_pair::generate();
  running_server server({stays.public_key, removed.public_key});
  auto a = open_client(server, stays);
  auto b = open_client(server, removed);
  send_when_connected(*a, "a1");
  CHECK(server.next().frame == "a1");
  send_when_connected(*b, "b1");
  const auto from_b = server.next();
  CHECK(from_b.frame == "b1");
  server.socket->allow({stays.public_key});
  REQUIRE(b->send("b2"));
  server.socket->send(from_b.from.route, "you are removed"); // a frame that is already queued still leaves
  CHECK(receive_one(*b) == "you are removed");
  // b2 was in flight before; a2 comes after b's last frames have been read or dropped.
  REQUIRE(b->send("b3"));
  send_when_connected(*a, "a2");
  CHECK(server.next().frame == "a2");
  b->reset();
  until(*b, "the refusal", [&] { return b->trouble().has_value(); });
  CHECK(server.frame_count() == 3);
}

TEST_CASE("a server that changes its key lets in who expects the new one, and nobody else", "[socket]") {
  const auto worker = key_pair::generate();
  const auto next = key_pair::generate();
  running_server server({worker.public_key});
  auto before = open_client(server, worker);
  send_when_connected(*before, "under the old one");
  CHECK(server.next().frame == "under the old one");
  CHECK_FALSE(before->refused());
  server.socket->change_keys(next, [](const std::string& why) { FAIL(why); });
  until(*before, "the end of the connection", [&] { return (void)before->receive(), !before->connected(); });
  until(*before, "a refusal", [&] { return (void)before->receive(), before->refused(); });
  CHECK_FALSE(before->connected());
  auto after = open_client({server.endpoint()}, worker, next.public_key);
  send_when_connected(*after, "under the new one");
  CHECK(server.next().frame == "under the new one");
  server.socket->change_keys(server.keys, {}); // and back
  auto again = open_client(server, worker);
  send_when_connected(*again, "again");
  CHECK(server.next().frame == "again");
  const auto stranger = key_pair::generate(); // keys are checked as before
  auto alone = open_client(server, stranger);
  CHECK(server.next_refused() == stranger.public_key);
}

TEST_CASE("a frame of the greatest size passes both ways", "[socket]") {
  const auto worker = key_pair::generate();
  running_server server({worker.public_key});
  auto client = open_client(server, worker);
  std::string large(4 * 1024 * 1024, 'x');
  for (std::size_t i = 0; i < large.size(); i += 4096) large[i] = static_cast<char>(i / 4096);
  send_when_connected(*client, large);
  const auto got = server.next();
  CHECK(got.frame == large);
  server.socket->send(got.from.route, got.frame);
  CHECK(receive_one(*client) == large);
}

TEST_CASE("a frame over the limit is refused with its connection, and the server goes on", "[socket]") {
  const auto worker = key_pair::generate();
  running_server server({worker.public_key}, 10'000);
  auto client = open_client(server, worker);
  send_when_connected(*client, "small");
  CHECK(server.next().frame == "small");
  REQUIRE(client->send(std::string(20'000, 'x')));
  until(*client, "the connection to be cut and made again", [&] {
    (void)client->receive();
    return client->connections() >= 2;
  });
  send_when_connected(*client, "small again");
  CHECK(server.next().frame == "small again");
  CHECK(server.frame_count() == 2);
}

TEST_CASE("10,000 frames of two threads keep each thread's order", "[socket]") {
  const auto worker = key_pair::generate();
  running_server server({worker.public_key}, 4 * 1024 * 1024, "tcp://127.0.0.1:0", 20'000);
  auto client = open_client(server, worker);
  send_when_connected(*client, "hello");
  const auto route = server.next().from.route;
  constexpr int each = 5000;
  std::vector<std::jthread> threads;
  for (const char name : {'a', 'b'})
    threads.emplace_back([&, name] {
      for (int i = 0; i < each; ++i) server.socket->send(route, name + std::to_string(i));
    });
  int next_of[2] = {0, 0};
  for (int i = 0; i < 2 * each; ++i) {
    const auto frame = receive_one(*client);
    int& expected = next_of[frame[0] - 'a'];
    REQUIRE(frame.substr(1) == std::to_string(expected));
    ++expected;
  }
  CHECK(next_of[0] == each);
  CHECK(next_of[1] == each);
}

TEST_CASE("no wake-up is lost when sends and arrivals cross", "[socket]") {
  // The server answers each frame with three; the client reads only one per wake-up, and sends in between.
  const auto worker = key_pair::generate();
  running_server server({worker.public_key});
  server.on_frame([&](const peer& from, std::string_view frame) {
    for (int i = 0; i < 3; ++i) server.socket->send(from.route, std::string(frame));
  });
  auto client = open_client(server, worker);
  send_when_connected(*client, "0");
  int received = 0;
  for (int sent = 1; received < 3000;) {
    std::optional<std::string> frame;
    until(*client, "frame " + std::to_string(received), [&] { return (frame = client->receive()).has_value(); });
    ++received;
    if (sent < 1000) REQUIRE(client->send(std::to_string(sent++)));
  }
  CHECK_FALSE(client->receive());
}

TEST_CASE("a stop before run counts", "[socket]") {
  const auto worker = key_pair::generate();
  auto bound = server_socket::bind({"tcp://127.0.0.1:0", key_pair::generate()});
  REQUIRE(bound);
  (*bound)->stop();
  (*bound)->run([](const peer&, std::string_view) {}, nullptr);
  SUCCEED("run returned");
}

TEST_CASE("addresses that cannot be used are refused with advice", "[socket]") {
  const auto keys = key_pair::generate();
  auto first = server_socket::bind({"tcp://127.0.0.1:0", keys});
  REQUIRE(first);
  const auto taken = server_socket::bind({"tcp://127.0.0.1:" + std::to_string((*first)->port()), keys});
  REQUIRE_FALSE(taken);
  CHECK(taken.error().code == "address_in_use");
  for (const char* endpoint :
       {"", "127.0.0.1:1", "tcp://", "tcp://127.0.0.1", "tcp://203.0.113.1:0", "tcp://no such host:1", "inproc://x"}) {
    const auto refused = server_socket::bind({endpoint, keys});
    INFO(endpoint);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == "bad_address");
    CHECK_FALSE(refused.error().detail.empty());
  }
  CHECK(server_socket::bind({"tcp://127.0.0.1:0", {}}).error().code == "bad_key");
  const std::string server_key = key_pair::generate().public_key;
  for (const char* endpoint :
       {"", "tcp://host", "tcp://:1", "tcp://host:0", "tcp://host:65536", "tcp://host:1x", "ipc://x:1"}) {
    const auto refused = client_socket::open({{endpoint}, keys, server_key});
    INFO(endpoint);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == "bad_address");
  }
  CHECK(client_socket::open({{}, keys, server_key}).error().code == "bad_address");
  CHECK(client_socket::open({{"tcp://127.0.0.1:1"}, keys, "short"}).error().code == "bad_key");
  CHECK(client_socket::open({{"tcp://127.0.0.1:1"}, {keys.public_key, key_pair::generate().secret_key}, server_key})
            .error()
            .code == "bad_key");
}
