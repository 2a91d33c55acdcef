// Messages of a room from while we were out of it, if its server keeps an archive (XEP-0313): fetched after each join,
// starting after the last message about which quelld has decided.
#include <algorithm>
#include <ctime>

#include <nlohmann/json.hpp>

#include "integrations/chat/xmpp/session.hpp"
#include "integrations/models/text.hpp"

namespace quell::integrations::chat::xmpp {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr auto oldest = 24h;       ///< as long as repeated messages are recognised
constexpr auto longest_wait = 30s; ///< longest wait of messages that arrive meanwhile
constexpr unsigned most_pages = 10;
constexpr std::size_t page = 50, most_archive_id = 1024;
constexpr std::string_view archive = "urn:xmpp:mam:2", info = "http://jabber.org/protocol/disco#info",
                           sets = "http://jabber.org/protocol/rsm", ours = "jabber:component:accept";

std::string field(std::string_view name, const std::string& value) {
  return "<field" + with("var", name) + "><value>" + escaped(value) + "</value></field>";
}

std::string written(wall_time at) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

/// The message in the form in which occupants received it.
element as_received(const element& kept, const std::string& to, const std::string& room, std::string_view id) {
  auto e = kept;
  e.space = ours;
  for (auto& c : e.children)
    if (c.space == "jabber:client") c.space = ours;
  std::erase_if(e.attributes, [](const auto& a) { return a.first == "to"; });
  e.attributes.emplace_back("to", to);
  std::erase_if(e.children, [](const element& c) { return c.name == "stanza-id"; });
  element stanza_id;
  stanza_id.space = "urn:xmpp:sid:0";
  stanza_id.name = "stanza-id";
  stanza_id.attributes = {{"by", room}, {"id", std::string(id)}};
  e.children.push_back(std::move(stanza_id));
  return e;
}

} // namespace

std::string session::more_to_keep() const {
  json rooms = json::object();
  for (const auto& [bare, r] : rooms_)
    if (!r.last_handled.empty()) rooms[bare] = r.last_handled;
  return json{{"heard", std::move(rooms)}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

void session::recall_more(const std::string& kept) {
  const auto known = json::parse(kept, nullptr, false);
  if (!known.is_object() || !known.contains("heard") || !known["heard"].is_object()) return;
  for (const auto& [bare, id] : known["heard"].items())
    if (const auto r = rooms_.find(bare); r != rooms_.end() && id.is_string())
      r->second.last_handled = id.get<std::string>();
}

void session::is_settled(std::uint64_t mark, bool comes_again) {
  const auto of = deciding_.extract(mark);
  if (of.empty()) return;
  const auto r = rooms_.find(of.mapped().first);
  if (r == rooms_.end()) return;
  if (r->second.undecided > 0) --r->second.undecided;
  // Decisions come in the order of the messages.
  if (!comes_again && !of.mapped().second.empty() && !r->second.gone) {
    r->second.last_handled = of.mapped().second;
    ++handled_changes_;
  }
}

void session::mark_handled(room& r, const std::string& id) {
  if (id.empty() || id.size() > most_archive_id || r.undecided > 0 || r.gone) return;
  r.last_handled = id;
  ++handled_changes_;
}

void session::ask_archive(room& r, boot_time now) {
  if (r.last_handled.empty()) return; // no message was received there yet
  r.gone = past{};
  r.gone->until = now + longest_wait;
  r.gone->query_id = fresh_id();
  out_ += "<iq type='get'" + with("from", me_) + with("to", r.bare) + with("id", r.gone->query_id) + "><query" +
          with("xmlns", info) + "/></iq>";
}

void session::ask_page(room& r, const std::string& after) {
  r.gone->query_id = fresh_id();
  const auto now =
      settings_.clock ? settings_.clock() : std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
  out_ += "<iq type='set'" + with("from", me_) + with("to", r.bare) + with("id", r.gone->query_id) + "><query" +
          with("xmlns", archive) + with("queryid", r.gone->query_id) + "><x xmlns='jabber:x:data' type='submit'>" +
          field("FORM_TYPE", std::string(archive)) + field("start", written(now - oldest)) + "</x><set" +
          with("xmlns", sets) + "><max>" + std::to_string(page) + "</max><after>" + escaped(after) +
          "</after></set></query></iq>";
}

bool session::archive_answers(room& r, const element& e, boot_time now) {
  if (!r.gone || r.gone->query_id.empty() || e.attribute("id") != r.gone->query_id) return false;
  const auto failed = [&] {
    caught_up(r, now);
    return true;
  };
  if (e.attribute("type") != "result") return failed(); // it keeps no archive for us, or no longer knows our position
  if (!r.gone->is_kept) {
    const auto* about = e.child("query", info);
    r.gone->is_kept = about && std::any_of(about->children.begin(), about->children.end(), [](const element& c) {
                        return c.name == "feature" && c.attribute("var") == archive;
                      });
    if (!r.gone->is_kept) return failed();
    ask_page(r, r.last_handled);
    return true;
  }
  const auto* end = e.child("fin", archive);
  const auto* set = end ? end->child("set", sets) : nullptr;
  const auto* last = set ? set->child("last", sets) : nullptr;
  const bool is_last = !last || last->text.empty() || end->attribute("complete") == "true";
  if (is_last || ++r.gone->pages >= most_pages) return failed();
  ask_page(r, last->text);
  return true;
}

void session::hear_archived(room& r, const element& result, boot_time now) {
  const auto id = result.attribute("id");
  if (!r.gone || result.attribute("queryid") != r.gone->query_id || id.empty() || id.size() > most_archive_id) return;
  const auto* forwarded = result.child("forwarded", "urn:xmpp:forward:0");
  const auto* kept = forwarded ? forwarded->child("message") : nullptr;
  if (!kept || (kept->space != "jabber:client" && kept->space != ours)) return;
  const auto from = read_jid(kept->attribute("from"));
  if (from && from->bare == r.bare) take_message_element(as_received(*kept, me_, r.bare, id), reception::missed, now);
}

void session::caught_up(room& r, boot_time now) {
  auto gone = std::move(*r.gone);
  r.gone.reset();
  for (const auto& s : gone.missed_here.stops())
    if (!s.left_out.empty()) outbox_.note(s.scope, not_begun_text(s.left_out.size()), {}, now);
  for (const auto& e : gone.missed_here.take()) take_message_element(e, reception::live, now);
}

} // namespace quell::integrations::chat::xmpp
