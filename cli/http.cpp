// The event loop on curl_multi_poll: the only file that includes libcurl.
//
// The multi handle keeps and reuses connections. A handle that ends is cleaned up after its callback has returned,
// never inside one, because curl forbids removing a handle from its own write callback.
#include "cli/http.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace quell::cli {
namespace {

using steady = std::chrono::steady_clock;

constexpr std::size_t most_headers = 100;

struct transfer {
  http_request request;
  http_sink sink;
  http_end state;
  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  std::array<char, CURL_ERROR_SIZE> error{};
  bool head_told = false;
  bool abandoned = false;

  void tell_head() {
    if (head_told || abandoned) return;
    head_told = true;
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    state.head.status = static_cast<int>(status);
    if (sink.head) sink.head(state.head);
  }
};

std::size_t on_header(char* bytes, std::size_t, std::size_t size, void* user) {
  auto& t = *static_cast<transfer*>(user);
  std::string_view line(bytes, size);
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  if (line.starts_with("HTTP/")) t.state.head.headers.clear(); // the head after a 100 Continue replaces the earlier one
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || t.state.head.headers.size() >= most_headers) return size;
  std::string name(line.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  auto value = line.substr(colon + 1);
  while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  t.state.head.headers[std::move(name)] = std::string(value);
  return size;
}

std::size_t on_body(char* bytes, std::size_t, std::size_t size, void* user) {
  auto& t = *static_cast<transfer*>(user);
  t.tell_head();
  if (t.abandoned) return CURL_WRITEFUNC_ERROR;
  if (t.sink.body && !t.sink.body({bytes, size})) return t.abandoned ? CURL_WRITEFUNC_ERROR : CURL_WRITEFUNC_PAUSE;
  return size;
}

bool never_sent(CURLcode code) {
  return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_SSL_CONNECT_ERROR ||
         code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE || code == CURLE_URL_MALFORMAT;
}

} // namespace

struct event_loop::implementation {
  struct watched {
    int descriptor;
    bool for_writing;
    std::function<void()> ready;
  };
  struct timer {
    handle id;
    steady::time_point at;
    std::function<void()> action;
  };

  CURLM* multi = curl_multi_init();
  std::map<handle, std::unique_ptr<transfer>> transfers;
  std::vector<CURL*> fresh; ///< started, but not yet known to curl: a callback of a transfer must not add another
  std::vector<watched> watches;
  std::vector<timer> timers;
  handle last = 0;

  void perform() {
    for (CURL* easy : std::exchange(fresh, {})) curl_multi_add_handle(multi, easy);
    int running = 0;
    curl_multi_perform(multi, &running);
  }

  void clean(transfer& t) {
    std::erase(fresh, t.easy);
    curl_multi_remove_handle(multi, t.easy);
    curl_easy_cleanup(t.easy);
    curl_slist_free_all(t.headers);
  }

  /// True if callbacks ran.
  bool finish_transfers() {
    int left = 0;
    bool any = false;
    while (CURLMsg* message = curl_multi_info_read(multi, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      const auto found = std::find_if(transfers.begin(), transfers.end(),
                                      [&](const auto& entry) { return entry.second->easy == message->easy_handle; });
      if (found == transfers.end()) continue;
      auto t = std::move(found->second);
      transfers.erase(found);
      if (code == CURLE_OK) t->tell_head();
      if (code != CURLE_OK) {
        t->state.error = t->error[0] != 0 ? t->error.data() : curl_easy_strerror(code);
        t->state.sent = !never_sent(code);
      }
      clean(*t);
      any = true;
      if (!t->abandoned && t->sink.end) t->sink.end(t->state);
    }
    for (auto it = transfers.begin(); it != transfers.end();) {
      if (it->second->abandoned) {
        clean(*it->second);
        it = transfers.erase(it);
      } else {
        ++it;
      }
    }
    return any;
  }

  /// True if callbacks ran.
  bool fire_timers() {
    const auto now = steady::now();
    std::vector<timer> due;
    for (auto it = timers.begin(); it != timers.end();)
      if (it->at <= now) {
        due.push_back(std::move(*it));
        it = timers.erase(it);
      } else {
        ++it;
      }
    std::sort(due.begin(), due.end(), [](const timer& a, const timer& b) { return a.at < b.at; });
    for (auto& t : due) t.action();
    return !due.empty();
  }

  int poll_bound() const {
    auto bound = std::chrono::milliseconds{10'000};
    for (const auto& t : timers)
      bound = std::min(bound, std::chrono::ceil<std::chrono::milliseconds>(t.at - steady::now()));
    return static_cast<int>(std::max<std::int64_t>(0, bound.count()));
  }

  void wait() {
    std::vector<curl_waitfd> extra;
    for (const auto& w : watches)
      extra.push_back({w.descriptor, static_cast<short>(w.for_writing ? CURL_WAIT_POLLOUT : CURL_WAIT_POLLIN), 0});
    curl_multi_poll(multi, extra.data(), static_cast<unsigned>(extra.size()), poll_bound(), nullptr);
    for (const auto& e : extra) {
      if (e.revents == 0) continue;
      const auto found =
          std::find_if(watches.begin(), watches.end(), [&](const watched& w) { return w.descriptor == e.fd; });
      if (found == watches.end()) continue;
      const auto ready = found->ready; // a copy: the callback can remove its own watch
      ready();
    }
  }
};

event_loop::event_loop() : self_(std::make_unique<implementation>()) {}

event_loop::~event_loop() {
  for (auto& [id, t] : self_->transfers) self_->clean(*t);
  curl_multi_cleanup(self_->multi);
}

event_loop::handle event_loop::start(http_request request, http_sink sink) {
  const handle id = ++self_->last;
  auto t = std::make_unique<transfer>();
  t->request = std::move(request);
  t->sink = std::move(sink);
  t->easy = curl_easy_init();
  CURL* easy = t->easy;
  curl_easy_setopt(easy, CURLOPT_URL, t->request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROXY, ""); // a token must not pass through a proxy from the environment
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "quell-cli/" QUELL_VERSION);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, 10'000L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 15L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 5L);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(t->request.timeout.count()));
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->error.data());
  if (!t->request.ca_file.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, t->request.ca_file.c_str());
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, t->request.method.c_str());
  if (t->request.method == "POST" || !t->request.body.empty()) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(t->request.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, t->request.body.data());
  }
  t->request.headers.emplace_back("Expect:");
  for (const auto& header : t->request.headers) t->headers = curl_slist_append(t->headers, header.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, t->headers);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, t.get());
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, t.get());
  self_->fresh.push_back(easy);
  self_->transfers.emplace(id, std::move(t));
  return id;
}

void event_loop::abandon(handle transfer) {
  const auto found = self_->transfers.find(transfer);
  if (found != self_->transfers.end()) found->second->abandoned = true;
}

void event_loop::resume(handle transfer) {
  const auto found = self_->transfers.find(transfer);
  if (found != self_->transfers.end() && !found->second->abandoned)
    curl_easy_pause(found->second->easy, CURLPAUSE_CONT);
}

void event_loop::watch(int descriptor, bool for_writing, std::function<void()> ready) {
  unwatch(descriptor);
  self_->watches.push_back({descriptor, for_writing, std::move(ready)});
}

void event_loop::unwatch(int descriptor) {
  std::erase_if(self_->watches, [&](const auto& w) { return w.descriptor == descriptor; });
}

event_loop::handle event_loop::after(milliseconds delay, std::function<void()> action) {
  const handle id = ++self_->last;
  self_->timers.push_back({id, steady::now() + delay, std::move(action)});
  return id;
}

void event_loop::forget(handle timer) {
  std::erase_if(self_->timers, [&](const auto& t) { return t.id == timer; });
}

void event_loop::run_until(const std::function<bool()>& done) {
  while (true) {
    self_->perform();
    const bool finished = self_->finish_transfers(), fired = self_->fire_timers();
    if (done()) return;
    // Transfers that the callbacks started or resumed must be driven once before the loop waits.
    if (finished || fired || !self_->fresh.empty()) continue;
    self_->wait();
    if (done()) return;
  }
}

} // namespace quell::cli
