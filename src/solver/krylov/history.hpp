#pragma once
// History of the inner products in each solver iteration, kept on the device while it iterates without the host.
#include <cstdint>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/stream.hpp>

#include "solver/krylov/vector_kernels.hpp"
#include "solver/krylov/workspace.hpp"

namespace slipstream::krylov {

struct History {
  static constexpr int room = 128;  ///< largest number of iterations in a history
  History(Device device, std::size_t sums_of_an_iteration);

  /// Clears the history before the first iteration; `most`: largest number of iterations until read().
  void reset(Stream& stream, int most);
  /// Returns the inner products of each solver iteration since reset(), such as (r, r). Waits for the stream.
  std::vector<Sums> read(Stream& stream, std::size_t components);

  Buffer<double> sums;
  Buffer<std::int32_t> state;  ///< flags and counters of the kernel that fills the history

 private:
  std::size_t count_;
  Buffer<double> host_;
  Buffer<std::int32_t> host_state_;
};

}  // namespace slipstream::krylov
