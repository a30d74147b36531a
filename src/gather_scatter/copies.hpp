#pragma once
// Finds the points that are copies of one another, within a device and across devices. Gather-scatters compile their
// lists from them.
#include <cstdint>
#include <optional>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/gather_scatter.hpp>
#include <slipstream/machine.hpp>

#include "gather_scatter/group_tiles.hpp"
#include "gather_scatter/lists.hpp"

namespace slipstream {

/// One term in the sum of an id that several devices have: a local copy, or a value from another device. Such a value
/// already combines the copies within one of that device's blocks.
struct Term {
  std::uint32_t index = 0;     ///< index of a local point, or of a value in the message buffers (mailbox)
  std::uint32_t incoming = 0;  ///< 1: the term is a value received from another device; 0: the value at a local point
};

/// Range of one message in a device's mailbox. The mailbox is an array: values to send, then received values.
struct MailboxShare {
  int device = 0;  ///< number of the device at the other end of the message
  std::int64_t outgoing = 0, outgoing_count = 0;
  std::int64_t incoming = 0, incoming_count = 0;
};

struct Mailbox {
  std::vector<MailboxShare> mail;  ///< index ranges in the array of all messages, to and from each other device
  std::int64_t size = 0;           ///< number of values of one component in the mailbox
};

/// Lists of one device for gathering into unique values (Q^T alone) and scattering from them (Q alone). The device that
/// has an id's first block owns its value.
struct UniqueCopies {
  std::vector<std::uint32_t> points;  ///< first copy of each unique value of this device, in ascending order
  Lists<std::uint32_t> own;           ///< copies of ids that no other device has, one row per id
  std::vector<std::uint32_t> own_at;  ///< index of the gathered value for each point id that no other device has
  Lists<Term> met;                    ///< for each shared point that this device owns: copies and received values
  std::vector<std::uint32_t> met_at;
  Lists<std::uint32_t> met_copies;       ///< for each shared id that this device owns, its copies on this device
  Lists<std::uint32_t> gathered;         ///< for each value that is sent to its owner, its copies within one block
  std::vector<std::uint32_t> sent;       ///< indices, in the gathered array, of values that their owner sends
  Lists<std::uint32_t> theirs;           ///< copies of ids whose values belong to other devices, one row per id
  std::vector<std::uint32_t> theirs_at;  ///< index in the array of messages of each value that another device owns
  Mailbox gather, scatter;
};

/// Partial results of one device: one value per pair of block and id that other devices have too.
struct Partials {
  std::int64_t first_block = 0;  ///< number of this device's first block of points, counted over all devices
  std::vector<std::int64_t> ids;
  Lists<std::uint32_t> copies;  ///< for each value, the copies of its id within its block
};

/// Lists of one device for summing and copying back at once (Q Q^T). Points within a row are in ascending order.
struct Copies {
  int device = 0;
  GroupTiles local;  ///< ids of this device alone with two or more copies; in device memory
  std::int64_t local_groups = 0, local_copies = 0;  ///< number of ids with copies only on this device; of copies
  Lists<Term> shared;                               ///< values to sum for points that devices share, in order of blocks
  Lists<std::uint32_t> outgoing;                    ///< for each value that is sent, its copies within one block
  Mailbox mailbox;
  std::optional<UniqueCopies> unique;  ///< lists of points for gather() and scatter(); only if requested
  std::optional<Partials> partials;
};

/// Lists, for each device of this rank, the copies of points that a gather-scatter combines. Collective. Throws the
/// same Error on all ranks if one rank's points are invalid. Each point id is matched at a home rank (a hash), which
/// replies only to ranks that have the id. `unique`, `host_packed`: also build the lists that these options need.
std::vector<Copies> find_copies(const Communicator& comm, const Machine& machine,
                                const std::vector<SharedPoints>& points, bool unique, bool host_packed, double seconds);

}  // namespace slipstream
