// An incremental reader of the server's stream: its opening, whole stanzas, its end. Pure.
//
// The memory that a peer can use is bounded: bytes, depth and elements of a stanza. Document types are refused, so
// there are no entities except XML's own five. The parser remembers every name that it has seen, so a new one replaces
// it, between two stanzas, before that adds up.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "integrations/chat/xmpp/xml.hpp"

namespace quell::integrations::chat::xmpp {

struct stream_limits {
  std::size_t stanza_bytes = 256 << 10;
  std::size_t depth = 24;
  std::size_t elements = 2'000;       ///< of one stanza
  std::size_t attributes = 64;        ///< of one element
  std::size_t parser_bytes = 1 << 20; ///< then a new parser
};

struct stream_opened {
  std::string id, from;
};
struct stream_closed {};
using stream_event = std::variant<stream_opened, element, stream_closed>;

class stream_reader {
 public:
  explicit stream_reader(stream_limits limits = {});
  ~stream_reader();

  /// The events that these bytes complete, in order. After a fault nothing more is read.
  std::vector<stream_event> feed(std::string_view bytes);
  /// The reason why reading ended: malformed XML or an exceeded limit. "" = not ended.
  const std::string& fault() const;
  /// Prepares for the next stream.
  void clear();

 private:
  struct parser;
  std::unique_ptr<parser> parser_;
  stream_limits limits_;
};

} // namespace quell::integrations::chat::xmpp
