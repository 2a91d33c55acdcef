// The blocks of the IANA special-purpose registries (RFC 6890 and its updates).
#include "protocol/public_address.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <netinet/in.h>

namespace quell {

namespace {

struct address_block {
  std::uint32_t network;
  int bits;
};

constexpr std::array<address_block, 15> special_blocks{{{0x00000000, 8},
                                                        {0x0A000000, 8},
                                                        {0x64400000, 10},
                                                        {0x7F000000, 8},
                                                        {0xA9FE0000, 16},
                                                        {0xAC100000, 12},
                                                        {0xC0000000, 24},
                                                        {0xC0000200, 24},
                                                        {0xC0586300, 24},
                                                        {0xC0A80000, 16},
                                                        {0xC6120000, 15},
                                                        {0xC6336400, 24},
                                                        {0xCB007100, 24},
                                                        {0xE0000000, 4},
                                                        {0xF0000000, 4}}};

bool is_public_4(std::uint32_t a) {
  for (const auto& b : special_blocks)
    if ((a & (~std::uint32_t{0} << (32 - b.bits))) == b.network) return false;
  return true;
}

std::uint32_t word_at(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

bool is_public_6(const std::uint8_t* a) {
  static constexpr std::uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  static constexpr std::uint8_t translated[12] = {0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0};
  if (std::memcmp(a, mapped, 12) == 0 || std::memcmp(a, translated, 12) == 0) return is_public_4(word_at(a + 12));
  if (a[0] == 0x20 && a[1] == 0x02) return is_public_4(word_at(a + 2)); // 6to4
  if ((a[0] & 0xe0) != 0x20) return false;                              // only 2000::/3 is assigned
  if (word_at(a) == 0x20010db8) return false;                           // documentation
  return !(a[0] == 0x20 && a[1] == 0x01 && (a[2] & 0xfe) == 0);         // 2001::/23, which includes Teredo
}

} // namespace

bool is_public_address(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, address, sizeof in);
    return is_public_4(ntohl(in.sin_addr.s_addr));
  }
  if (address->sa_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, address, sizeof in);
    return is_public_6(in.sin6_addr.s6_addr);
  }
  return false;
}

} // namespace quell
