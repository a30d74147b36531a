#pragma once
// Serialises numbers and texts for messages between ranks.
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/error.hpp>
#include <slipstream/machine.hpp>

namespace slipstream {

template <class T>
void append_record(std::string& text, const T& record) {
  static_assert(std::is_trivially_copyable_v<T>);
  text.append(reinterpret_cast<const char*>(&record), sizeof record);
}

/// Appends numbers and texts to a message; a text is preceded by its size.
template <class... Parts>
void append_parts(std::string& text, const Parts&... parts) {
  const auto append = [&](const auto& part) {
    if constexpr (std::is_same_v<std::decay_t<decltype(part)>, std::string>) {
      append_record(text, part.size());
      text += part;
    } else {
      append_record(text, part);
    }
  };
  (append(parts), ...);
}

/// Reads the parts of a message in the order in which they were appended. Throws Error if the text ends early.
class PartsReader {
 public:
  explicit PartsReader(const std::string& text) : text_(text) {}
  template <class... Parts>
  void read(Parts&... parts) {
    (take(parts), ...);
  }
  bool over() const { return at_ == text_.size(); }

 private:
  const char* next(std::size_t bytes) {
    require(bytes <= text_.size() - at_, ErrorCode::internal, "a message between ranks ends too early");
    at_ += bytes;
    return text_.data() + at_ - bytes;
  }
  void take(std::string& part) {
    std::size_t size = 0;
    take(size);
    part.assign(next(size), size);
  }
  template <class T>
  void take(T& part) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::memcpy(&part, next(sizeof part), sizeof part);
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

/// Appends all records of type T that a text holds to `records`.
template <class T>
void read_records(const std::string& text, std::vector<T>& records) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::size_t before = records.size(), count = text.size() / sizeof(T);
  records.resize(before + count);
  if (count) std::memcpy(records.data() + before, text.data(), count * sizeof(T));
}

/// Joins the records of type T that several byte strings hold, such as all_gather() returns: one string per rank.
template <class T>
std::vector<T> records_of(const std::vector<std::string>& texts) {
  std::vector<T> records;
  for (const std::string& text : texts) read_records(text, records);
  return records;
}

/// Gathers one record per device of the machine, in order; each rank passes those of its devices. Collective.
template <class T>
std::vector<T> by_device(const Communicator& comm, const Machine& machine, const std::vector<T>& mine) {
  std::string text;
  for (const T& record : mine) append_record(text, record);
  const std::vector<std::string> texts = comm.all_gather(text);
  std::vector<T> all(static_cast<std::size_t>(machine.devices()));
  for (int rank = 0; rank < comm.size(); ++rank) {
    std::vector<T> theirs;
    read_records(texts[static_cast<std::size_t>(rank)], theirs);
    const std::vector<int> devices = machine.devices_of_rank(rank);
    for (std::size_t d = 0; d < devices.size(); ++d) all[static_cast<std::size_t>(devices[d])] = theirs.at(d);
  }
  return all;
}

}  // namespace slipstream
