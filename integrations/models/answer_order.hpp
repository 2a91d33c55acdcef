// An answer with thinking, piece by piece in the order in which the model made it. Pure.
#pragma once

#include <algorithm>
#include <string_view>

#include "integrations/models/text.hpp"
#include "protocol/conversation.hpp"
#include "protocol/utf8.hpp"

namespace quell::integrations {

/// Calls `text(std::string_view)`, `call(tool_call)` and `thought(thinking_block)`: each piece of thinking behind the
/// text and the calls that came before it. A text between two of them that is blank is left out.
template <class Text, class Call, class Thought>
void in_order(const assistant_message& answer, Text text, Call call, Thought thought) {
  const std::string_view whole = answer.text;
  std::size_t stated = 0, called = 0;
  const auto go_on = [&](std::size_t text_end, std::size_t calls_end) {
    text_end = character_boundary(whole, std::min(text_end, whole.size()));
    if (text_end > stated) {
      if (const auto piece = whole.substr(stated, text_end - stated); !blank(piece)) text(piece);
      stated = text_end;
    }
    for (; called < std::min(calls_end, answer.calls.size()); ++called) call(answer.calls[called]);
  };
  for (const thinking_block& one : answer.thinking) {
    go_on(one.text_before, one.calls_before);
    thought(one);
  }
  go_on(whole.size(), answer.calls.size());
}

} // namespace quell::integrations
