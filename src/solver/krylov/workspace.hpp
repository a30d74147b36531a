#pragma once
// Vectors and sums of conjugate gradients on the devices of a rank, and their copies on the host.
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <slipstream/block_sums.hpp>
#include <slipstream/buffer.hpp>
#include <slipstream/krylov.hpp>

#include "solver/krylov/vector_kernels.hpp"

namespace slipstream::krylov {

/// Indices of scalars on a device, mostly sums, one per component. Those of two iterations alternate: (r, z) of the
/// last one enters the next direction. A pair (r, z) and (r, r) is followed by the (p, A p) that led to it.
enum Place : std::size_t {
  first_pair = 0,
  second_pair = 3,
  mean_pair = 6,
  square_sum = 8,
  right_mean = 10,
  largest_pair = 12,
  conjugate_pairs = 14,  ///< (r, z), (z, A p) of 2 iterations: residual r, caller's preconditioned z, direction p
  limits = 18,           ///< (r, r) at which a component's iterations end; -1: none
  scales = 19,           ///< factor that undoes the scaling of the residual r in corrections of the solution x
  third_pair = 20,       ///< (r, z), (r, r) and (p, A p) of a replayed iteration
  places = 23
};
/// Copy of a device's sums on the host.
struct Sums {
  std::vector<double> of;
  std::size_t components;
  double single(std::size_t place, std::size_t c) const { return of[place * components + c]; }
  /// Returns one of two scalar products of component c that are stored together, such as (r, z) and (r, r).
  double paired(std::size_t place, std::size_t c, std::size_t which) const {
    return of[place * components + 2 * c + which];
  }
};

/// The vectors and sums of one device.
struct Side {
  Range range;
  double* p = nullptr;
  Buffer<double> r, q, parts, sums, host, own_p;
  Buffer<double> given;  ///< for each component: value of |r|^2 at which a solve ends, and scale of r; in pinned memory
  Buffer<double> z;      ///< r after preconditioning, for methods that need it
};

/// Indices of the blocks of points that each device sums over.
std::vector<std::vector<std::int64_t>> blocks_of(const Layout& layout);

struct Workspace {
  /// The constructor is collective. Throws Error on all ranks if there are too many components.
  Workspace(const Communicator& comm, const Machine& machine, Layout layout);

  /// Calls f for each device of this rank, to compute partial sums over blocks of points. Then adds these up globally.
  template <class F>
  void summed(std::vector<Stream>& streams, BlockSums& sums, std::size_t place, F f) {
    for (std::size_t d = 0; d < sides.size(); ++d) {
      const DeviceSpan span(trace, streams[d], "solver", "vectors", "compute");
      f(sides[d], d);
    }
    add_up(streams, sums, place);
  }
  void add_up(std::vector<Stream>& streams, BlockSums& sums, std::size_t place);
  /// Adds up partial sums over all blocks, `count` of them a block, and writes the totals to `place` on each device.
  using AddUp = std::function<void(Workspace&, std::vector<Stream>&, std::size_t count, std::size_t place)>;
  /// Replaces BlockSums in all solves of this process, if set. Benchmarks use it to compare other methods.
  static AddUp other_add_up;
  /// Whether a CUDA graph may repeat a loop with dot products over all devices: not if MPI on the host adds them up.
  bool loopable() const;

  /// Copies the residual limit and the residual's scaling of each component to the devices, once per linear solve.
  void give(std::vector<Stream>& streams, const Each& limit, const Each& scale);
  /// Waits for the first device; returns its scalar products, residual limits and scaling factors of the linear solve.
  Sums read(std::vector<Stream>& streams);
  /// Copies an iteration's inner products, or all sums if `everything`, to the host. `pair`: which of two alternating
  /// sets. Later work does not wait for the copy, and may overwrite the sums after received().
  void send(std::vector<Stream>& streams, std::size_t pair, bool everything);
  Sums received(std::size_t pair);
  /// Returns the largest |b| (right side) and |b - A x| (residual) of each component. Collective; the host waits.
  std::vector<std::array<double, 2>> largest_values(std::vector<Stream>& streams, const Values& weights,
                                                    const Values& b);

  Vectors directions() const;
  template <class Get>
  Vectors all(Get get) {
    Vectors found;
    for (Side& side : sides) found.push_back(get(side).data());
    return found;
  }
  Vectors residuals() {
    return all([](Side & side) -> auto& { return side.r; });
  }
  Vectors images() {
    return all([](Side & side) -> auto& { return side.q; });
  }
  Vectors corrections() {
    return all([](Side & side) -> auto& { return side.z; });
  }
  /// Allocates the vectors z of preconditioned residuals, for methods that need them.
  void make_room();
  /// Address of a scalar on a device, given its index.
  double* at(std::size_t device, std::size_t place) { return sides[device].sums.data() + place * components; }
  void require_one_component(const std::string& what) const;
  /// Waits for the devices, because queued work may still use memory that is about to be freed.
  void finish() noexcept;

  Communicator comm;
  Layout layout;
  std::size_t components;
  BlockSums one, two;
  std::vector<Side> sides;
  Trace* trace = nullptr;

 private:
  Sums checked(std::size_t slot) const;

  Stream looks_;  ///< stream for copies of sums to the host, concurrent with the caller's streams
  Event ready_;
  std::array<Event, 2> seen_;
};

}  // namespace slipstream::krylov
