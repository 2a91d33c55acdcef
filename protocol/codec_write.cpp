// Messages to msgpack bytes, driven by the messages' `inspect`. docs/PROTOCOL.md describes the format.
#include "protocol/codec.hpp"

#include <concepts>
#include <type_traits>

#define MSGPACK_NO_BOOST
#include <msgpack.hpp>

#include "protocol/utf8.hpp"

namespace quell::wire {

namespace {

struct string_sink {
  std::string out;
  void write(const char* data, std::size_t size) { out.append(data, size); }
};

/// Whether a std::string is written as str if it is UTF-8 (control: text for people) or always as bin (bulk: output of
/// tasks).
enum class string_form : std::uint8_t { text, bytes };

class packer {
 public:
  packer(string_sink& sink, string_form form) : pack_(sink), form_(form) {}

  /// Called by `inspect` with all fields of a struct.
  template <class... Fields>
  void operator()(const Fields&... fields) {
    pack_.pack_array(sizeof...(fields));
    (put(fields), ...);
  }

  void array(std::uint32_t size) { pack_.pack_array(size); }

  template <class T>
  void put(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      pack_.pack_unsigned_char(static_cast<std::uint8_t>(value));
    } else if constexpr (std::same_as<T, bool> || std::integral<T>) {
      pack_.pack(value);
    } else if constexpr (std::same_as<T, wall_time>) {
      pack_.pack_int64(value.time_since_epoch().count());
    } else if constexpr (std::same_as<T, milliseconds>) {
      pack_.pack_int64(value.count());
    } else if constexpr (std::same_as<T, std::string>) {
      put_string(value);
    } else if constexpr (std::same_as<T, scope_path>) {
      put_string(value.text());
    } else {
      // `inspect` takes a mutable reference because readers use it, too; this inspector only reads.
      inspect(*this, const_cast<T&>(value));
    }
  }

  template <class Tag>
  void put(const basic_id<Tag>& id) {
    pack_.pack_bin(16);
    pack_.pack_bin_body(reinterpret_cast<const char*>(id.bytes.data()), 16);
  }

  template <class T>
  void put(const std::optional<T>& value) {
    if (value)
      put(*value);
    else
      pack_.pack_nil();
  }

  template <class T>
  void put(const std::vector<T>& values) {
    pack_.pack_array(static_cast<std::uint32_t>(values.size()));
    for (const auto& value : values) put(value);
  }

  void put(const std::map<std::string, std::string>& values) {
    pack_.pack_map(static_cast<std::uint32_t>(values.size()));
    for (const auto& [key, value] : values) {
      put_string(key);
      put_string(value);
    }
  }

  void put(std::string_view value) { put_string(value); }

 private:
  void put_string(std::string_view value) {
    const auto size = static_cast<std::uint32_t>(value.size());
    if (form_ == string_form::text && is_utf8(value)) {
      pack_.pack_str(size);
      pack_.pack_str_body(value.data(), size);
    } else {
      pack_.pack_bin(size);
      pack_.pack_bin_body(value.data(), size);
    }
  }

  msgpack::packer<string_sink> pack_;
  string_form form_;
};

template <class Variant>
void put_body(packer& to, const Variant& body) {
  std::visit(
      [&to](const auto& m) {
        to.put(std::remove_cvref_t<decltype(m)>::tag);
        to.put(m);
      },
      body);
}

} // namespace

std::string encode(const envelope& frame) {
  string_sink sink;
  packer to(sink, string_form::text);
  to.array(5);
  to.put(frame.session);
  to.put(frame.number);
  to.put(frame.ack);
  put_body(to, frame.body);
  return std::move(sink.out);
}

std::string encode(const bulk_message& message) {
  string_sink sink;
  packer to(sink, string_form::bytes);
  to.array(2);
  put_body(to, message);
  return std::move(sink.out);
}

std::string encode_output(const operation_id& operation, stream which, std::uint64_t offset, std::string_view bytes,
                          bool is_end) {
  constexpr std::size_t most_other_bytes = 64;
  string_sink sink;
  sink.out.reserve(bytes.size() + most_other_bytes);
  packer to(sink, string_form::bytes);
  to.array(2);
  to.put(output::tag);
  to(operation, which, offset, bytes, is_end);
  return std::move(sink.out);
}

} // namespace quell::wire
