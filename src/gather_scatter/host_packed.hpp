#pragma once
// A gather-scatter whose host packs, sends and combines the shared values. It is a baseline for comparisons.
#include <memory>
#include <vector>

#include <slipstream/gather_scatter.hpp>

#include "gather_scatter/copies.hpp"
#include "gather_scatter/gather_scatter_kernels.hpp"

namespace slipstream {

/// The method of Neko's gather-scatter on GPUs before J. Wahlgren's thesis (KTH, 2022). A kernel combines the copies of
/// each shared id into a buffer, and the whole buffer is copied to the host. The host packs it for each neighbour,
/// sends it by MPI and combines it with the received values. The result is copied back.
///
/// The host part is itself a gather-scatter of these buffers on devices of the host backend. Each rank is a node of its
/// own, so that MPI carries all shared values. Each value is a block's partial result, so results equal those of the
/// other methods bit for bit.
class HostPacked {
 public:
  /// Makes the host's part of a gather-scatter. `copies`: lists of shared points, also for partial results. Collective.
  HostPacked(const Communicator& comm, const Machine& machine, const std::vector<Copies>& copies,
             const GatherScatterOptions& options);
  ~HostPacked();

  /// Combines each block's copies of shared points on the device, and starts to copy the results to the host.
  void pack(std::size_t device, Stream& stream, const Values& values, Op op);
  /// Waits for the copies to the host, combines there, and queues the copies back and the scatter to all points.
  void finish(std::vector<Stream>& streams, const std::vector<Values>& values, Op op);

  GatherScatter& on_host() { return *host_; }

 private:
  struct Here {
    Here(const Arena& arena, const Lists<std::uint32_t>& copies, std::size_t bytes);
    ListOnDevice list;
    Span<std::byte> there, here;  // partial results on the device, and their copy on the host
    Event left, back;             // events after the results' copy to the host, and after their copy back
  };
  Operands operands(const Here& here, const Values& points, Op op) const;

  DType type_;
  int components_;
  std::vector<Here> devices_;
  std::vector<Stream> streams_;  // streams of the host backend's devices
  std::unique_ptr<GatherScatter> host_;
};

}  // namespace slipstream
