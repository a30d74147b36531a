#include "exchange/message_classes.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "machine/hash.hpp"
#include "machine/sum.hpp"

namespace slipstream {
namespace {

constexpr double no_value = -std::numeric_limits<double>::infinity();

}  // namespace

ClassNumber class_number(const Machine& machine, const Pairs& pairs, const PairKey& devices, std::size_t bytes) {
  const Pair pair = pairs.of(devices.first, devices.second);
  Hash hash;
  hash.add(pair.same_process, pair.same_node, pair.peer, pair.mappable, pair.host, pair.unshared, pair.takes_turns,
           pair.whole_lines, machine.link(devices.first, devices.second).kind, std::bit_width(bytes));
  return hash.value() >> 12;
}

MessageClasses::MessageClasses(const Communicator& comm, const Grid& grid, const std::vector<PlannedItem>& items,
                               const Bundles& bundles) {
  const Pairs pairs(grid.machine(), items);
  std::map<ClassNumber, MessageClass> mine;
  for (const auto& [devices, b] : bundles.by_pair) {
    if (devices.first == devices.second) continue;
    const ClassNumber number = of_[devices] = class_number(grid.machine(), pairs, devices, b.bytes);
    MessageClass& found = mine[number];
    found.largest = std::max(found.largest, static_cast<double>(b.bytes));
    found.messages += grid.machine().device(devices.second).rank == grid.rank();
    found.mine.push_back(devices);
  }
  // Lists the class numbers of all ranks' messages in ascending order: each pass finds the smallest one not listed.
  for (auto next = mine.begin();;) {
    const double least = -comm.max(next == mine.end() ? no_value : -static_cast<double>(next->first));
    if (least == -no_value) break;
    const auto number = static_cast<ClassNumber>(least);
    all_[number] = next != mine.end() && next->first == number ? std::move((next++)->second) : MessageClass{};
  }
  std::vector<double> counts, sizes;
  for (const auto& [number, one] : all_) {
    counts.push_back(one.messages);
    sizes.push_back(one.largest);
  }
  sum_over_ranks(comm, counts);  // Counts of messages are whole numbers, so their sums are exact in any order.
  largest_over_ranks(comm, sizes);
  std::size_t n = 0;
  for (auto& [number, one] : all_) {
    one.messages = counts[n];
    one.largest = sizes[n++];
  }
}

std::map<ClassNumber, double> MessageClasses::largest(const Communicator& comm,
                                                      const std::map<ClassNumber, double>& mine) const {
  std::vector<double> values;
  for (const auto& [number, one] : all_) {
    const auto value = mine.find(number);
    values.push_back(value == mine.end() ? no_value : value->second);
  }
  largest_over_ranks(comm, values);
  std::map<ClassNumber, double> found;
  std::size_t n = 0;
  for (const auto& [number, one] : all_)
    if (const double value = values[n++]; value != no_value) found[number] = value;
  return found;
}

}  // namespace slipstream
