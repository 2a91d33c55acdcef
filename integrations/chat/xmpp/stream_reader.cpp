// Expat with few features enabled.
#include "integrations/chat/xmpp/stream_reader.hpp"

#include <algorithm>
#include <utility>

#include <expat.h>

// Exists only since a security update of Debian 12, and must then be called.
extern "C" XML_Bool XML_SetReparseDeferralEnabled(XML_Parser parser, XML_Bool enabled) __attribute__((weak));

namespace quell::integrations::chat::xmpp {
namespace {

constexpr char between = ' '; ///< separates namespace and local name in Expat's output: neither can contain a space
constexpr std::size_t most_header = 8 << 10;

std::pair<std::string_view, std::string_view> split_name(std::string_view name) {
  const auto at = name.find(between);
  if (at == std::string_view::npos) return {{}, name};
  auto local = name.substr(at + 1);
  return {name.substr(0, at), local.substr(0, local.find(between))};
}

} // namespace

struct stream_reader::parser {
  explicit parser(const stream_limits& l) : limits(l) { make(); }
  ~parser() { XML_ParserFree(expat); }
  parser(const parser&) = delete;
  parser& operator=(const parser&) = delete;

  void make() {
    expat = XML_ParserCreateNS("UTF-8", between);
    XML_SetUserData(expat, this);
    XML_SetElementHandler(expat, started, ended);
    XML_SetCharacterDataHandler(expat, on_text);
    XML_SetStartDoctypeDeclHandler(expat, declared);
    // Otherwise a stanza that arrives in two pieces waits for the next one. The cost that deferral prevents, reparsing
    // a long token for each of its pieces, is bounded by the size of a stanza.
    if (XML_SetReparseDeferralEnabled) XML_SetReparseDeferralEnabled(expat, XML_FALSE);
    fed = event_end = stanza_begin = 0;
    depth = 0;
  }

  void refuse(std::string why) {
    if (fault.empty()) fault = std::move(why);
    XML_StopParser(expat, XML_FALSE);
  }

  /// Parses `bytes` and returns the number of bytes read: fewer than all if a new parser is due.
  std::size_t parse(std::string_view bytes) {
    const auto before = fed;
    fed += bytes.size();
    const auto status = XML_Parse(expat, bytes.data(), static_cast<int>(bytes.size()), XML_FALSE);
    if (status == XML_STATUS_SUSPENDED) return event_end - before;
    if (status == XML_STATUS_ERROR && fault.empty())
      fault = std::string("the server's XML is broken: ") + XML_ErrorString(XML_GetErrorCode(expat));
    if (fault.empty() && is_open) { // an endless token, or a stanza
      const auto begin = open.empty() ? event_end : stanza_begin;
      if (fed - std::min(fed, begin) > limits.stanza_bytes) refuse("a stanza is larger than this connector takes");
    } else if (fault.empty() && fed > most_header) {
      refuse("the stream does not begin");
    }
    return bytes.size();
  }

  void replace() {
    XML_ParserFree(expat);
    make();
    is_old = false;
    is_replaying = true;
    parse(header);
    is_replaying = false;
  }

  std::size_t here() const { return static_cast<std::size_t>(std::max<XML_Index>(XML_GetCurrentByteIndex(expat), 0)); }
  std::size_t here_end() const { return here() + static_cast<std::size_t>(XML_GetCurrentByteCount(expat)); }

  static void XMLCALL started(void* self, const XML_Char* name, const XML_Char** attributes) {
    static_cast<parser*>(self)->start(name, attributes);
  }
  static void XMLCALL ended(void* self, const XML_Char*) { static_cast<parser*>(self)->end(); }
  static void XMLCALL on_text(void* self, const XML_Char* text, int length) {
    auto& p = *static_cast<parser*>(self);
    p.event_end = p.here_end();
    if (!p.open.empty()) p.open.back().text.append(text, static_cast<std::size_t>(length));
  }
  static void XMLCALL declared(void* self, const XML_Char*, const XML_Char*, const XML_Char*, int) {
    static_cast<parser*>(self)->refuse("the server sends a document type, which XMPP forbids");
  }

  void start(const XML_Char* name, const XML_Char** attributes) {
    if (!fault.empty()) return;
    event_end = here_end();
    if (++depth > limits.depth) return refuse("a stanza is nested deeper than this connector takes");
    element e;
    const auto [space, local] = split_name(name);
    e.space = space;
    e.name = local;
    for (std::size_t i = 0; attributes[i]; i += 2) {
      if (i / 2 >= limits.attributes) return refuse("an element has more attributes than this connector takes");
      // A namespaced attribute keeps its namespace, so it is never mistaken for one of ours.
      e.attributes.emplace_back(attributes[i], attributes[i + 1]);
    }
    if (depth == 1) {
      if (is_replaying) return;
      if (e.name != "stream" || e.space != "http://etherx.jabber.org/streams")
        return refuse("what answers is not an XMPP server");
      is_open = true;
      header = seen.substr(0, event_end);
      std::string().swap(seen);
      events.push_back(stream_opened{std::string(e.attribute("id")), std::string(e.attribute("from"))});
      return;
    }
    if (depth == 2) {
      stanza_begin = here();
      elements = 0;
    }
    if (++elements > limits.elements) return refuse("a stanza has more elements than this connector takes");
    open.push_back(std::move(e));
  }

  void end() {
    if (!fault.empty()) return;
    event_end = here_end();
    if (--depth == 0) {
      is_open = false;
      events.push_back(stream_closed{});
      return;
    }
    auto e = std::move(open.back());
    open.pop_back();
    if (!open.empty()) {
      open.back().children.push_back(std::move(e));
      return;
    }
    events.push_back(std::move(e));
    if (event_end < limits.parser_bytes) return;
    is_old = true;
    XML_StopParser(expat, XML_TRUE);
  }

  XML_Parser expat = nullptr;
  const stream_limits& limits;
  std::string seen;   ///< until the stream is open
  std::string header; ///< the received opening, which a new parser needs
  std::vector<element> open;
  std::vector<stream_event> events;
  std::string fault;
  std::size_t fed = 0, event_end = 0, stanza_begin = 0, depth = 0, elements = 0;
  bool is_open = false, is_replaying = false, is_old = false;
};

stream_reader::stream_reader(stream_limits limits) : limits_(limits) { clear(); }
stream_reader::~stream_reader() = default;

void stream_reader::clear() { parser_ = std::make_unique<parser>(limits_); }

const std::string& stream_reader::fault() const { return parser_->fault; }

std::vector<stream_event> stream_reader::feed(std::string_view bytes) {
  while (!bytes.empty() && parser_->fault.empty()) {
    auto piece = bytes.substr(0, 16 << 10); // so that limits are checked in between
    if (!parser_->is_open && parser_->header.empty()) parser_->seen += piece;
    const auto read = parser_->parse(piece);
    bytes.remove_prefix(std::min(read, piece.size()));
    if (parser_->is_old) parser_->replace();
  }
  return std::exchange(parser_->events, {});
}

} // namespace quell::integrations::chat::xmpp
