#pragma once
// Which points are copies of one another, on a device and on all of them: what a gather-scatter compiles its lists
// from.
#include <cstdint>
#include <optional>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/gather_scatter.hpp>
#include <slipstream/machine.hpp>

#include "gather_scatter/group_tiles.hpp"
#include "gather_scatter/lists.hpp"

namespace slipstream {

/// One term of an id that several devices have: a copy here, or a value that another device has combined from the
/// copies of one of its blocks.
struct Term {
  std::uint32_t index = 0;     ///< of the point, or of the value in the mailbox
  std::uint32_t incoming = 0;  ///< 1: the latter
};

/// What a device holds of each message in its mailbox, an array of values: first what it sends, then what it receives.
struct MailboxShare {
  int device = 0;  ///< the other one
  std::int64_t outgoing = 0, outgoing_count = 0;
  std::int64_t incoming = 0, incoming_count = 0;
};

struct Mailbox {
  std::vector<MailboxShare> mail;  ///< by device
  std::int64_t size = 0;           ///< values of one component
};

/// What one device does to gather its points' values into those of unique ids, and to scatter these: the lists of Q^T
/// and Q alone. A value belongs to the device that has the id's first block.
struct UniqueCopies {
  std::vector<std::uint32_t> points;  ///< of each of the device's unique values, the first copy; ascending
  Lists<std::uint32_t> own;           ///< copies of ids that no other device has
  std::vector<std::uint32_t> own_at;  ///< of each of these rows, the unique value
  Lists<Term> met;                    ///< of ids that others have too, in the order of blocks, as they are gathered
  std::vector<std::uint32_t> met_at;
  Lists<std::uint32_t> met_copies;       ///< of the same ids, the copies here
  Lists<std::uint32_t> gathered;         ///< of each value that leaves to be gathered, the copies within one block
  std::vector<std::uint32_t> sent;       ///< of each value that is sent to be scattered, the unique value
  Lists<std::uint32_t> theirs;           ///< copies of ids whose values belong to other devices
  std::vector<std::uint32_t> theirs_at;  ///< of each of these rows, the value in the mailbox
  Mailbox gather, scatter;
};

/// What blocks of one device have of ids that other devices have too: a value each.
struct Partials {
  std::int64_t first_block = 0;  ///< of the device
  std::vector<std::int64_t> ids;
  Lists<std::uint32_t> copies;  ///< within the block
};

/// What one device combines. Rows of points are in ascending order.
struct Copies {
  int device = 0;
  std::int64_t block = 1;  ///< points of a block
  std::int64_t points = 0;
  GroupTiles local;  ///< of ids that no other device has, two copies or more: in the device's memory
  std::int64_t local_groups = 0, local_copies = 0;  ///< in these
  Lists<Term> shared;                               ///< of ids that others have too, in the order of blocks
  Lists<std::uint32_t> outgoing;                    ///< of each value that is sent, the copies within one block
  Mailbox mailbox;
  std::optional<UniqueCopies> unique;  ///< where they were asked for
  std::optional<Partials> partials;
};

/// Collective. Finds all of this rank's devices'; ids meet at home ranks, which no rank but their owners hears of.
/// Throws the same Error on all ranks where one rank's points are bad. `unique`, `host_packed`: what the options of
/// these names need, too.
std::vector<Copies> find_copies(const Communicator& comm, const Machine& machine,
                                const std::vector<SharedPoints>& points, bool unique, bool host_packed, double seconds);

}  // namespace slipstream
