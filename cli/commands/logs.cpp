// `quell logs`: stored output; with -f until the end, with --tree including everything below.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/backoff.hpp"
#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/log_range.hpp"
#include "cli/lookup.hpp"
#include "cli/operation_view.hpp"
#include "cli/ordered_follower.hpp"
#include "cli/output_follower.hpp"
#include "cli/output_line.hpp"
#include "cli/short_id.hpp"
#include "cli/url.hpp"

namespace quell::cli {
namespace {

using nlohmann::json;

constexpr milliseconds between_lists{1000};
constexpr std::size_t longest_line = 64 * 1024;

struct source {
  std::string operation, stream, label;
  std::string rest; ///< of a line (or character) that is not complete yet
  std::unique_ptr<output_follower> follower;
};

class logs_command {
 public:
  logs_command(session& s, api& controller, const logs_options& o, std::string id)
      : s_(s), api_(controller), o_(o), id_(std::move(id)), contact_(milliseconds{60'000}) {}

  exit_code execute() {
    if (o_.tree)
      list();
    else if (!s_.json() && !o_.stream && !o_.tail && !o_.since && same_place(STDOUT_FILENO, STDERR_FILENO))
      add_ordered();
    else
      add(id_, "");
    if (!o_.tree) listed_all_ = true;
    s_.loop.run_until([this] { return code_ || (listed_all_ && open_ == 0); });
    return code_.value_or(exit_code::done);
  }

 private:
  /// Lists the operations at and below the root; repeated every second while the root lives and is followed.
  void list() {
    const auto path = with_query("/v1/operations", {{"below", id_}, {"order", "asc"}, {"limit", "1000"}});
    auto all = api_.all_pages(path, "operations");
    if (!all) {
      if (all.error().status != 0) return fail(all.error());
      if (const auto pause = lost()) s_.loop.after(*pause, [this] { list(); });
      return;
    }
    contact_.contact();
    bool is_live = false;
    for (const auto& operation : *all) {
      const auto id = text_of(operation, "id"), kind = text_of(operation, "kind"),
                 status = text_of(operation, "status");
      is_live = is_live || (status != "completed" && status != "failed" && status != "cancelled");
      const bool known =
          std::any_of(sources_.begin(), sources_.end(), [&](const auto& one) { return one->operation == id; });
      if (kind == "task" && !known)
        add(id, short_id(id) + " " + cut(operation_name(operation), 24, s_.term.characters));
    }
    if (o_.follow && is_live)
      s_.loop.after(between_lists, [this] { list(); });
    else
      listed_all_ = true;
  }

  /// Both streams go to one place: first in the order received, then each one to its end, for bytes that the events
  /// left out.
  void add_ordered() {
    ordered_follower::callbacks c;
    c.ready = [] { return true; };
    c.bytes = [this](std::size_t, std::uint64_t, std::string_view bytes) {
      s_.print(bytes);
      if (o_.follow) std::fflush(stdout);
    };
    c.over = [this](bool) {
      for (std::size_t i = 0; i < 2; ++i) {
        output_follower::range range;
        range.follow = o_.follow;
        range.offset = ordered_->offset(i);
        start(id_, i == 0 ? "stdout" : "stderr", "", range);
      }
      --open_;
    };
    c.lost = [this] { return lost(); };
    c.contact = [this] { contact_.contact(); };
    using until = ordered_follower::until;
    ordered_ = std::make_unique<ordered_follower>(api_, id_, o_.follow ? until::its_end : until::now, std::move(c));
    ++open_;
    ordered_->start();
  }

  void add(const std::string& operation, const std::string& label) {
    std::map<std::string, std::uint64_t> since;
    if (o_.since) {
      auto found = offsets_since(api_, operation, wall_now() - *o_.since);
      if (!found) return fail(found.error());
      since = std::move(*found);
    }
    for (const std::string stream : {"stdout", "stderr"}) {
      if (o_.stream && *o_.stream != stream) continue;
      output_follower::range range;
      range.follow = o_.follow;
      if (o_.since) {
        if (!since.contains(stream) && !o_.follow) continue;
        if (since.contains(stream)) range.offset = since[stream];
      }
      if (o_.tail || (o_.since && !since.contains(stream))) {
        auto at = tail_offset(api_, operation, stream, o_.tail.value_or(0));
        if (!at) return fail(at.error());
        range.offset = std::max(range.offset, *at);
      }
      start(operation, stream, label, range);
    }
  }

  void start(const std::string& operation, const std::string& stream, const std::string& label,
             output_follower::range range) {
    sources_.push_back(std::make_unique<source>());
    auto& one = *sources_.back();
    one.operation = operation;
    one.stream = stream;
    one.label = label;
    output_follower::callbacks c;
    c.bytes = [this, &one](std::uint64_t offset, std::string_view bytes) {
      show(one, offset, bytes);
      return true;
    };
    c.gap = [this, &one](std::uint64_t n) {
      s_.warn(std::to_string(n) + " bytes of " + one.stream + " of " + short_id(one.operation) + " are not kept");
    };
    c.end = [this, &one](const problem* p) {
      if (!one.rest.empty()) show_rest(one);
      --open_;
      if (p != nullptr) fail(*p);
    };
    c.lost = [this] { return lost(); };
    c.contact = [this] { contact_.contact(); };
    one.follower = std::make_unique<output_follower>(api_, operation, stream, range, std::move(c));
    ++open_;
    one.follower->start();
  }

  void show(source& one, std::uint64_t offset, std::string_view bytes) {
    if (!s_.json() && !o_.tree) {
      std::FILE* to = one.stream == "stdout" ? stdout : stderr;
      std::fwrite(bytes.data(), 1, bytes.size(), to);
      if (o_.follow) std::fflush(to);
      return;
    }
    const std::uint64_t first = offset - one.rest.size();
    one.rest.append(bytes);
    if (s_.json()) {
      const std::size_t whole = one.rest.size() - cut_character(one.rest);
      if (whole > 0)
        s_.print_line(output_line(one.operation, one.stream, first, std::string_view(one.rest).substr(0, whole)));
      one.rest.erase(0, whole);
      return;
    }
    std::size_t begin = 0;
    for (auto end = one.rest.find('\n'); end != std::string::npos; end = one.rest.find('\n', begin)) {
      print(one, std::string_view(one.rest).substr(begin, end - begin));
      begin = end + 1;
    }
    one.rest.erase(0, begin);
    if (one.rest.size() > longest_line) show_rest(one);
    if (o_.follow) std::fflush(stdout);
  }

  void show_rest(source& one) {
    if (s_.json())
      s_.print_line(output_line(one.operation, one.stream, one.follower->offset() - one.rest.size(), one.rest));
    else
      print(one, one.rest);
    one.rest.clear();
  }

  void print(const source& one, std::string_view line) {
    s_.print(painted(one.label + (one.stream == "stderr" ? " !" : "") + " | ",
                     one.stream == "stderr" ? color::yellow : color::blue, s_.term.color_out));
    s_.print(line);
    s_.print("\n");
  }

  std::optional<milliseconds> lost() {
    const auto pause = contact_.lost(std::chrono::steady_clock::now());
    if (!pause || !o_.follow) {
      fail(local_problem(local_code::unreachable, "contact with the controller at " + api_.where().url + " was lost"));
      return std::nullopt;
    }
    return pause;
  }

  void fail(const problem& p) {
    if (!code_) code_ = s_.fail(p);
  }

  session& s_;
  api& api_;
  const logs_options& o_;
  const std::string id_;
  backoff contact_;
  std::vector<std::unique_ptr<source>> sources_;
  std::unique_ptr<ordered_follower> ordered_;
  std::optional<exit_code> code_;
  int open_ = 0;
  bool listed_all_ = false;
};

} // namespace

exit_code execute(session& s, const logs_options& o) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  auto id = find_operation(**controller, o.id);
  if (!id) return s.fail(id.error());
  return logs_command(s, **controller, o, *id).execute();
}

} // namespace quell::cli
