// Each step is one closure on the controller's thread, so that rows that belong together reach the disk together.
#include "actors/turns/turn_port.hpp"

#include "actors/turns/endings.hpp"
#include "actors/turns/tool_input.hpp"

namespace quell::controller::turns {

namespace {

/// The most bytes of a result in the call's operation; the history keeps the whole result.
constexpr std::size_t most_kept_with_call = 64 << 10;

fault low_on_space() {
  return {"storage_unavailable", "the state directory is almost full: free some space, then ask again", {}};
}

class http_stream final : public actors::model_stream {
 public:
  explicit http_stream(std::unique_ptr<integrations::model_call> call) : call_(std::move(call)) {}
  void hang_up(std::function<void()> closed) override { call_->cancel(std::move(closed)); }

 private:
  std::unique_ptr<integrations::model_call> call_;
};

} // namespace

caller agent_runtime::acting_for(const records::person& owner) {
  caller by;
  by.role = role::admin;
  by.owner = owner;
  by.token_name = by.token_id = own_token_id;
  return by;
}

records::event_record agent_runtime::event_of(const agent_context& who, std::string type, std::string data) {
  records::event_record e;
  e.type = std::move(type);
  e.scope = who.scope;
  e.operation = who.operation;
  e.root = who.root;
  e.data = std::move(data);
  return e;
}

std::shared_ptr<actors::agent_handle>
turn_port::spawn_with(const std::function<std::shared_ptr<actors::agent_handle>()>& spawn) {
  const std::lock_guard lock(guard_);
  agent_ = spawn();
  return agent_;
}

turn_now turn_port::now_told() const {
  const std::lock_guard lock(guard_);
  return now_;
}

std::optional<actors::turn_effects::end> turn_port::ended() const {
  const std::lock_guard lock(guard_);
  return end_;
}

void turn_port::adopt_calls(const std::vector<operation_id>& calls) {
  const std::lock_guard lock(guard_);
  for (const auto& id : calls) parts_->who.add_call(id, agent_, false);
}

void turn_port::adopt_past(const actors::turn_past& past) {
  const std::lock_guard lock(guard_);
  now_.text = past.text;
  now_.tool_calls = past.tool_calls;
  now_.usage = past.usage;
}

std::uint64_t turn_port::tool_calls() const {
  const std::lock_guard lock(guard_);
  return now_.tool_calls;
}

bool turn_port::take_place() {
  const std::lock_guard lock(guard_);
  if (sub_agents_ >= who_.agent.budget.width) return false;
  ++sub_agents_;
  return true;
}

void turn_port::give_place_back() {
  const std::lock_guard lock(guard_);
  --sub_agents_;
}

actors::tool_traits turn_port::traits(const tool_call& call) {
  auto t = traits_of(who_.tools, parts_->settings.approvals, call);
  // Nobody has configured this agent's rights, and any member of a chat can ask it.
  if (parts_->settings.chat.default_agent_asks && who_.is_by_chat && who_.agent.name == "default" &&
      call.name == "exec" && t.approval_rule.empty())
    t.approval_rule = "exec: by chat";
  return t;
}

void turn_port::open_model_call(std::uint32_t number, actors::answer<result<operation_id>> done) {
  if (parts_->core.is_low()) return done(tl::unexpected(low_on_space()));
  parts_->core.ask([self = shared_from_this(), number, done = std::move(done),
                    id = operation_id::fresh()](ledger& l, moment now) -> std::function<void()> {
    create_order order;
    order.by = agent_runtime::acting_for(self->who_.owner);
    order.kind = kind::model_call;
    order.parent = self->who_.operation;
    order.name = self->who_.model.name;
    order.title = "model call " + std::to_string(number);
    const auto made = l.create(order, id, now);
    if (!made) return [done, why = made.error().error] { done(tl::unexpected(why)); };
    {
      const std::lock_guard lock(self->guard_);
      self->parts_->who.add_call(id, self->agent_, true);
    }
    return [done, id] { done(id); };
  });
}

/// An MCP server promises nothing about a call that was cancelled or timed out.
void turn_port::mark_unknown(tool_results& results) const {
  for (auto& r : results.results) {
    const auto* tool = r.ok ? nullptr : who_.tools.find(r.name);
    if (!tool || tool->how != tool_definition::runs::mcp) continue;
    const bool is_stopped =
        r.cancelled ? r.result != parts_->texts->not_started() : error_of_result(r.result).code == "timeout";
    if (is_stopped) r.result = with_unknown_outcome(r.result);
  }
}

std::unique_ptr<actors::model_stream> turn_port::ask_model(conversation messages,
                                                           std::function<void(model_event)> listener) {
  for (auto& entry : messages)
    if (auto* results = std::get_if<tool_results>(&entry)) mark_unknown(*results);
  model_request request{who_.agent.instructions, std::move(messages), who_.tools.offers()};
  const std::lock_guard lock(parts_->models_guard);
  if (!parts_->models) return nullptr;
  return std::make_unique<http_stream>(parts_->models->ask(who_.model, std::move(request), std::move(listener)));
}

void turn_port::close_model_call(const operation_id& id, std::optional<fault> failed, const model_usage& usage) {
  {
    const std::lock_guard lock(guard_);
    now_.usage.input_tokens += usage.input_tokens;
    now_.usage.output_tokens += usage.output_tokens;
    now_.usage.cached_input_tokens += usage.cached_input_tokens;
  }
  parts_->core.ask([self = shared_from_this(), id, failed = std::move(failed),
                    usage](ledger& l, moment now) -> std::function<void()> {
    own_outcome end;
    end.evidence = proof::connection_closed;
    if (failed) {
      end.as = status::failed;
      end.error = records::operation_error{failed->code, failed->detail};
    } else {
      end.result = turn_result({}, usage, 0);
    }
    l.actors()->finish_local(id, end, now);
    return [] {};
  });
}

void turn_port::store_answer(const assistant_message& what, const std::vector<actors::tool_traits>& traits,
                             const model_usage& usage, actors::answer<result<std::vector<operation_id>>> done) {
  if (parts_->core.is_low()) return done(tl::unexpected(low_on_space()));
  {
    const std::lock_guard lock(guard_);
    now_.tool_calls += what.calls.size();
  }
  parts_->core.ask([self = shared_from_this(), what, traits, usage,
                    done = std::move(done)](ledger& l, moment now) -> std::function<void()> {
    const auto& who = self->who_;
    records::message_record m;
    m.id = message_id::fresh();
    m.scope = who.scope;
    m.role = records::message_role::assistant;
    m.turn = who.operation;
    m.aside = who.is_sub_agent;
    m.text = what.text;
    m.interrupted = what.interrupted;
    m.usage = usage;
    const auto seq = l.actors()->add_message(m, now);
    std::vector<operation_id> ids;
    for (std::size_t i = 0; i < what.calls.size(); ++i) {
      records::call_record call;
      call.answer = seq;
      call.position = static_cast<std::uint32_t>(i);
      call.call = what.calls[i].call;
      call.name = what.calls[i].name;
      call.input = what.calls[i].input;
      create_order order;
      order.by = agent_runtime::acting_for(who.owner);
      order.kind = kind::tool_call;
      order.parent = who.operation;
      order.name = what.calls[i].name;
      order.title = what.calls[i].name;
      order.later = true;
      order.kind_data = call_block(what.calls[i], traits[i].exclusive, traits[i].timeout, traits[i].approval_rule);
      order.call = call;
      const auto id = operation_id::fresh();
      ids.push_back(id);
      if (l.create(order, id, now)) {
        const std::lock_guard lock(self->guard_);
        self->parts_->who.add_call(id, self->agent_, false);
      } else { // told to stop meanwhile: it never becomes an operation, but the conversation stays complete
        call.operation = id;
        l.actors()->add_closed_call(std::move(call));
      }
    }
    if (!what.calls.empty()) {
      m.id = message_id::fresh();
      m.role = records::message_role::tool;
      m.text.clear();
      m.interrupted = false;
      m.usage = {};
      l.actors()->add_message(m, now);
    }
    return [done, ids] { done(ids); };
  });
}

void turn_port::begin_call(const operation_id& call, actors::answer<bool> done) {
  parts_->core.ask([call, done = std::move(done)](ledger& l, moment now) -> std::function<void()> {
    const bool may = l.actors()->start_local(call, now).has_value();
    return [done, may] { done(may); };
  });
}

records::call_outcome turn_port::outcome_of(const tool_result& what) const {
  return {what.ok, what.cancelled, bounded_result(what.result, most_result_bytes, what.ok)};
}

void turn_port::close_call(const operation_id& call, const tool_result& what, actors::answer<tool_result> done) {
  parts_->core.ask(
      [self = shared_from_this(), call, what, done = std::move(done)](ledger& l, moment now) -> std::function<void()> {
        own_outcome end;
        end.call = self->outcome_of(what);
        end.result = bounded_result(end.call->result, most_kept_with_call, what.ok);
        if (!what.ok) {
          end.as = status::failed;
          end.error = what.cancelled ? records::operation_error{"error", "cancelled with its turn or its work"}
                                     : error_of_result(what.result);
        }
        if (const auto* tool = self->who_.tools.find(what.name); tool && tool->how == tool_definition::runs::mcp) {
          end.how = receipt::unconfirmed; // what the server does with the call is unknown
          end.evidence = proof::none;
        }
        auto stands = what;
        stands.result = end.call->result;
        if (!l.actors()->finish_local(call, end, now) && !what.cancelled) {
          stands.ok = false;
          stands.cancelled = true;
          stands.result = self->parts_->texts->cancelled();
        }
        return [done, stands = std::move(stands)] { done(stands); };
      });
}

void turn_port::time_out_call(const operation_id& call, const tool_result& what, actors::answer<tool_result> done) {
  parts_->core.ask(
      [self = shared_from_this(), call, what, done = std::move(done)](ledger& l, moment now) -> std::function<void()> {
        l.actors()->stop_local(call, stop_cause::timeout, self->outcome_of(what), now);
        return [done, what] { done(what); };
      });
}

} // namespace quell::controller::turns
