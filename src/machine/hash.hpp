#pragma once
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>

#include <slipstream/box.hpp>

namespace slipstream {

/// FNV-1a hash of numbers, in the order in which they are added.
class Hash {
 public:
  /// Adds numbers, texts, boxes, or the elements of ranges to the hash.
  template <class... Values>
  void add(const Values&... values) {
    (add_one(values), ...);
  }
  std::uint64_t value() const { return state_; }

 private:
  template <class Value>
  void add_one(const Value& value) {
    if constexpr (std::is_integral_v<Value> || std::is_enum_v<Value>) {
      for (int byte = 0; byte < 8; ++byte) add_byte((static_cast<std::uint64_t>(value) >> (8 * byte)) & 0xff);
    } else if constexpr (std::is_same_v<Value, std::string>) {
      for (const char c : value) add_byte(static_cast<unsigned char>(c));
      add(value.size());
    } else if constexpr (std::is_same_v<Value, Box>) {
      for (int a = 0; a < 3; ++a) add(value.lo[a], value.hi[a]);
    } else {
      for (const auto& each : value) add(each);
    }
  }
  void add_byte(std::uint64_t byte) { state_ = (state_ ^ byte) * 1099511628211ull; }

  std::uint64_t state_ = 14695981039346656037ull;
};

inline std::uint64_t hash_of(const std::string& text) {
  Hash hash;
  hash.add(text);
  return hash.value();
}

/// Hexadecimal text of a number, without leading zeros.
inline std::string hex(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace slipstream
