// From the wanted of a foreign client to a turn that it owns.
#include "gateway/compat/client_turn.hpp"

#include <algorithm>

#include <spdlog/spdlog.h>

#include "controller/named_request.hpp"
#include "gateway/compat/asked_again.hpp"
#include "gateway/compat/stored_images.hpp"
#include "gateway/rights.hpp"
#include "protocol/sha256.hpp"

namespace quell::controller::http {

namespace {

constexpr std::string_view disconnect_reason = "the client closed its connection";

turns::agent_settings agent_named(exchange& x, const client_request& wanted) {
  const auto& name = wanted.agent;
  const auto* pointer = wanted.channel == openai_channel ? "/model" : "/agent";
  const auto settings = x.gw.options.turns->runtime()->settings.get();
  const auto* agent = settings->agent(name);
  if (!agent || agent->is_command() || !base_for(*agent, x.who))
    throw problem{.code = error_code::not_found,
                  .detail = "there is no agent " + name.substr(0, 64) +
                            " that this token may use; GET /openai/v1/models lists those that there are",
                  .errors = {{error_code::not_found, pointer, "is not the name of an agent"}}};
  return *agent;
}

/// Each request without a scope of its own is a conversation of its own, so that its stop can meet no other work.
scope_path fresh_scope(exchange& x, const client_request& wanted) {
  auto base = x.who.prefix ? x.who.prefix->text() : std::string();
  if (!wanted.agent.empty()) base = *base_for(agent_named(x, wanted), x.who);
  const auto text = (base.empty() ? "" : base + "/") + wanted.channel + "/" + x.req.id.text();
  auto scope = scope_path::parse(text);
  if (!scope)
    throw problem{.code = error_code::bad_scope,
                  .detail = "the token's scope leaves no room for a conversation of this request below it (" +
                            scope.error().detail + "); name a scope"};
  return *scope;
}

/// Stops the turn as its author would, from any thread.
void cancel_for(const std::shared_ptr<shared_state>& state, const turns::message_order& order,
                const operation_id& turn) {
  cancel_order c;
  c.by_token = order.by;
  c.target = records::target_operation{turn};
  c.if_unknown = unknown_id::is_refused;
  c.reason = std::string(disconnect_reason);
  c.by = order.author;
  c.via_channel = order.via_channel;
  state->controller.cancel_claimed(std::move(c), service::may_target::live_target, std::make_shared<order_claim>(),
                                   [turn](const outcome<cancel_view>& done) {
                                     if (!done && done.error().error.code !=
                                                      error_code::operation_not_found) // it has ended meanwhile
                                       spdlog::error("turn {} was not stopped although its client has disconnected: {}",
                                                     turn.text(), done.error().error.detail);
                                   });
}

/// The text by which a repeat of this request is known: most of these clients name neither their requests nor their
/// messages.
std::string request_key(const exchange& x, const client_request& wanted, const turns::message_order& order) {
  const auto& conversation = wanted.conversation;
  std::string all;
  const auto add = [&all](std::string_view part) {
    all += std::to_string(part.size()) + ':';
    all += part;
  };
  for (const auto& part : {x.share_key(), wanted.channel, wanted.scope ? wanted.scope->text() : "", wanted.agent,
                           order.author.id, order.text, context_text(conversation.before)})
    add(part);
  if (wanted.again != client_request::again_as::nothing)
    add(wanted.again == client_request::again_as::edited ? "edited" : "again");
  for (const auto& image : conversation.images) add(image.type + std::to_string(image.bytes.size()));
  if (wanted.page_request.empty()) return sha256_hex(all);
  add(wanted.page_request);
  return std::string(names_its_message) + sha256_hex(all);
}

/// The turn that this request began before a restart of quelld, if its client has not returned yet.
awaitable<bool> takes_turn_back(exchange& x, client_turn& begun) {
  auto& turns = *x.gw.options.turns;
  co_await know_lost_clients(x.gw);
  if (!turns.clients()->awaits_any()) co_return false;
  const auto newest = [](store_reader& q) { return q.newest_event(); };
  const auto after = co_await x.gw.read<std::uint64_t>(newest, lane::urgent);
  // From here on without a pause: a turn that was taken back has its owner.
  const auto back = turns.clients()->returns_with(begun.order.client->request);
  if (!back) co_return false;
  begun.order.scope = back->scope;
  begun.decided.decision = turns::message_answer::decided::turn;
  begun.decided.turn = back->turn;
  begun.decided.is_duplicate = true;
  begun.after = after;
  begun.owned = owned_by_client(x, begun);
  co_return true;
}

/// Such clients do not say what a message is. One whose author is asked by the running turn is the answer, and its
/// client gets the rest of that turn.
awaitable<bool> answers_question(exchange& x, client_turn& begun) {
  auto& turns = *x.gw.options.turns;
  const auto open = turns.runtime()->questions.open_in(begun.order.scope);
  const auto is_for_author = [&](const auto& one) { return one.second.owner == begun.order.author.id; };
  if (std::none_of(open.begin(), open.end(), is_for_author)) co_return false;
  auto order = begun.order;
  order.during = turns::during_turn::answer;
  order.client.reset(); // nobody waits for the turn of the answer itself
  order.claim = std::make_shared<order_claim>();
  using decision = outcome<turns::message_answer>;
  std::function<void(std::function<void(decision)>)> call = [&turns, &order](auto reply) {
    turns.take(order, std::move(reply));
  };
  auto decided = co_await ask_for_sure<decision>(x.gw.io, order.claim, call);
  if (!decided && decided.error().error.code == error_code::not_paused) co_return false; // it is a message like others
  if (!decided) throw from_refusal(decided.error());
  begun.decided = std::move(*decided);
  if (begun.decided.during != turns::during_turn::answer || !begun.decided.met) co_return true;
  begun.decided.turn = begun.decided.met;
  co_return true;
}

/// A client that shows nothing but answers would show nothing: it gets an error that says why nobody answers.
void refuse_ignored(const client_turn& begun, const client_request& wanted) {
  const auto& decided = begun.decided;
  const bool is_ignored = decided.decision == turns::message_answer::decided::ignored;
  if (!is_ignored || decided.why == "nothing_active" || wanted.channel == a2a_channel) return;
  throw problem{.code = error_code::forbidden,
                .detail = "the message was not answered (" + decided.why + "): nobody speaks to agents in scope " +
                          begun.order.scope.text() + "; name another scope, or list this place in its [[place]]"};
}

} // namespace

std::string words_without_turn(const turns::message_answer& decided) {
  if (!decided.cancel) return "There is nothing to stop.";
  return "Stopping " + std::to_string(decided.operations) + (decided.operations == 1 ? " operation." : " operations.");
}

std::shared_ptr<owned_turn> owned_by_client(exchange& x, const client_turn& begun) {
  const auto turn = *begun.decided.turn;
  return std::make_shared<owned_turn>(
      x.gw.shared, turn, [state = x.gw.shared, order = begun.order, turn] { cancel_for(state, order, turn); });
}

std::optional<std::string> base_for(const turns::agent_settings& agent, const caller& who) {
  if (agent.is_only_spawned) return std::nullopt;
  const auto own = who.prefix ? who.prefix->text() : std::string();
  if (agent.scopes.empty()) return own;
  for (const auto& served : agent.scopes)
    if (who.prefix && who.prefix->is_at_or_below(served)) return own;
  for (const auto& served : agent.scopes)
    if (!who.prefix || served.is_at_or_below(*who.prefix)) return served.text();
  return std::nullopt;
}

awaitable<client_turn> begin_client_turn(exchange& x, client_request wanted) {
  auto& gw = x.gw;
  if (wanted.scope && !wanted.agent.empty()) agent_named(x, wanted);
  client_turn begun;
  auto& order = begun.order;
  order.scope = wanted.scope ? *wanted.scope : fresh_scope(x, wanted);
  need_scope(x, order.scope);
  need_unreserved(order.scope);
  order.text = std::move(wanted.conversation.text);
  // In a fresh scope there is nothing to stop.
  const auto& is_stop = gw.options.is_stop_word;
  using again = client_request::again_as;
  const bool stops =
      wanted.again != again::as_it_was && wanted.scope && is_stop && is_stop(order.scope, order.text, {});
  if (x.too_often && !stops) throw *x.too_often;
  if (wanted.author) need_to_act_for_others(x, "user");
  order.author = wanted.author.value_or(x.who.owner);
  order.during = wanted.during;
  order.answers = wanted.answers;
  order.by = x.who;
  order.via_channel = wanted.channel;
  order.client_id = std::move(wanted.client_id);
  if (!stops && !wanted.outlives_client) {
    order.client = turns::stream_client{request_key(x, wanted, order)};
    if (co_await takes_turn_back(x, begun)) co_return begun;
  }
  if (!stops) x.bring(order.scope, order.author.id);
  if (!wanted.agent.empty()) order.agent = wanted.agent;
  order.labels = wanted.labels;
  // A fresh conversation has nothing to replace.
  const bool wants_again = wanted.scope && !stops && wanted.again != again::nothing;
  std::optional<operation_id> from;
  if (wants_again && !wanted.page_message.empty()) {
    auto search = turn_of_page_message(x, order.scope, wanted.page_message);
    from = co_await std::move(search);
  }
  const bool is_again = wants_again && (from || wanted.again == again::as_it_was);
  // A conversation that quell keeps has its history already, with its images. A stop waits for no disk.
  auto images = shown_images(wanted.conversation, wanted.scope ? shown_messages::newest : shown_messages::all);
  const auto keep = wanted.scope ? milliseconds{0} : keep_files_of_one_request;
  if (!stops && (!is_again || wanted.again == again::edited)) co_await store_images(x, order, std::move(images), keep);
  x.req.upload.reset();
  if (!wanted.scope) order.context = context_text(wanted.conversation.before);
  const auto newest = [](store_reader& q) { return q.newest_event(); };
  begun.after = co_await gw.read<std::uint64_t>(newest, lane::urgent);
  if (is_again) {
    auto rewrite = ask_again(x, begun, wanted, from);
    co_await std::move(rewrite);
    co_return begun;
  }
  if (wanted.scope && !stops && wanted.channel != a2a_channel && co_await answers_question(x, begun)) {
    if (begun.decided.turn && !wanted.outlives_client) begun.owned = owned_by_client(x, begun);
    co_return begun;
  }
  order.claim = std::make_shared<order_claim>();
  using decision = outcome<turns::message_answer>;
  std::function<void(std::function<void(decision)>)> call = [&gw, &order](auto reply) {
    gw.options.turns->take(order, std::move(reply));
  };
  auto decided = co_await ask_for_sure<decision>(gw.io, order.claim, call);
  if (!decided) throw from_refusal(decided.error());
  begun.decided = std::move(*decided);
  refuse_ignored(begun, wanted);
  if (begun.decided.decision != turns::message_answer::decided::turn || !begun.decided.turn) co_return begun;
  if (wanted.outlives_client) co_return begun;
  begun.owned = owned_by_client(x, begun);
  co_return begun;
}

} // namespace quell::controller::http
