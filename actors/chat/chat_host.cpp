// A service acts with the rights of a chat token for the first segment of its scopes.
#include "actors/chat/chat_host.hpp"

#include <algorithm>
#include <array>

#include <openssl/sha.h>

#include "actors/chat/chat_events.hpp"
#include "actors/chat/chat_files.hpp"
#include "actors/turns/agent_runtime.hpp"
#include "actors/turns/turn_scheduler.hpp"
#include "protocol/clock_now.hpp"

namespace quell::controller::chat {

namespace {

namespace chat_in = integrations::chat;

std::string service_of(const scope_path& scope) { return std::string(chat::service_of(scope.text())); }

caller acting(const scope_path& scope, const chat_in::person& who) {
  caller by;
  by.role = role::chat;
  by.prefix = scope_path::parse(service_of(scope)).value();
  by.owner = {who.id, who.name};
  by.token_name = service_of(scope);
  by.token_id = "service:" + by.token_name;
  return by;
}

/// The id of the cancel for this delivery: the same for every copy of it.
cancel_id id_of(const chat_in::signed_stop& once) {
  std::array<std::uint8_t, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(once.signature.data()), once.signature.size(), digest.data());
  std::array<std::uint8_t, 10> low{};
  std::copy_n(digest.begin(), low.size(), low.begin());
  return {make_uuid7(once.signed_at, low)};
}

turns::message_order order_of(chat_in::incoming_message m) {
  turns::message_order order;
  order.by = acting(m.scope, m.author);
  order.via_channel = service_of(m.scope);
  order.author = {m.author.id, m.author.name};
  if (m.author.account != m.author.id) order.account = std::move(m.author.account);
  order.scope = std::move(m.scope);
  order.text = std::move(m.text);
  order.client_id = std::move(m.id);
  order.agent = std::move(m.agent);
  order.modality = m.is_voice ? turns::modality::voice : turns::modality::text;
  order.is_final = m.is_final;
  order.confidence = m.confidence;
  order.addressed = m.addressed;
  order.humans_present = m.humans_present;
  order.bot_names = std::move(m.bot_names);
  return order;
}

chat_in::decision decision_for(const turns::message_order& order, const turns::message_answer& a) {
  chat_in::decision d;
  d.what = static_cast<chat_in::decided>(a.decision);
  d.why = a.why;
  d.is_duplicate = a.is_duplicate;
  d.message = a.message;
  d.turn = a.turn;
  d.cancel = a.cancel;
  d.operations = a.operations;
  d.position = a.position;
  d.is_acknowledged = a.is_acknowledged;
  d.json = turns::decision_json(order, a);
  return d;
}
static_assert(static_cast<int>(chat_in::decided::cancel) == static_cast<int>(turns::message_answer::decided::cancel) &&
              static_cast<int>(chat_in::decided::turn) == static_cast<int>(turns::message_answer::decided::turn) &&
              static_cast<int>(chat_in::decided::ignored) == static_cast<int>(turns::message_answer::decided::ignored));

cancel_order cancel_of(chat_in::stop_order order) {
  cancel_order c;
  c.by_token = acting(order.scope, order.by);
  c.by = c.by_token.owner;
  c.via_channel = c.by_token.token_name;
  c.reason = std::move(order.reason);
  c.if_unknown = unknown_id::is_refused;
  c.received = clock_now().boot;
  if (order.operation) {
    c.target = records::target_operation{*order.operation};
    c.by_token.prefix = std::move(order.scope); // the ledger refuses what does not run there
  } else {
    c.target = records::target_scope{order.scope};
  }
  return c;
}

class real_host final : public chat_in::host {
 public:
  real_host(service& controller, turns::turn_scheduler& turn_scheduler, byte_counting bytes)
      : controller_(controller), scheduler_(turn_scheduler), bytes_(std::move(bytes)) {}

  void say(chat_in::incoming_message message, std::function<void(result<chat_in::decision>)> done) override {
    constexpr std::size_t most_text = 64 << 10, most_id = 128;
    if (message.text.size() > most_text)
      return done(failure(error_code::too_large, "a message has at most 64 KiB of text"));
    if (message.id.size() > most_id)
      return done(failure(error_code::invalid_field, "a message's id has at most 128 bytes"));
    if (message.id.starts_with(turns::reserved_client_ids))
      return done(
          failure(error_code::invalid_field, "a message's id must not begin with quell: (quell's own messages)"));
    if (message.author.id.empty()) return done(failure(error_code::invalid_field, "a message needs an author"));
    auto offered = std::move(message.files);
    auto source = std::move(message.source);
    auto order = order_of(std::move(message));
    if (const auto refused = count(order)) return done(failure(error_code::rate_limited, refused->why));
    file_bytes bytes{bytes_.quota, source_of(order)};
    const auto files = chat_files::reserve(scheduler_.runtime(), fetches_, order, std::move(offered), std::move(source),
                                           std::move(bytes));
    scheduler_.take(order, [order, files, done = std::move(done)](const outcome<turns::message_answer>& a) {
      if (files) files->decided(a && a->decision == turns::message_answer::decided::turn && !a->is_duplicate);
      if (a) return done(decision_for(order, *a));
      done(tl::unexpected(a.error().error));
    });
  }

  void stop(chat_in::stop_order order, std::function<void(result<chat_in::stop_answer>)> done) override {
    perform(cancel_of(std::move(order)), std::move(done));
  }

  void stop_once(chat_in::signed_stop once, std::function<void(result<chat_in::stop_answer>)> done) override {
    auto c = cancel_of(std::move(once.order));
    c.id = id_of(once);
    c.fingerprint = c.id->text();
    if (!once.is_from_before) return perform(std::move(c), std::move(done));
    scheduler_.find_cancel(*c.id, [this, c, done = std::move(done)](const result<bool>& known) {
      if (!known) return done(tl::unexpected(known.error()));
      if (*known) return done(chat_in::stop_answer{*c.id, "repeated", 0});
      perform(c, done);
    });
  }

  void approve(chat_in::approval_order order, std::function<void(result<void>)> done) override {
    decision d;
    d.outcome = approved_or_denied(order.approved);
    d.by = {order.by.id, order.by.name};
    d.reason = std::move(order.reason);
    const auto who = acting(order.scope, order.by);
    auto then = [this, call = order.call, approved = order.approved, who,
                 done = std::move(done)](const outcome<operation_id>& decided) {
      if (decided) controller_.audit(approved ? "approve" : "deny", "operation " + call.text(), who, who.token_name);
      if (decided) return done({});
      done(tl::unexpected(decided.error().error));
    };
    turns::chat_approver approver{std::move(order.scope), order.by.id, std::move(order.by.account),
                                  std::move(order.by.roles)};
    scheduler_.decide_in_chat(order.call, std::move(d), std::move(approver), std::move(then));
  }

  void look(std::vector<operation_id> which, std::function<void(std::vector<std::optional<status>>)> done) override {
    controller_.views(std::move(which), [done = std::move(done)](const std::vector<std::optional<live_view>>& views) {
      std::vector<std::optional<status>> all;
      for (const auto& v : views) all.push_back(v ? std::optional(v->hot.now) : std::nullopt);
      done(std::move(all));
    });
  }

  void find(std::vector<scope_path> scopes, std::string id,
            std::function<void(result<std::optional<chat_in::known_message>>)> done) override {
    scheduler_.find_message(
        std::move(scopes), std::move(id),
        [done = std::move(done)](const result<std::optional<records::message_record>>& found) {
          if (!found) return done(tl::unexpected(found.error()));
          if (!*found) return done(std::optional<chat_in::known_message>{});
          const auto& m = **found;
          done(std::optional(chat_in::known_message{m.scope, m.text, {m.author.id, m.author.name, {}}, m.turn}));
        });
  }

  void events_after(std::string service, std::uint64_t after,
                    std::function<void(result<chat_in::event_page>)> done) override {
    scheduler_.runtime()->background_reads->run([service = std::move(service), after, done = std::move(done)](
                                                    store_reader& store) { done(read_events(store, service, after)); });
  }

 private:
  static byte_source source_of(const turns::message_order& order) {
    return {order.by.token_id, "chat service " + order.by.token_name, order.author.id, order.scope};
  }

  /// Why the day has no room for this message. One that is not meant for the bot is counted and never refused: people
  /// who did not speak to it must not be told.
  std::optional<bytes_refused> count(const turns::message_order& order) {
    const auto size = order.text.size();
    if (!bytes_.quota || size == 0 || bytes_.is_stop_word(order.scope, order.text, order.bot_names))
      return std::nullopt;
    if (order.addressed.value_or(true)) return bytes_.quota->take(source_of(order), size);
    bytes_.quota->add(source_of(order), size);
    return std::nullopt;
  }

  void perform(cancel_order c, std::function<void(result<chat_in::stop_answer>)> done) {
    const auto* one = std::get_if<records::target_operation>(&c.target);
    const auto target = one ? std::optional(one->id) : std::nullopt;
    const auto place = c.by_token.prefix;
    controller_.cancel(std::move(c), [this, target, place, done = std::move(done)](const outcome<cancel_view>& v) {
      if (v)
        return done(
            chat_in::stop_answer{v->record.id, std::string(name_of(v->record.outcome)), v->record.report.operations});
      if (target && place && v.error().error.code == error_code::operation_not_found)
        return answer_absent(*target, *place, done);
      done(tl::unexpected(v.error().error));
    });
  }

  /// The target does not live in the place: a button below an answer that ended there long ago, or an operation of
  /// another place. Only this answer waits for the store.
  void answer_absent(operation_id target, scope_path place, std::function<void(result<chat_in::stop_answer>)> done) {
    scheduler_.runtime()->priority_reads->run(
        [target, place = std::move(place), done = std::move(done)](store_reader& store) {
          const auto row = store.operation(target);
          if (row && *row && (*row)->scope.is_at_or_below(place))
            return done(chat_in::stop_answer{{}, "already_finished", 0});
          done(failure(error_code::operation_not_found, "nothing of that id runs here"));
        });
  }

  service& controller_;
  turns::turn_scheduler& scheduler_;
  const byte_counting bytes_;
  const std::shared_ptr<fetch_places> fetches_ = std::make_shared<fetch_places>();
};

} // namespace

std::unique_ptr<integrations::chat::host> make_host(service& controller, turns::turn_scheduler& turn_scheduler,
                                                    byte_counting bytes) {
  return std::make_unique<real_host>(controller, turn_scheduler, std::move(bytes));
}

} // namespace quell::controller::chat
