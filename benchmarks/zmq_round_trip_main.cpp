// bench_zmq_round_trip: raw ZeroMQ DEALER to ROUTER and back over loopback TCP with CURVE, two threads that block, each
// with its own context (and so its own I/O thread), as two programs have. For each line read from stdin: one round
// trip, answered with its milliseconds.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

#include <zmq.h>

namespace {

constexpr char stop_word[] = "stop";

struct keys {
  char public_key[41];
  char secret_key[41];
};

keys fresh_keys() {
  keys k{};
  zmq_curve_keypair(k.public_key, k.secret_key);
  return k;
}

void echo(void* router) {
  char route[256], body[256];
  while (true) {
    const int route_size = zmq_recv(router, route, sizeof route, 0);
    const int size = zmq_recv(router, body, sizeof body, 0);
    if (route_size < 0 || size < 0) return;
    zmq_send(router, route, route_size, ZMQ_SNDMORE);
    zmq_send(router, body, size, 0);
    if (size == sizeof stop_word - 1 && std::memcmp(body, stop_word, size) == 0) return;
  }
}

bool round_trip(void* dealer, const char* text, std::size_t size) {
  char answer[256];
  return zmq_send(dealer, text, size, 0) >= 0 && zmq_recv(dealer, answer, sizeof answer, 0) == static_cast<int>(size);
}

} // namespace

int main() {
  void* server_context = zmq_ctx_new();
  void* client_context = zmq_ctx_new();
  const auto server = fresh_keys(), client = fresh_keys();
  void* router = zmq_socket(server_context, ZMQ_ROUTER);
  const int yes = 1, no_linger = 0;
  zmq_setsockopt(router, ZMQ_CURVE_SERVER, &yes, sizeof yes);
  zmq_setsockopt(router, ZMQ_CURVE_SECRETKEY, server.secret_key, 40);
  if (zmq_bind(router, "tcp://127.0.0.1:*") != 0) {
    std::fprintf(stderr, "bench_zmq_round_trip: cannot bind: %s\n", zmq_strerror(zmq_errno()));
    return 1;
  }
  char endpoint[128];
  std::size_t endpoint_size = sizeof endpoint;
  zmq_getsockopt(router, ZMQ_LAST_ENDPOINT, endpoint, &endpoint_size);
  void* dealer = zmq_socket(client_context, ZMQ_DEALER);
  zmq_setsockopt(dealer, ZMQ_CURVE_SERVERKEY, server.public_key, 40);
  zmq_setsockopt(dealer, ZMQ_CURVE_PUBLICKEY, client.public_key, 40);
  zmq_setsockopt(dealer, ZMQ_CURVE_SECRETKEY, client.secret_key, 40);
  zmq_connect(dealer, endpoint);
  std::thread other(echo, router);

  const std::string payload(128, 'x'); // about the size of a cancel frame
  char line[64];
  bool good = round_trip(dealer, payload.data(), payload.size()); // the handshake is not measured
  while (good && std::fgets(line, sizeof line, stdin)) {
    const auto before = std::chrono::steady_clock::now();
    good = round_trip(dealer, payload.data(), payload.size());
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - before;
    std::printf("%.4f\n", took.count());
    std::fflush(stdout);
  }
  round_trip(dealer, stop_word, sizeof stop_word - 1);
  other.join();
  for (void* socket : {dealer, router}) {
    zmq_setsockopt(socket, ZMQ_LINGER, &no_linger, sizeof no_linger);
    zmq_close(socket);
  }
  zmq_ctx_term(client_context);
  zmq_ctx_term(server_context);
  return good ? 0 : 1;
}
