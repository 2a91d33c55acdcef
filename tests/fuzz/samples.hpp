// One or more real frames of every kind: the seeds of corpora.
#pragma once

#include <vector>

#include "protocol/messages.hpp"

namespace quell::fuzz {

/// The id number `n` of these targets, a UUIDv7 that is the same in every run.
template <class Id>
Id id_number(std::uint8_t n) {
  Id id;
  id.bytes = {0x01, 0x9a, 0xa0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, n};
  return id;
}

std::vector<wire::envelope> sample_frames();
std::vector<wire::bulk_message> sample_bulk();

} // namespace quell::fuzz
