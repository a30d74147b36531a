#pragma once
// The keys of a solver's table in a case file. The schema in Python and the tables of the documentation are made from
// them.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "device/names.hpp"

namespace slipstream {

/// The values that a key may have. Kind `size`: an amount of memory, such as "8 GiB".
struct KeyValues {
  enum class Kind : std::uint8_t { flag, integer, number, name, size };
  Kind kind = Kind::number;
  std::optional<double> above = {}, least = {}, most = {};  ///< exclusive lower, lower and upper limit of a number
  bool finite = true;                                       ///< whether a number must be finite
  std::vector<std::string> names = {};                      ///< names that are allowed, for kind `name`
  std::vector<std::int64_t> only = {};                      ///< integers that are allowed; empty: all within the limits
  std::vector<int> shape = {};  ///< lengths of nested lists of values; 0: any; empty: a single value
  bool expression = false;      ///< whether text is allowed, as an expression of coordinates
};

namespace key_values {
inline KeyValues size() { return {.kind = KeyValues::Kind::size}; }
inline KeyValues number() { return {.kind = KeyValues::Kind::number}; }
inline KeyValues with_infinity(KeyValues one) {
  one.finite = false;
  return one;
}
inline KeyValues up_to(double most, KeyValues one) {
  one.most = most;
  return one;
}
/// Values of a key that holds a list of `count` values, or of any number of them if `count` is 0.
inline KeyValues several(int count, KeyValues one) {
  one.shape.insert(one.shape.begin(), count);
  return one;
}
inline KeyValues flag() { return {.kind = KeyValues::Kind::flag}; }
inline KeyValues integer_from(double least) { return {.kind = KeyValues::Kind::integer, .least = least}; }
inline KeyValues integers(std::vector<std::int64_t> only) {
  return {.kind = KeyValues::Kind::integer, .only = std::move(only)};
}
inline KeyValues number_above(double limit) { return {.kind = KeyValues::Kind::number, .above = limit}; }
inline KeyValues number_from(double least) { return {.kind = KeyValues::Kind::number, .least = least}; }
inline KeyValues names(std::vector<std::string> all) {
  return {.kind = KeyValues::Kind::name, .names = std::move(all)};
}
/// Numbers of a key, each of which may also be written as an expression.
inline KeyValues or_expression(KeyValues numbers) {
  numbers.expression = true;
  return numbers;
}
/// Allowed values of a case file's key: the names in `table`, which holds pairs of a name and a constant.
template <class Table>
KeyValues names_of(const Table& table) {
  std::vector<std::string> all;
  for (const auto& [name, value] : table) all.emplace_back(name);
  return names(std::move(all));
}
}  // namespace key_values

/// Default value of a key; monostate: it depends on other keys.
using KeyDefault = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                                std::vector<double>>;

inline KeyDefault list_of(const std::array<double, 3>& values) {
  return std::vector<double>(values.begin(), values.end());
}

struct Key {
  std::string name;
  std::vector<KeyValues> values;        ///< kinds of values that the key may have, any one of them
  std::optional<KeyDefault> otherwise;  ///< default value of the key; none: the key is required
  std::string unit;                     ///< unit of the number; "-": dimensionless; empty: the value is not a number
  std::string meaning;
};

struct CaseTable {
  std::string name, meaning;
  std::vector<Key> keys;
  std::string title = {};               ///< name of the table's class in Python; empty: `name`
  std::vector<std::string> bases = {};  ///< titles of tables whose keys this table inherits
};

}  // namespace slipstream
