#pragma once
// A gather-scatter whose shared values are packed, sent and combined by the host, to compare with.
#include <memory>
#include <vector>

#include <slipstream/gather_scatter.hpp>

#include "gather_scatter/copies.hpp"
#include "gather_scatter/gather_scatter_kernels.hpp"

namespace slipstream {

/// As Neko's gather-scatter on GPUs was before J. Wahlgren's thesis (KTH, 2022): a kernel combines the copies of each
/// id that other devices share into a buffer, all of which is copied to the host, packed there for each neighbour, sent
/// by MPI, combined there with what came, and copied back.
///
/// What the host does is a gather-scatter, too: of the buffers, which lie in host memory, on devices of the host
/// backend, each rank a node of its own, so that MPI carries what ranks share. A value of the buffer is what a block
/// has of an id, so that bits are those of any other.
class HostPacked {
 public:
  /// Collective. `copies`: with their partials.
  HostPacked(const Communicator& comm, const Machine& machine, const std::vector<Copies>& copies,
             const GatherScatterOptions& options);
  ~HostPacked();

  /// Combines the copies in each block, and starts the copy to the host.
  void pack(std::size_t device, Stream& stream, const Values& values, Op op);
  /// Waits for the copies, lets the host combine, and queues what gives the results to all points.
  void finish(std::vector<Stream>& streams, const std::vector<Values>& values, Op op);

  GatherScatter& on_host() { return *host_; }

 private:
  struct Here {
    Here(const Arena& arena, const Lists<std::uint32_t>& copies, std::size_t bytes);
    DeviceRows<std::uint32_t> rows;
    Span<std::byte> there, here;  // the buffer, and on the host
    Event left, back;             // copied to the host, and back
  };
  DType type_;
  int components_;
  std::vector<Here> devices_;
  std::vector<Stream> streams_;  // of the host's devices
  std::unique_ptr<GatherScatter> host_;
};

}  // namespace slipstream
