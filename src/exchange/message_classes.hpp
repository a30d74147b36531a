#pragma once
// Classes of messages (alike in size, link and devices). The tuner compares the times of routes within each class.
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <slipstream/communicator.hpp>

#include "exchange/plan.hpp"

namespace slipstream {

using PairKey = std::pair<int, int>;  ///< device numbers of a message's source and target
using ClassNumber = std::uint64_t;

/// The number of a message's class: devices with equal properties, joined by the same kind of link, and sizes that
/// have their highest bit in common. It is below 2^52, and so exact as a double.
ClassNumber class_number(const Machine& machine, const Pairs& pairs, const PairKey& devices, std::size_t bytes);

struct MessageClass {
  double largest = 0;         ///< bytes of the largest message
  double messages = 0;        ///< number of messages of all ranks
  std::vector<PairKey> mine;  ///< messages that leave or reach this rank
};

/// Classes of an exchange's messages: by properties of both devices, kind of link, and size to a factor of two.
/// Ranks send one another the few class numbers that occur, instead of many pairs of devices.
class MessageClasses {
 public:
  MessageClasses() = default;
  /// Classifies all ranks' messages by devices, link and size. `bundles`: messages from or to this rank. Collective.
  MessageClasses(const Communicator& comm, const Grid& grid, const std::vector<PlannedItem>& items,
                 const Bundles& bundles);

  /// The classes of all ranks' messages (alike in size, link and devices) by class number, the same on all ranks.
  const std::map<ClassNumber, MessageClass>& all() const { return all_; }
  /// Number of the class of messages with the same kinds of devices and link, and sizes within a factor of two.
  ClassNumber of(const PairKey& devices) const { return of_.at(devices); }
  /// Maximum over ranks of a value, such as a time, for each class of similar messages that has one. Collective.
  std::map<ClassNumber, double> largest(const Communicator& comm, const std::map<ClassNumber, double>& mine) const;

 private:
  std::map<ClassNumber, MessageClass> all_;
  std::map<PairKey, ClassNumber> of_;
};

}  // namespace slipstream
