// msgpack bytes to messages, driven by the messages' `inspect`. The bytes come from peers and are not trusted: bad ones
// are refused.
//
// Reading takes two passes. The first walks the bytes without allocating and refuses input that is too deep, has too
// many values or is cut off. Only then is the tree of values built, so a 5-byte frame that claims a billion elements
// costs nothing.
#include "protocol/codec.hpp"

#include <concepts>
#include <cstring>
#include <limits>
#include <type_traits>

#define MSGPACK_NO_BOOST
#include <msgpack.hpp>

namespace quell::wire {

namespace {

/// Reads one struct's fields and remembers the first error.
class unpacker {
 public:
  explicit unpacker(const msgpack::object& from) : from_(&from) {}

  /// Called by `inspect` with all fields of a struct: missing trailing ones keep their default, extra ones are ignored.
  template <class... Fields>
  bool operator()(Fields&... fields) {
    if (from_->type != msgpack::type::ARRAY) return wrong("an array of fields");
    const auto& array = from_->via.array;
    std::uint32_t index = 0;
    return (... && (index >= array.size || read_field(array.ptr[index], fields, index)));
  }

  template <class T>
  bool read(const msgpack::object& o, T& value) {
    if constexpr (std::same_as<T, bool>) {
      if (o.type != msgpack::type::BOOLEAN) return wrong("a boolean");
      value = o.via.boolean;
    } else if constexpr (std::is_enum_v<T>) {
      if (o.type != msgpack::type::POSITIVE_INTEGER || o.via.u64 >= count_of<T>()) return wrong("a known enumerator");
      value = static_cast<T>(o.via.u64);
    } else if constexpr (std::integral<T>) {
      return read_integer(o, value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
    } else if constexpr (std::same_as<T, wall_time>) {
      std::int64_t ms = 0;
      if (!read_integer<std::int64_t>(o, ms, 0, max_instant.time_since_epoch().count())) return false;
      value = wall_time{milliseconds{ms}};
    } else if constexpr (std::same_as<T, milliseconds>) {
      std::int64_t ms = 0;
      if (!read_integer<std::int64_t>(o, ms, 0, max_duration.count())) return false;
      value = milliseconds{ms};
    } else if constexpr (std::same_as<T, std::string>) {
      const auto text = string_in(o);
      if (!text) return wrong("a string");
      value.assign(text->data(), text->size());
    } else if constexpr (std::same_as<T, scope_path>) {
      const auto text = string_in(o);
      if (!text) return wrong("a scope");
      auto parsed = scope_path::parse(*text);
      if (!parsed) return wrong("a valid scope");
      value = std::move(*parsed);
    } else {
      const msgpack::object* outer = std::exchange(from_, &o);
      const bool good = inspect(*this, value);
      from_ = outer;
      return good;
    }
    return true;
  }

  template <class Tag>
  bool read(const msgpack::object& o, basic_id<Tag>& id) {
    if (o.type != msgpack::type::BIN || o.via.bin.size != 16) return wrong("an id of 16 bytes");
    std::memcpy(id.bytes.data(), o.via.bin.ptr, 16);
    return true;
  }

  template <class T>
  bool read(const msgpack::object& o, std::optional<T>& value) {
    if (o.type == msgpack::type::NIL) {
      value.reset();
      return true;
    }
    return read(o, value.emplace());
  }

  template <class T>
  bool read(const msgpack::object& o, std::vector<T>& values) {
    if (o.type != msgpack::type::ARRAY || o.via.array.size > max_list_elements) return wrong("a list within its limit");
    values.clear();
    for (std::uint32_t i = 0; i < o.via.array.size; ++i)
      if (!read(o.via.array.ptr[i], values.emplace_back())) return false;
    return true;
  }

  bool read(const msgpack::object& o, std::map<std::string, std::string>& values) {
    if (o.type != msgpack::type::MAP) return wrong("a map");
    values.clear();
    for (std::uint32_t i = 0; i < o.via.map.size; ++i) {
      std::string key, value;
      if (!read(o.via.map.ptr[i].key, key) || !read(o.via.map.ptr[i].val, value)) return false;
      if (!values.emplace(std::move(key), std::move(value)).second) return wrong("a map without a key twice");
    }
    return true;
  }

  /// "field 3, field 0: not a known enumerator"
  std::string error_text() const { return where_ + "not " + what_; }

 private:
  template <class T>
  bool read_field(const msgpack::object& o, T& value, std::uint32_t& index) {
    if (!read(o, value)) {
      where_ = "field " + std::to_string(index) + ": " + where_;
      return false;
    }
    ++index;
    return true;
  }

  template <class T>
  bool read_integer(const msgpack::object& o, T& value, T least, T most) {
    if (o.type == msgpack::type::POSITIVE_INTEGER) {
      if (o.via.u64 > static_cast<std::uint64_t>(most)) return wrong("a number within its limit");
      value = static_cast<T>(o.via.u64);
    } else if (o.type == msgpack::type::NEGATIVE_INTEGER && std::is_signed_v<T>) {
      if (o.via.i64 < static_cast<std::int64_t>(least)) return wrong("a number within its limit");
      value = static_cast<T>(o.via.i64);
    } else {
      return wrong("an integer that fits");
    }
    return true;
  }

  static std::optional<std::string_view> string_in(const msgpack::object& o) {
    if (o.type == msgpack::type::STR) return std::string_view(o.via.str.ptr, o.via.str.size);
    if (o.type == msgpack::type::BIN) return std::string_view(o.via.bin.ptr, o.via.bin.size);
    return std::nullopt;
  }

  bool wrong(const char* expected) {
    what_ = expected;
    return false;
  }

  const msgpack::object* from_;
  std::string where_;
  const char* what_ = "readable";
};

/// First pass: counts values and depth.
class limits_visitor : public msgpack::null_visitor {
 public:
  bool over_limit = false;
  bool visit_nil() { return count(1); }
  bool visit_boolean(bool) { return count(1); }
  bool visit_positive_integer(std::uint64_t) { return count(1); }
  bool visit_negative_integer(std::int64_t) { return count(1); }
  bool visit_float32(float) { return count(1); }
  bool visit_float64(double) { return count(1); }
  bool visit_str(const char*, std::uint32_t) { return count(1); }
  bool visit_bin(const char*, std::uint32_t) { return count(1); }
  bool visit_ext(const char*, std::uint32_t) { return count(1); }
  bool start_array(std::uint32_t size) { return announced(size) && deeper(); }
  bool start_map(std::uint32_t size) { return announced(size) && deeper(); }
  bool end_array() { return --depth_, true; }
  bool end_map() { return --depth_, true; }

 private:
  bool count(std::size_t more) {
    values_ += more;
    over_limit = over_limit || values_ > max_frame_values;
    return !over_limit;
  }
  bool announced(std::uint32_t size) {
    over_limit = over_limit || size > max_frame_values;
    return count(1);
  }
  bool deeper() {
    over_limit = over_limit || ++depth_ > max_frame_depth;
    return !over_limit;
  }

  std::size_t values_ = 0;
  std::size_t depth_ = 0;
};

tl::unexpected<fault> bad_frame(std::string why) { return failure("bad_frame", "frame refused: " + std::move(why)); }

/// The tree of values in `bytes`, an array of at least `least` elements. The tree points into `bytes`.
result<msgpack::object_handle> parse(std::string_view bytes, std::uint32_t least) {
  if (bytes.size() > max_frame_bytes)
    return failure(error_code::too_large, "frame refused: " + std::to_string(bytes.size()) + " bytes, more than " +
                                              std::to_string(max_frame_bytes) + "; send long lists in several frames");
  try {
    limits_visitor limits;
    std::size_t offset = 0;
    const bool whole = msgpack::parse(bytes.data(), bytes.size(), offset, limits);
    if (limits.over_limit) return bad_frame("too many values or nested too deeply");
    if (!whole || offset != bytes.size()) return bad_frame("not one whole msgpack value");
    const auto by_reference = [](msgpack::type::object_type, std::size_t, void*) { return true; };
    auto handle = msgpack::unpack(bytes.data(), bytes.size(), by_reference);
    if (handle->type != msgpack::type::ARRAY || handle->via.array.size < least)
      return bad_frame("not an array of at least " + std::to_string(least) + " elements");
    return handle;
  } catch (const std::exception& e) {
    return bad_frame(e.what());
  }
}

/// Tries the alternatives in order; `Body` becomes the one whose tag matches.
template <class Body, std::size_t I = 0>
result<Body> read_body(std::uint64_t tag, const msgpack::object& fields) {
  if constexpr (I == std::variant_size_v<Body>) {
    return failure("unknown_tag", "frame refused: no message has tag " + std::to_string(tag) + "; is the peer newer?");
  } else {
    using candidate = std::variant_alternative_t<I, Body>;
    if (candidate::tag != tag) return read_body<Body, I + 1>(tag, fields);
    candidate m;
    unpacker reader(fields);
    if (!reader.read(fields, m)) return bad_frame("message " + std::to_string(tag) + ", " + reader.error_text());
    return Body(std::move(m));
  }
}

result<std::uint64_t> read_tag(const msgpack::object& o) {
  if (o.type != msgpack::type::POSITIVE_INTEGER) return bad_frame("the tag is not an unsigned integer");
  return o.via.u64;
}

template <class T>
bool chunk_too_long(const T& m) {
  if constexpr (requires { requires std::same_as<decltype(m.bytes), std::string>; })
    return m.bytes.size() > max_chunk_bytes;
  return false;
}

} // namespace

result<envelope> decode(std::string_view bytes) {
  const auto handle = parse(bytes, 5);
  if (!handle) return tl::unexpected(handle.error());
  const msgpack::object* element = (*handle)->via.array.ptr;
  try {
    envelope frame;
    unpacker reader(**handle);
    if (!reader.read(element[0], frame.session) || !reader.read(element[1], frame.number) ||
        !reader.read(element[2], frame.ack))
      return bad_frame("envelope, " + reader.error_text());
    const auto tag = read_tag(element[3]);
    if (!tag) return tl::unexpected(tag.error());
    auto body = read_body<message>(*tag, element[4]);
    if (!body) return tl::unexpected(body.error());
    if (const auto* unproven = std::get_if<task_unproven>(&*body);
        unproven && unproven->processes.size() > max_listed_processes)
      return bad_frame("task_unproven lists more than " + std::to_string(max_listed_processes) + " processes");
    if (const auto* ended = std::get_if<task_ended>(&*body); ended && ended->left.size() > max_listed_processes)
      return bad_frame("task_ended lists more than " + std::to_string(max_listed_processes) + " processes");
    frame.body = std::move(*body);
    return frame;
  } catch (const std::exception& e) {
    return bad_frame(e.what());
  }
}

result<bulk_message> decode_bulk(std::string_view bytes) {
  const auto handle = parse(bytes, 2);
  if (!handle) return tl::unexpected(handle.error());
  const msgpack::object* element = (*handle)->via.array.ptr;
  try {
    const auto tag = read_tag(element[0]);
    if (!tag) return tl::unexpected(tag.error());
    auto body = read_body<bulk_message>(*tag, element[1]);
    if (body && std::visit([](const auto& m) { return chunk_too_long(m); }, *body))
      return bad_frame("more than " + std::to_string(max_chunk_bytes) + " bytes in one message " +
                       std::to_string(*tag));
    return body;
  } catch (const std::exception& e) {
    return bad_frame(e.what());
  }
}

std::optional<std::uint32_t> hello_version(std::string_view bytes) {
  const auto handle = parse(bytes, 5);
  if (!handle) return std::nullopt;
  const msgpack::object* element = (*handle)->via.array.ptr;
  const auto tag = read_tag(element[3]);
  if (!tag || *tag != hello::tag) return std::nullopt;
  if (element[4].type != msgpack::type::ARRAY || element[4].via.array.size == 0) return std::nullopt;
  const msgpack::object& version = element[4].via.array.ptr[0];
  if (version.type != msgpack::type::POSITIVE_INTEGER || version.via.u64 > 0xffff'ffffU) return std::nullopt;
  return static_cast<std::uint32_t>(version.via.u64);
}

} // namespace quell::wire
