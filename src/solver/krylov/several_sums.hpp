#pragma once
// Dot products of a vector with many, in one sum.
#include <vector>

#include <slipstream/block_sums.hpp>
#include <slipstream/buffer.hpp>
#include <slipstream/krylov.hpp>

#include "solver/krylov/vector_kernels.hpp"

namespace slipstream::krylov {

/// Several vectors on this rank's devices, stored contiguously.
class Basis {
 public:
  /// `memory`: of the caller, by device; empty: own memory, set to zero.
  Basis(const std::vector<Device>& devices, const Layout& layout, int most, const Vectors& memory = {});
  Vectors at(int k) const;
  Several first(std::size_t device, int count) const;

 private:
  std::vector<Buffer<double>> own_;
  Vectors values_;
  std::vector<std::int64_t> points_;
};

/// Sums of up to `most` dot products at once; results stay on each device and come to the host when asked for.
class SeveralSums {
 public:
  /// Collective.
  SeveralSums(const Communicator& comm, const Machine& machine, const Layout& layout, int most);
  /// (u, v_k) for the first `count` vectors of each device.
  void find(std::vector<Stream>& streams, const Values& weights, const Values& u, const Basis& v, int count);
  const double* on(std::size_t device) const { return results_[device].data(); }
  double* on(std::size_t device) { return results_[device].data(); }
  /// The results, which the host waits for.
  std::vector<double> read(std::vector<Stream>& streams);
  bool loopable() const { return sums_.loopable(); }
  /// Throws Timeout where a wait of an earlier sum gave up.
  void check() const { sums_.check(); }

 private:
  int most_;
  std::vector<Range> ranges_;
  BlockSums sums_;
  std::vector<Buffer<double>> parts_, results_;
  Buffer<double> host_;
};

/// This rank's devices.
std::vector<Device> devices_of(const Communicator& comm, const Machine& machine);

}  // namespace slipstream::krylov
