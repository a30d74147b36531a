#pragma once
// Combines the values of points that several elements share.
//
// Let u hold a value for each of the n points of all devices, and let g(i) be the id of point i. Q, the scatter, is
// the matrix of n rows with Q(i, g(i)) = 1 and 0 elsewhere; Q^T is the gather. With v = Q^T u, the sum of all copies
// of each id, and w = Q v, which gives each copy the sum, run() replaces u by w = Q Q^T u; where g(i) = 0 it leaves
// u(i) as it is. For other operations read their result for the sum.
//
// Bits: the copies of an id within a block are combined in the order of the points, then these values in the order of
// the blocks' numbers. So all copies are equal bit for bit, and bits depend on what lies in which block, but not on
// which device a block lies, on ranks, or on routes.
//
// Of each pair of devices one message travels, with one value for each id that both have and each block that has it.
//
// Q^T and Q alone, where GatherScatterOptions::unique asks for them: gather() computes v = Q^T u, scatter() u = Q v. A
// device holds the part of v whose ids it owns, without gaps: an id belongs to the device of the first block that has
// it, in blocks' order, and a device's ids lie in the order of their first points (unique_points()). So, where devices
// hold ascending blocks, their parts of v one after the other are one and the same vector on any number of devices.
// Ids of a single point are in v; points of id 0 are not, and scatter() leaves them as they are. The bits of v are
// those that run() gives the copies, and scatter() copies bits: gather() and scatter() together are run(). Of an id
// that several devices have, gather() sends a value for each block to the owner, scatter() one to each other device.
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
  /// Measures it by every route, and takes the fastest: of zeros, with what it combines beside its messages, and
  /// beside TuneOptions::work between start() and finish() where there is some. Needs an array of all points and
  /// components for that time.
  std::optional<TuneOptions> tune = {};
  /// Also for gather() and scatter(), which have lists and messages of their own: some 8 B more of device memory for
  /// each point with an id.
  bool unique = false;
  /// For comparison alone: of ids that several devices have, the values are copied to the host, packed there, sent by
  /// MPI, combined there and copied back, in finish(), which waits. The bits are the same. Without unique values and
  /// without tuning; routes are not looked at.
  bool host_packed = false;
};

/// Combines the values of points that several elements share; the contract is at the top.
///
/// Calls of one object are ordered after one another, whatever streams they are given; those that a caller records, as
/// the streams that replay them. Several objects may be in flight on a device, as several exchanges may (Exchange).
class GatherScatter {
 public:
  /// Collective. `points`: of this rank's devices, in the machine's order; a device may have none. Blocks must have
  /// numbers that no two devices share. Throws Error on all ranks: for negative ids, for blocks that lie twice, for
  /// devices of more than 2^32 points, for types that cannot be combined. Host memory while it works: 16 B a point
  /// with an id. Then 16 B a point whose id lies within the range of another device's, and 48 B a block that has it.
  GatherScatter(const Communicator& comm, const Machine& machine, const std::vector<SharedPoints>& points,
                GatherScatterOptions options = {});
  /// Collective, as Exchange's.
  ~GatherScatter();
  GatherScatter(GatherScatter&&) noexcept;

  /// Values of one device's points: component c of point i lies at values + (c * stride + i) * size of the type.
  struct Array {
    void* values = nullptr;
    std::int64_t stride = 0;  ///< 0: as many as there are points; with several components no less than that
  };

  /// Q Q^T in place. streams[i] and arrays[i] belong to the i-th device of this rank. Other arrays may come with each
  /// call: nothing is planned anew. The host is soonest done with arrays that come again. All ranks make the same calls
  /// with the same operations. At the first call of each kind and operation the ranks compare theirs, where they are
  /// not recorded: an Error of all ranks where they differ, or where some rank's arrays or streams are none that it can
  /// take; Timeout where one does not come. Later ones are not compared. Arrays that are written may share no memory
  /// with others of the call.
  void run(std::vector<Stream>& streams, const std::vector<Array>& arrays, Op op = Op::add);
  /// The same in two parts. start() sends what other devices need, of remote_points(); finish() combines. Between them
  /// the caller may queue work that writes other points, also such as are shared within a device.
  void start(std::vector<Stream>& streams, const std::vector<Array>& arrays, Op op = Op::add);
  void finish(std::vector<Stream>& streams);

  /// unique = Q^T arrays: each id's copies combined, once. unique[i] holds the unique_ids values of the i-th device,
  /// with a stride of as many where it is 0. arrays[i] is read alone.
  void gather(std::vector<Stream>& streams, const std::vector<Array>& arrays, const std::vector<Array>& unique,
              Op op = Op::add);
  /// arrays = Q unique: each copy takes its id's value.
  void scatter(std::vector<Stream>& streams, const std::vector<Array>& unique, const std::vector<Array>& arrays);
  /// The same in two parts; finish() is the second of both. Between them the caller may neither write what is read nor
  /// use what is written.
  void start_gather(std::vector<Stream>& streams, const std::vector<Array>& arrays, const std::vector<Array>& unique,
                    Op op = Op::add);
  void start_scatter(std::vector<Stream>& streams, const std::vector<Array>& unique, const std::vector<Array>& arrays);
  /// Of each unique value of a device, the first point that has its id: ids[unique_points(d)[k]] is the id of value k.
  const std::vector<std::uint32_t>& unique_points(std::size_t device) const;

  /// Throws Timeout where a wait gave up on a device in what has run so far.
  void check();

  /// Points of a device with copies on it, and ids that other devices have too.
  struct Counts {
    std::int64_t shared_points = 0;  ///< of which there is another copy, here or on other devices
    std::int64_t local_ids = 0;      ///< all of whose copies, two or more, lie on the device
    std::int64_t remote_ids = 0;     ///< of which other devices have copies, too
    std::int64_t sent_values = 0;    ///< a component, in all messages of run()
    // Where GatherScatterOptions::unique asks for them:
    std::int64_t unique_ids = 0;        ///< that the device owns
    std::int64_t gathered_values = 0;   ///< sent by gather()
    std::int64_t scattered_values = 0;  ///< sent by scatter()
  };
  Counts counts(std::size_t device) const;
  /// Points of a device with copies on other devices, ascending.
  const std::vector<std::int64_t>& remote_points(std::size_t device) const;
  /// The exchange that carries run()'s messages, with host_packed that of the host; null where no device shares an id
  /// with another.
  const Exchange* exchange() const;
  /// Whether a graph may repeat run(), start() and finish() within itself.
  bool loopable() const;
  /// Its messages with the times of the last run, as Exchange::report has them; none where there is no exchange.
  /// Collective; waits.
  std::vector<ReportRow> report();
  /// How its routes were found; those of gather() and scatter() are found alike.
  const Tuning& tuning() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipstream
