// The model is asked outside of the ledger: it is no work that anybody would have to stop, and it cannot begin any.
#include "controller/turns/acknowledge.hpp"

#include <nlohmann/json.hpp>

#include "protocol/utf8.hpp"

namespace quell::controller::turns {

namespace {

constexpr std::chrono::milliseconds patience{2500};
constexpr std::size_t most_characters = 220;
constexpr std::uint32_t most_tokens = 120;
constexpr int most_at_once = 32;
constexpr std::size_t most_kept_bytes = 8 << 10;
constexpr const char* reaction = "\xF0\x9F\x9B\x91"; // 🛑
constexpr const char* phrase = "Okay, stopped.";

std::string listed(const std::vector<std::string>& names) {
  std::string all;
  for (const auto& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

/// One line, without the blanks around it, and not too long to be read aloud.
std::string one_line(const std::string& said) {
  std::string line;
  for (const char c : said) {
    const bool is_blank = c == ' ' || (c >= '\t' && c <= '\r');
    if (!is_blank)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  if (code_points(line) <= most_characters) return line;
  std::size_t end = 0;
  for (std::size_t count = 0; count + 1 < most_characters; ++count) {
    ++end;
    while (end < line.size() && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) ++end;
  }
  return line.substr(0, end) + "\xE2\x80\xA6";
}

} // namespace

/// A model that was asked, until it answered, failed, or time was up.
struct acknowledger::asked {
  stop_said what;
  std::mutex guard;
  std::string said;
  bool is_over = false;
  std::unique_ptr<integrations::model_call> call;
};

const integrations::model_settings* acknowledger::model_for(const stop_said& what) const {
  const auto& named = parts_->settings.chat.acknowledgement_model;
  if (named == "none") return nullptr;
  if (!named.empty()) return parts_->settings.model(named);
  const auto* agent = agent_for(parts_->settings, what.scope, what.agent);
  return agent && !agent->is_command() ? parts_->settings.model(agent->model) : nullptr;
}

std::string acknowledger::instructions_for(const stop_said& what) const {
  const auto* agent = agent_for(parts_->settings, what.scope, what.agent);
  std::string text = agent && !agent->instructions.empty() ? agent->instructions + "\n\n" : "";
  text += "The user has just told you to stop, and you have stopped. Interrupted: " +
          (what.interrupted.empty() ? std::string("your reply") : listed(what.interrupted)) +
          ". Acknowledge this in one short sentence of at most 220 characters. Do not continue the interrupted work, "
          "do not start it again, do not call tools, and do not offer to resume unless you are asked.";
  return text;
}

void acknowledger::acknowledge(stop_said what) {
  const auto* model = what.is_first ? model_for(what) : nullptr;
  if (!model || asking_.load() >= most_at_once) return tell(what, {});
  ++asking_;
  auto settings = *model;
  settings.max_tokens = std::min(settings.max_tokens, most_tokens);
  settings.retries = 0;
  settings.connect_timeout = settings.first_event_timeout = settings.idle_timeout = settings.whole_timeout = patience;
  auto a = std::make_shared<asked>();
  a->what = std::move(what);
  model_request request{instructions_for(a->what), {user_message{a->what.text}}, {}};
  const auto listen = [self = shared_from_this(), a](const model_event& e) {
    if (const auto* text = std::get_if<model_events::text>(&e)) {
      const std::lock_guard lock(a->guard);
      if (a->said.size() < most_kept_bytes) a->said += text->delta;
    } else if (std::holds_alternative<model_events::finished>(e) || std::holds_alternative<model_events::failed>(e)) {
      const bool well = std::holds_alternative<model_events::finished>(e);
      self->parts_->lookups->run([self, a, well](storage::queries&) {
        std::string said;
        {
          const std::lock_guard lock(a->guard);
          if (well) said = a->said;
        }
        self->finish(a, one_line(said));
      });
    }
  };
  {
    const std::lock_guard lock(parts_->models_guard);
    if (!parts_->models) return finish(a, {});
    auto call = parts_->models->ask(settings, std::move(request), listen);
    const std::lock_guard own(a->guard);
    a->call = std::move(call);
  }
  parts_->lookups->run_after(patience, [self = shared_from_this(), a](storage::queries&) { self->finish(a, {}); });
}

/// The first word counts.
void acknowledger::finish(const std::shared_ptr<asked>& a, std::string text) {
  std::unique_ptr<integrations::model_call> call;
  {
    const std::lock_guard lock(a->guard);
    if (std::exchange(a->is_over, true)) return;
    call = std::move(a->call);
  }
  call.reset(); // hangs up; waits for a listener that runs right now, so no lock is held
  --asking_;
  tell(a->what, std::move(text));
}

void acknowledger::tell(const stop_said& what, std::string text) {
  if (text.empty() && what.modality == modality::voice) text = phrase;
  parts_->heart.ask([what, text = std::move(text)](ledger& l, moment now) -> std::function<void()> {
    const bool in_words = !text.empty();
    if (in_words) {
      storage::message_record m;
      m.id = message_id::fresh();
      m.scope = what.scope;
      m.role = storage::message_role::assistant;
      m.text = text;
      l.actors()->add_message(std::move(m), now);
    }
    l.actors()->acknowledged(what.message);
    storage::event_record e;
    e.type = "acknowledgement";
    e.scope = what.scope;
    e.cancel = what.cancel;
    const nlohmann::ordered_json data = {
        {"message", what.message.text()},
        {"cancel", what.cancel.text()},
        {"text", in_words ? nlohmann::ordered_json(text) : nlohmann::ordered_json()},
        {"reaction", in_words ? nlohmann::ordered_json() : nlohmann::ordered_json(reaction)}};
    e.data = data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    l.add_event(std::move(e), now);
    return [] {};
  });
}

void acknowledger::make_up_for(const std::vector<storage::message_record>& left) {
  for (const auto& m : left) {
    const auto kept = read_kept(m.decision);
    if (!kept.cancel) continue;
    stop_said what;
    what.message = m.id;
    what.cancel = *kept.cancel;
    what.scope = m.scope;
    what.modality = kept.modality;
    tell(what, {});
  }
}

} // namespace quell::controller::turns
