#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/exchange.hpp>
#include <slipstream/machine.hpp>
#include <slipstream/stream.hpp>
#include <slipstream/transfer.hpp>
#include <slipstream/tuner.hpp>

namespace slipstream {

/// The points of one device. Points that are one and the same in the domain (on faces, edges and corners that elements
/// share) have one id.
struct SharedPoints {
  std::span<const std::int64_t> ids;  ///< of each point, in host memory, from 1; 0: shared with nobody, left as it is
  std::int64_t first_block = 0;       ///< number of the first block in the whole domain
  std::int64_t block = 1;             ///< points of a block; say, those of 64 elements. The last may be shorter
};

struct GatherScatterOptions {
  DType type = DType::f64;   ///< f32, f64, i32, i64, or c64 and c128, which have no min and max
  int components = 1;        ///< that one run combines, all in one message for each pair of devices
  ExchangeOptions exchange;  ///< routes, knobs and the limit of waits
  /// How combined values travel. With a lossy one, the value of each block that shares an id with another is rounded
  /// before they are combined, wherever the blocks lie: copies are equal still, and bits depend on blocks alone.
  Coding coding = {};
  std::optional<TuneOptions> tune = {};  ///< measures its messages by every route, and takes the fastest
};

/// Combines the values of points that several elements share.
///
/// Let u hold a value for each of the n points of all devices, and let g(i) be the id of point i. Q, the scatter, is
/// the matrix of n rows with Q(i, g(i)) = 1 and 0 elsewhere; Q^T is the gather. With v = Q^T u, the sum of all copies
/// of each id, and w = Q v, which gives each copy the sum, run() replaces u by w = Q Q^T u; where g(i) = 0 it leaves
/// u(i) as it is. For other operations read their result for the sum.
///
/// Bits: the copies of an id within a block are combined in the order of the points, then these values in the order of
/// the blocks' numbers. So all copies are equal bit for bit, and bits depend on what lies in which block, but not on
/// which device a block lies, on ranks, or on routes.
///
/// Of each pair of devices one message travels, with one value for each id that both have and each block that has it.
class GatherScatter {
 public:
  /// Collective. `points`: of this rank's devices, in the machine's order; a device may have none. Blocks must have
  /// numbers that no two devices share. Throws Error on all ranks: for negative ids, for blocks that lie twice, for
  /// devices of more than 2^31 points, for types that cannot be combined. Host memory while it works: some 50 B a point
  /// with an id, and 100 B more where the id lies within the range of another device's.
  GatherScatter(const Communicator& comm, const Machine& machine, const std::vector<SharedPoints>& points,
                GatherScatterOptions options = {});
  /// Collective, as Exchange's.
  ~GatherScatter();
  GatherScatter(GatherScatter&&) noexcept;

  /// Values of one device's points: component c of point i lies at values + (c * stride + i) * size of the type.
  struct Array {
    void* values = nullptr;
    std::int64_t stride = 0;  ///< 0: as many as there are points
  };

  /// Q Q^T in place. streams[i] and arrays[i] belong to the i-th device of this rank. Other arrays may come with each
  /// call: nothing is planned anew.
  void run(std::vector<Stream>& streams, const std::vector<Array>& arrays, Op op = Op::add);
  /// The same in two parts. start() sends what other devices need, of remote_points(); finish() combines. Between them
  /// the caller may queue work that writes other points, also such as are shared within a device.
  void start(std::vector<Stream>& streams, const std::vector<Array>& arrays, Op op = Op::add);
  void finish(std::vector<Stream>& streams);

  /// Throws Timeout where a wait gave up on a device in what has run so far.
  void check();

  /// Points of a device with copies on it, and ids that other devices have too.
  struct Counts {
    std::int64_t shared_points = 0;  ///< of which there is another copy, here or on other devices
    std::int64_t local_ids = 0;      ///< all of whose copies, two or more, lie on the device
    std::int64_t remote_ids = 0;     ///< of which other devices have copies, too
    std::int64_t sent_values = 0;    ///< a component, in all messages
  };
  Counts counts(std::size_t device) const;
  /// Points of a device with copies on other devices, ascending.
  const std::vector<std::int64_t>& remote_points(std::size_t device) const;
  /// The exchange that carries the messages; null where no device shares an id with another.
  const Exchange* exchange() const;
  /// Its messages with the times of the last run, as Exchange::report has them; none where there is no exchange.
  /// Collective; waits.
  std::vector<ReportRow> report();
  /// How its routes were found.
  const Tuning& tuning() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipstream
