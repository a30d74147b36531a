#pragma once
// Common interface of the methods of an all-reduce.
#include <memory>
#include <string>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/machine.hpp>
#include <slipstream/stream.hpp>

#include "collective/block_sums_kernels.hpp"
#include "collective/collective_kernels.hpp"
#include "exchange/calls_in_order.hpp"

namespace slipstream {

/// The machine and its devices, those of this rank, and the timeout of an all-reduce.
struct ReduceTeam {
  const Machine& machine;
  int rank = 0;
  std::vector<int> devices;
  double wait_limit = 0;  ///< timeout in seconds
  Fold fold;
  const CallsInOrder& calls;  ///< serialises all runs of the all-reduce, on any streams

  Device local(int device) const { return machine.device(device).local; }
  /// Name of a device in error messages: "device 1 on rank 0".
  std::string name(int device) const;
  /// The Timeout error of a wait for another device or rank.
  Timeout missed(std::uint64_t number, const std::string& who, const std::string& whom, double seconds) const;
};

class Reduction {
 public:
  virtual ~Reduction() = default;
  virtual void run(std::vector<Stream>& streams, const std::vector<void*>& values) = 0;
  /// Sums f64 values over all blocks. Each device adds those of its own blocks, run() gives the partial sums of all
  /// devices to each, and each adds them up. A subclass may override this with a faster way.
  virtual void run_sums(std::vector<Stream>& streams, const std::vector<SumOnDevice>& sums,
                        const std::vector<const double*>& parts, const std::vector<double*>& results);
  virtual void check() const = 0;
};

/// Methods of an all-reduce. All are collective. peer_reduction throws on all ranks if one of them cannot map memory.
std::unique_ptr<Reduction> peer_reduction(const Communicator& comm, const ReduceTeam& team);
std::unique_ptr<Reduction> nccl_reduction(const Communicator& comm, const ReduceTeam& team);
std::unique_ptr<Reduction> mpi_reduction(const Communicator& comm, const ReduceTeam& team);

/// Reason why NCCL cannot connect the devices of a machine; empty if it can.
std::string nccl_reduction_refusal(const Machine& machine);

}  // namespace slipstream
