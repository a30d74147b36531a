#pragma once
// History of sums of the iterations that a device repeats without the host.
#include <cstdint>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/stream.hpp>

#include "solver/krylov/vector_kernels.hpp"
#include "solver/krylov/workspace.hpp"

namespace slipstream::krylov {

struct History {
  static constexpr int room = 128;  ///< iterations
  History(Device device, std::size_t sums_of_an_iteration);

  /// Called before the first iteration; `most`: limit of iterations until read().
  void reset(Stream& stream, int most);
  /// The sums of each iteration since reset(). Waits.
  std::vector<Sums> read(Stream& stream, std::size_t components);

  Buffer<double> sums;
  Buffer<std::int32_t> state;  ///< state of TakeDown

 private:
  std::size_t count_;
  Buffer<double> host_;
  Buffer<std::int32_t> host_state_;
};

}  // namespace slipstream::krylov
