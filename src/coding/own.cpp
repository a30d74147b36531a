#include <deque>
#include <mutex>
#include <utility>

#include <slipstream/error.hpp>
#include <slipstream/own_coding.hpp>

namespace slipstream {
namespace {

/// The codings that callers have added. Entries are never removed, because exchanges refer to them by number.
struct Known {
  std::mutex mutex;
  std::deque<OwnCoding> codings;
};
Known& known() {
  static Known all;
  return all;
}

constexpr std::size_t most_codings = 255;

}  // namespace

void add_coding(OwnCoding coding) {
  const Facts facts{{"option", "coding"}, {"given", coding.name}};
  require(!coding.name.empty() && coding.name.find(',') == std::string::npos,
          "a coding of one's own needs a name without commas", facts);
  const bool of_type = coding.type == DType::f32 || coding.type == DType::f64;
  const int bytes = coding.code_bytes;
  require(of_type && (bytes == 1 || bytes == 2 || bytes == 4) && bytes < static_cast<int>(size_of(coding.type)),
          "the coding '" + coding.name + "' writes values of " + to_string(coding.type) + " in " +
              std::to_string(bytes) + " bytes: it takes f32 or f64, and 1, 2 or 4 bytes, fewer than the value's",
          facts);
  require(coding.bound && coding.resident && coding.start && coding.measure,
          "the coding '" + coding.name + "' lacks its bound or its kernels", facts);
  const std::scoped_lock lock(known().mutex);
  for (const OwnCoding& other : known().codings)
    require(other.name != coding.name, "a coding of the name '" + coding.name + "' is known already", facts);
  require(known().codings.size() < most_codings, "255 codings of one's own are known already", facts);
  known().codings.push_back(std::move(coding));
}

int own_coding_number(const std::string& name) {
  const std::scoped_lock lock(known().mutex);
  for (std::size_t n = 0; n < known().codings.size(); ++n)
    if (known().codings[n].name == name) return static_cast<int>(n) + 1;
  return 0;
}

const OwnCoding& own_coding(int number) {
  const std::scoped_lock lock(known().mutex);
  return known().codings.at(static_cast<std::size_t>(number) - 1);
}

}  // namespace slipstream
