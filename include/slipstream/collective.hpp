#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/field.hpp>
#include <slipstream/machine.hpp>
#include <slipstream/stream.hpp>
#include <slipstream/transfer.hpp>

namespace slipstream {

struct SumOnDevice;

/// How the values of a reduction travel. `peer`: kernels store into one another's memory. `nccl`: sends and receives of
/// that library, on any GPUs. `mpi`: messages through pinned memory, driven by the host, on any devices. `automatic`:
/// the first of these that can serve.
enum class ReduceMethod : std::uint8_t { automatic, peer, nccl, mpi };
std::string to_string(ReduceMethod method);
ReduceMethod reduce_method_from_string(const std::string& name);

struct AllReduceOptions {
  ReduceMethod method = ReduceMethod::automatic;
  /// Timeout of a wait in seconds: up to 1e9, or infinity. The next call then throws Timeout. With nccl it is at least
  /// 60 in the first run, in which that library connects the devices.
  double wait_limit = 30;
};

/// Reduces a few values, such as dot products and residuals, over all devices of a machine. The result stays on the
/// devices.
///
/// With x_d the values of device d in the machine's numbering, every device gets
///
///     (((x_0 o x_1) o (x_2 o x_3)) o ((x_4 o x_5) o ...
///
/// by pairwise reduction: neighbours first, then pairs of neighbours, and so on. The tree depends on the number of
/// devices only. So on one backend all devices and all methods have the same bits, however devices are distributed over
/// ranks. NaN stays NaN in `min` and `max`, too; sums of i64 wrap round.
///
/// One object may be used by one host thread at a time. All ranks construct it together and call run equally often.
/// Several objects may be in flight at once, on different streams.
class AllReduce {
 public:
  static constexpr int most_values = 1024;

  /// Prepares the all-reduce of `values` numbers of type f32, f64 or i64 by add, multiply, min or max. Collective.
  AllReduce(const Communicator& comm, const Machine& machine, int values, DType type, Op op,
            AllReduceOptions options = {});
  ~AllReduce();  ///< collective: all ranks destroy the reduction; waits for devices, and for other ranks with a timeout
  AllReduce(AllReduce&&) noexcept;

  /// Reduces in place. values[i] lies in memory of the i-th device of this rank, and streams[i] is a stream there. The
  /// result is ready for the stream's next work. Runs follow one another, on any streams. `peer` and `nccl` may be
  /// captured, and the graph replayed between other runs. A graph may outlive the object, but must not be replayed
  /// afterwards. `mpi` blocks the host.
  void run(std::vector<Stream>& streams, const std::vector<void*>& values);
  /// Throws Timeout where a wait of an earlier reduction timed out. run() checks this, too. The object cannot be used
  /// afterwards.
  void check() const;

  ReduceMethod method() const;        ///< the method in use, chosen where the caller gave `automatic`
  const std::string& reason() const;  ///< why this method was chosen and no earlier one of ReduceMethod
  bool needs_host() const { return method() == ReduceMethod::mpi; }
  /// Bytes of device memory that the reduction holds on each device.
  std::int64_t bytes_per_device() const;

  /// Capabilities and costs of a method, as pairs of name and text.
  using Facts = std::vector<std::pair<std::string, std::string>>;
  static Facts facts(ReduceMethod method);

 private:
  friend class BlockSums;
  /// Adds up partial sums, one per block of values: by a tree on each device, then by the reduction over all devices.
  void run_sums(std::vector<Stream>& streams, const std::vector<SumOnDevice>& sums,
                const std::vector<const double*>& parts, const std::vector<double*>& results);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipstream
