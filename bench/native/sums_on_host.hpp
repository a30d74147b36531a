#pragma once
// Dot products of Krylov methods that the host adds up, to compare with those that stay on the devices.
#include <vector>

#include <slipstream/buffer.hpp>

namespace slipstream::python {

/// While it lives, all Krylov solves of this process sum on the host. It waits for the partial sums, adds them,
/// combines all ranks by MPI, and returns the result to the devices. The bits then depend on the ranks.
class SumsOnHost {
 public:
  SumsOnHost();
  ~SumsOnHost();
  SumsOnHost(const SumsOnHost&) = delete;
  SumsOnHost& operator=(const SumsOnHost&) = delete;

 private:
  std::vector<Buffer<double>> parts_;  ///< partial sums by device, in pinned memory
};

}  // namespace slipstream::python
