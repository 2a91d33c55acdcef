// Arbitrary wire messages: an inspector that fills a message's fields with values of rapidcheck.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include <rapidcheck.h>

#include "protocol/codec.hpp"
#include "protocol/messages.hpp"

namespace quell::testing {

/// For use inside a property. Small sizes, extreme values.
class message_filler {
 public:
  template <class... Fields>
  void operator()(Fields&... fields) {
    (fill(fields), ...);
  }

  template <class T>
  void fill(T& value) {
    if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(*rc::gen::inRange<std::size_t>(0, count_of<T>()));
    } else if constexpr (std::is_same_v<T, bool>) {
      value = *rc::gen::arbitrary<bool>();
    } else if constexpr (std::is_integral_v<T>) {
      using limits = std::numeric_limits<T>;
      value = *rc::gen::oneOf(rc::gen::arbitrary<T>(), rc::gen::element<T>(limits::min(), limits::max(), 0));
    } else if constexpr (std::is_same_v<T, wall_time>) {
      const auto most = wire::max_instant.time_since_epoch().count();
      value = wall_time{milliseconds{*rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, most), rc::gen::just(most))}};
    } else if constexpr (std::is_same_v<T, milliseconds>) {
      const auto most = wire::max_duration.count();
      value = milliseconds{*rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, most), rc::gen::just(most))};
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = *rc::gen::resize(40, rc::gen::arbitrary<std::string>());
    } else if constexpr (std::is_same_v<T, scope_path>) {
      value = *scope_path::parse(*rc::gen::element<std::string>("default", "team/build", "a/b/c/d", "x@y:z/+=~._-"));
    } else {
      inspect(*this, value);
    }
  }

  template <class Tag>
  void fill(basic_id<Tag>& id) {
    id.bytes = *rc::gen::arbitrary<uuid_bytes>();
  }

  template <class T>
  void fill(std::optional<T>& value) {
    if (*rc::gen::arbitrary<bool>()) fill(value.emplace());
  }

  template <class T>
  void fill(std::vector<T>& values) {
    values.resize(*rc::gen::inRange<std::size_t>(0, 4));
    for (auto& value : values) fill(value);
  }

  void fill(std::map<std::string, std::string>& values) {
    values = *rc::gen::resize(4, rc::gen::arbitrary<std::map<std::string, std::string>>());
  }
};

/// The I-th alternative of `Variant`, filled.
template <class Variant, std::size_t I = 0>
Variant arbitrary_alternative(std::size_t index) {
  if constexpr (I < std::variant_size_v<Variant>) {
    if (index != I) return arbitrary_alternative<Variant, I + 1>(index);
    std::variant_alternative_t<I, Variant> m;
    message_filler filler;
    inspect(filler, m);
    return m;
  } else {
    throw std::out_of_range("no such alternative");
  }
}

inline wire::envelope arbitrary_envelope(std::size_t index) {
  wire::envelope frame;
  message_filler filler;
  filler(frame.session, frame.number, frame.ack);
  frame.body = arbitrary_alternative<wire::message>(index);
  return frame;
}

} // namespace quell::testing
