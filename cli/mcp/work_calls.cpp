// quell_run, quell_list, quell_show, quell_output and quell_wait.
#include <algorithm>
#include <cstdlib>

#include "cli/fields.hpp"
#include "cli/mcp/tool_call.hpp"
#include "cli/mcp/words.hpp"
#include "cli/short_id.hpp"
#include "cli/url.hpp"
#include "protocol/id.hpp"

namespace quell::cli::mcp {
namespace {

constexpr milliseconds work_allowance{15'000};
constexpr milliseconds create_timeout{10'000};
constexpr milliseconds least_timeout{3'000};

/// Waits for the end of an operation, and answers with the state at the end of the wait.
class waiting_call : public tool_call {
 public:
  using words = std::string (*)(const json&, const view&, bool);
  waiting_call(call_context& d, milliseconds wait, words w, done answered)
      : tool_call(d, std::move(answered)), wait_(wait), words_(w) {}

  void hurry() override {
    hurried_ = true;
    if (!polling_) return;
    abandon_all();
    until_ = steady::now();
    poll();
  }

 protected:
  void wait_for(const json& operation) {
    id_ = text_of(operation, "id");
    until_ = steady::now() + (hurried_ ? milliseconds{0} : wait_);
    if (is_over(operation) || until_ <= steady::now()) return tell(operation);
    polling_ = true;
    poll();
  }

  /// A stop can have meant one operation, or everything that this server represents: then the answer says just that,
  /// even if the server itself has not been notified yet.
  void unless_stopped(json shape, std::function<void()> otherwise) {
    look("/v1/operations/" + context_.own_id,
         [this, shape = std::move(shape), otherwise = std::move(otherwise)](answer<json> own) {
           const auto& stop = member(own ? *own : shape, "stop");
           if (!own || !stop.is_object()) return otherwise();
           finish({stopped_text(text_of(stop, "cause"), text_of(stop, "reason")), shape, true});
         });
  }

  std::string id_;

 private:
  void poll() {
    const auto left = std::max(milliseconds{0}, std::chrono::ceil<milliseconds>(until_ - steady::now()));
    const auto path = "/v1/operations/" + id_ + "?wait=ended&wait_ms=" + std::to_string(left.count());
    ask("GET", path, nullptr, left + work_allowance, std::max(left, hurried_ ? milliseconds{0} : least_timeout),
        [this](answer<json> a) {
          if (!a) return fail(a.error());
          if (is_over(*a) || steady::now() + milliseconds{50} >= until_) return tell(*a);
          pause(milliseconds{100}, [this] { poll(); }); // a controller that is ending answers early
        });
  }

  void tell(const json& operation) {
    if (!context_.was_cancelled_by_others(operation))
      return finish({words_(operation, now(), false), operation, false});
    unless_stopped(operation, [this, operation] { finish({words_(operation, now(), true), operation, true}); });
  }

  const milliseconds wait_;
  const words words_;
  steady::time_point until_{};
  bool polling_ = false, hurried_ = false;
};

class run_call : public waiting_call {
 public:
  run_call(call_context& d, run_arguments a, done answered)
      : waiting_call(d, a.wait, run_text, std::move(answered)), arguments_(std::move(a)) {
    id_ = operation_id::fresh().text();
  }
  ~run_call() override { context_.starting.erase(id_); }

  void begin() override {
    context_.starting.insert(id_);
    ask("POST", "/v1/operations", body(), work_allowance, create_timeout, [this](answer<json> a) {
      context_.starting.erase(id_);
      if (a) {
        context_.remember(id_);
        return wait_for(*a);
      }
      const auto& p = a.error();
      if (has_code(p, error_code::stale_start) || has_code(p, error_code::parent_ended))
        return unless_stopped(json::parse(p.document, nullptr, false), [this, p] { fail(p); });
      if (p.status != 0 || !p.sent) return fail(p);
      // The controller can have accepted it, with only the answer lost.
      context_.remember(id_);
      finish({clipped("It is not known whether " + short_id(id_) + " was started: " + p.detail +
                      " Next: quell_show {\"id\": \"" + short_id(id_) + "\"} in a while, before you start it again."),
              json(), true});
    });
  }

  std::string started() const override { return id_; }

 private:
  json body() const {
    json task{{"command", arguments_.command}};
    if (!context_.where.directory.empty())
      task.update({{"default_cwd", context_.where.directory}, {"default_cwd_host", context_.where.host}});
    if (arguments_.worker) task["worker"] = *arguments_.worker;
    json body{{"id", id_}, {"kind", "task"}, {"parent", context_.own_id}, {"task", std::move(task)}};
    if (arguments_.title && !arguments_.title->empty()) body["title"] = *arguments_.title;
    if (!arguments_.labels.empty()) body["labels"] = arguments_.labels;
    if (arguments_.timeout) body["timeout_ms"] = arguments_.timeout->count();
    return body;
  }

  const run_arguments arguments_;
};

class wait_call : public waiting_call {
 public:
  wait_call(call_context& d, wait_arguments a, done answered)
      : waiting_call(d, a.wait, wait_text, std::move(answered)), typed_(std::move(a.id)) {
    look_timeout_ = std::max(look_timeout_, a.wait); // a controller can restart during the wait
  }
  void begin() override {
    find(typed_, [this](answer<json> a) { a ? wait_for(*a) : fail(a.error()); });
  }
  std::string started() const override { return {}; }

 private:
  const std::string typed_;
};

class show_call : public prompt_call {
 public:
  show_call(call_context& d, show_arguments a, done answered)
      : prompt_call(d, std::move(answered)), typed_(std::move(a.id)) {}
  void begin() override {
    find(typed_, [this](answer<json> a) {
      if (!a) return fail(a.error());
      finish({show_text(*a, now()), std::move(*a), false});
    });
  }

 private:
  const std::string typed_;
};

class list_call : public prompt_call {
 public:
  list_call(call_context& d, list_arguments a, done answered)
      : prompt_call(d, std::move(answered)), arguments_(std::move(a)) {}
  void begin() override {
    // One more than requested: our own operation is the first of its tree and is not shown.
    const query parameters{
        {"below", context_.own_id}, {"status", arguments_.status}, {"limit", std::to_string(arguments_.limit + 1)}};
    look(with_query("/v1/operations", parameters), [this](answer<json> page) {
      if (!page) return fail(page.error());
      auto operations = json::array();
      bool more = !text_of(*page, "next_cursor").empty();
      for (auto& operation : (*page)["operations"]) {
        const auto id = text_of(operation, "id");
        if (id == context_.own_id) continue;
        context_.remember(id);
        if (operations.size() < static_cast<std::size_t>(arguments_.limit))
          operations.push_back(std::move(operation));
        else
          more = true;
      }
      auto text = list_text(operations, now(), more);
      json shape{{"operations", std::move(operations)}, {"next_cursor", member(*page, "next_cursor")}};
      finish({std::move(text), std::move(shape), false});
    });
  }

 private:
  const list_arguments arguments_;
};

std::uint64_t count_in(const http_head& head, const char* name) {
  const auto found = head.headers.find(name);
  return found == head.headers.end() ? 0 : std::strtoull(found->second.c_str(), nullptr, 10);
}

class output_call : public prompt_call {
 public:
  output_call(call_context& d, output_arguments a, done answered)
      : prompt_call(d, std::move(answered)), arguments_(std::move(a)) {}
  ~output_call() override { context_.controller.loop().abandon(transfer_); }

  void begin() override {
    find(arguments_.id, [this](answer<json> a) {
      if (!a) return fail(a.error());
      tail_.operation = text_of(*a, "id");
      tail_.stream = arguments_.stream;
      read();
    });
  }

 private:
  void read() {
    auto& controller = context_.controller;
    auto request = controller.request("GET", "/v1/operations/" + tail_.operation + "/output?stream=" + tail_.stream +
                                                 "&tail_bytes=" + std::to_string(arguments_.tail_bytes));
    request.timeout = work_allowance;
    http_sink sink;
    sink.body = [this](std::string_view bytes) {
      if (tail_.bytes.size() + bytes.size() <= most_body) tail_.bytes += bytes;
      return true;
    };
    sink.end = [this](const http_end& end) {
      transfer_ = 0;
      if (!end.error.empty() || end.head.status != 200) return fail(context_.controller.problem_of(end, tail_.bytes));
      tail_.offset = count_in(end.head, "quell-offset");
      tail_.dropped_bytes = count_in(end.head, "quell-dropped");
      const auto end_header = end.head.headers.find("quell-end");
      tail_.end = end_header != end.head.headers.end() && end_header->second == "true";
      keep_whole_characters(tail_);
      finish({output_text(tail_), output_shape(tail_), false});
    };
    transfer_ = controller.loop().start(std::move(request), std::move(sink));
  }

  static constexpr std::size_t most_body = 1024 * 1024;
  const output_arguments arguments_;
  output_tail tail_;
  event_loop::handle transfer_ = 0;
};

} // namespace

std::unique_ptr<tool_call> make_call(call_context& d, call_arguments arguments, tool_call::done answered) {
  struct maker {
    call_context& d;
    tool_call::done& answered;
    std::unique_ptr<tool_call> operator()(run_arguments& a) const {
      return std::make_unique<run_call>(d, std::move(a), std::move(answered));
    }
    std::unique_ptr<tool_call> operator()(list_arguments& a) const {
      return std::make_unique<list_call>(d, std::move(a), std::move(answered));
    }
    std::unique_ptr<tool_call> operator()(show_arguments& a) const {
      return std::make_unique<show_call>(d, std::move(a), std::move(answered));
    }
    std::unique_ptr<tool_call> operator()(output_arguments& a) const {
      return std::make_unique<output_call>(d, std::move(a), std::move(answered));
    }
    std::unique_ptr<tool_call> operator()(wait_arguments& a) const {
      return std::make_unique<wait_call>(d, std::move(a), std::move(answered));
    }
    std::unique_ptr<tool_call> operator()(cancel_arguments& a) const {
      return make_cancel_call(d, std::move(a), std::move(answered));
    }
  };
  return std::visit(maker{d, answered}, arguments);
}

} // namespace quell::cli::mcp
