#pragma once
#include <cstdint>
#include <cstdio>
#include <string>

#include <slipstream/box.hpp>

namespace slipstream {

/// FNV-1a hash of numbers, in the order in which they are added.
class Hash {
 public:
  void add(std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) add_byte((value >> (8 * byte)) & 0xff);
  }
  void add(const std::string& text) {
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
    add(text.size());
  }
  void add(const Extent& extent) {
    for (const std::int64_t size : extent) add(static_cast<std::uint64_t>(size));
  }
  void add(const Box& box) {
    for (int a = 0; a < 3; ++a) {
      add(static_cast<std::uint64_t>(box.lo[a]));
      add(static_cast<std::uint64_t>(box.hi[a]));
    }
  }
  std::uint64_t value() const { return state_; }

 private:
  void add_byte(std::uint64_t byte) { state_ = (state_ ^ byte) * 1099511628211ull; }

  std::uint64_t state_ = 14695981039346656037ull;
};

inline std::uint64_t hash_of(const std::string& text) {
  Hash hash;
  hash.add(text);
  return hash.value();
}

/// Hexadecimal text without leading zeros.
inline std::string hex(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace slipstream
