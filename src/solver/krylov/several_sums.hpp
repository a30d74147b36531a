#pragma once
// Dot products of one vector with many, added up over all devices in one sum.
#include <vector>

#include <slipstream/block_sums.hpp>
#include <slipstream/buffer.hpp>
#include <slipstream/krylov.hpp>

#include "solver/krylov/vector_kernels.hpp"

namespace slipstream::krylov {

/// Several vectors on this rank's devices, stored contiguously.
class Basis {
 public:
  /// `memory`: the caller's memory by device; if empty, the object allocates its own, set to zero.
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
  /// The constructor is collective. `most`: largest number of dot products at once.
  SeveralSums(const Communicator& comm, const Machine& machine, const Layout& layout, int most);
  /// Computes (u, v_k) for the first `count` vectors v_k, on each device.
  void find(std::vector<Stream>& streams, const Values& weights, const Values& u, const Basis& v, int count);
  const double* on(std::size_t device) const { return results_[device].data(); }
  double* on(std::size_t device) { return results_[device].data(); }
  /// Returns the results to the host, after waiting for the devices.
  std::vector<double> read(std::vector<Stream>& streams);
  bool loopable() const { return sums_.loopable(); }
  /// Throws Timeout if a device waited too long for the values of others in an earlier sum.
  void check() const { sums_.check(); }

 private:
  int most_;
  std::vector<Range> ranges_;
  BlockSums sums_;
  std::vector<Buffer<double>> parts_, results_;
  Buffer<double> host_;
};

/// The devices that this rank uses.
std::vector<Device> devices_of(const Communicator& comm, const Machine& machine);

}  // namespace slipstream::krylov
