#pragma once
// Dot products of Krylov methods that the host adds up, to compare with those that stay on the devices.
#include <vector>

#include <slipstream/buffer.hpp>

namespace slipstream::python {

/// While an object of this class exists, all Krylov solves of the process add dot products on the host. It waits for
/// partial sums, adds them, combines all ranks by MPI, and returns results to devices. Bits then depend on the ranks.
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
