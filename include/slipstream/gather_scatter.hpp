#pragma once
// Gather-scatter: combines the values of points that several elements share.
//
// Let u hold a value for each of the n points of all devices, and let g(i) be the id of point i. Q, the scatter, is the
// matrix of n rows with Q(i, g(i)) = 1 and 0 elsewhere; Q^T is the gather. The vector v = Q^T u is the sum of all
// copies of each id, and w = Q v gives each copy the sum. So run() replaces u by w = Q Q^T u. Where g(i) = 0 it leaves
// u(i) unchanged. Other operations replace the sum.
//
// Reproducibility: the copies of an id within a block are combined in the order of the points. Then these values are
// combined in the order of the blocks' numbers. So all copies are equal bit for bit. Bits depend on the points of each
// block, but not on devices, ranks or routes.
//
// Each pair of devices exchanges one message. It holds, for every shared id, one value per block that contains the id.
//
// GatherScatterOptions::unique adds Q^T and Q alone: gather() computes v = Q^T u, scatter() u = Q v. A device holds the
// part of v whose ids it owns, without gaps. The owner of an id is the device of the first block that has it, in the
// order of blocks. A device's ids are in the order of their first points (unique_points()). So, where devices hold
// ascending blocks, their concatenated parts of v are the same vector on any number of devices. Ids of a single point
// are in v; points of id 0 are not, and scatter() leaves them unchanged. The call gather() followed by scatter() is
// run(), bit for bit. For an id that several devices have, gather() sends one value per block to the owner, and
// scatter() sends one to each other device.
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

/// The points of one device. Points at the same position of the domain (on faces, edges and corners that elements
/// share) have the same id.
struct SharedPoints {
  /// id of each point, from 1, in host memory; 0: the point is not shared, its value unchanged
  std::span<const std::int64_t> ids;
  std::int64_t first_block = 0;  ///< index of this device's first block of points among the blocks of all devices
  /// number of points in a block, such as those of 64 elements; the last block may be shorter
  std::int64_t block = 1;
};

struct GatherScatterOptions {
  DType type = DType::f64;   ///< type of the values: f32, f64, i32, i64, or c64 and c128, which have no min and max
  int components = 1;        ///< number of components combined by one run, all in one message for each pair of devices
  ExchangeOptions exchange;  ///< routes, knobs and the timeout of the messages
  /// Coding of values in flight. With a lossy coding, the value of each block that shares an id with another is rounded
  /// before they are combined, wherever the blocks lie. So copies stay equal, and bits depend on blocks alone.
  Coding coding = {};
  /// Measures the gather-scatter run() by every route with values of zero, and takes the fastest. TuneOptions::work, if
  /// given, runs between start() and finish(). Needs an array of all points and components meanwhile.
  std::optional<TuneOptions> tune = {};
  /// Enables gather() and scatter(). Their lists and messages take about 8 B more of device memory for each point with
  /// an id.
  bool unique = false;
  /// For comparison only: finish() copies values of ids that several devices have to the host. There it packs them,
  /// sends them by MPI, combines them and copies them back, and waits for all that. The bits are the same. It excludes
  /// `unique` and `tune`; routes are ignored.
  bool host_packed = false;
};

/// Combines the values of points that several elements share; the contract is at the top of this header.
///
/// Calls of one object are ordered after one another, on any streams. Recorded calls are ordered as the streams that
/// replay them. Several objects may be in flight on a device, as several exchanges may (Exchange).
class GatherScatter {
 public:
  /// Collective. `points`: one entry for each device of this rank, in the machine's order; a device may have none. No
  /// two devices may share a block number. Throws Error on all ranks for negative ids, blocks that occur twice, devices
  /// of more than 2^32 points, and types that cannot be combined. Construction takes 16 B of host memory for each point
  /// with an id. Afterwards the object holds 16 B for each point whose id is within the id range of another device. It
  /// also holds 48 B for each block with such a point.
  GatherScatter(const Communicator& comm, const Machine& machine, const std::vector<SharedPoints>& points,
                GatherScatterOptions options = {});
  /// Collective: all ranks destroy the gather-scatter together.
  ~GatherScatter();
  GatherScatter(GatherScatter&&) noexcept;

  /// Values of one device's points: component c of point i lies at values + (c * stride + i) * size of the type.
  struct Array {
    void* values = nullptr;
    std::int64_t stride = 0;  ///< distance between components in points; 0: the number of points
  };

  /// Computes Q Q^T in place. streams[i] and arrays[i] belong to the i-th device of this rank. Arrays may change with
  /// each call without a new plan; the host is faster where they recur. All ranks make the same calls with the same
  /// operations. The ranks compare the first call of each kind and operation, unless it is recorded. All ranks throw
  /// Error where calls differ, or where some rank's arrays or streams are invalid, and Timeout where a rank is missing.
  /// Later calls are not compared. Arrays that are written may share no memory with others of the call.
  void run(std::vector<Stream>& streams, const std::vector<Array>& arrays, Op op = Op::add);
  /// run() in two parts. start() sends the values of remote_points() to other devices; finish() combines. Between them
  /// the caller may queue work that writes other points, even points that are shared within a device.
  void start(std::vector<Stream>& streams, const std::vector<Array>& arrays, Op op = Op::add);
  void finish(std::vector<Stream>& streams);

  /// Computes unique = Q^T arrays: the combined copies of each id, once. The i-th device's values, as many as its
  /// unique_ids, go to unique[i]; stride 0 means that number. arrays[i] is only read.
  void gather(std::vector<Stream>& streams, const std::vector<Array>& arrays, const std::vector<Array>& unique,
              Op op = Op::add);
  /// Computes arrays = Q unique: each copy of a point gets the combined value of its id.
  void scatter(std::vector<Stream>& streams, const std::vector<Array>& unique, const std::vector<Array>& arrays);
  /// gather() and scatter() in two parts; finish() is the second part of both. Between them the caller may neither
  /// write the inputs nor use the outputs.
  void start_gather(std::vector<Stream>& streams, const std::vector<Array>& arrays, const std::vector<Array>& unique,
                    Op op = Op::add);
  void start_scatter(std::vector<Stream>& streams, const std::vector<Array>& unique, const std::vector<Array>& arrays);
  /// The first point of each unique value of a device: ids[unique_points(d)[k]] is the id of value k.
  const std::vector<std::uint32_t>& unique_points(std::size_t device) const;

  /// Checks the gather-scatter work that has run so far. Throws Timeout if a device's wait for a message timed out.
  void check();

  /// Numbers of shared points and ids of a device, and of values in messages.
  struct Counts {
    std::int64_t shared_points = 0;  ///< points with another copy, on this device or on others
    std::int64_t local_ids = 0;      ///< ids with two or more copies, all of them on this device
    std::int64_t remote_ids = 0;     ///< ids with copies on other devices, too
    std::int64_t sent_values = 0;    ///< values per component in all messages of run()
    // The counts of gather() and scatter() are 0 unless GatherScatterOptions::unique is set.
    std::int64_t unique_ids = 0;        ///< ids that this device owns
    std::int64_t gathered_values = 0;   ///< values per component that gather() sends to owners on other devices
    std::int64_t scattered_values = 0;  ///< values per component that scatter() sends from owners to other devices
  };
  Counts counts(std::size_t device) const;
  /// Points of a device with copies on other devices, ascending.
  const std::vector<std::int64_t>& remote_points(std::size_t device) const;
  /// The exchange of run()'s messages; with host_packed the exchange between hosts. Null where no device shares an id
  /// with another.
  const Exchange* exchange() const;
  /// Whether a graph may repeat run(), start() and finish() in a loop.
  bool loopable() const;
  /// The messages with the times of the last run, as in Exchange::report; empty where there is no exchange. Collective;
  /// waits.
  std::vector<ReportRow> report();
  /// The tuning of run()'s routes; gather() and scatter() are tuned in the same way.
  const Tuning& tuning() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipstream
