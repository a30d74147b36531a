#pragma once
// Steps of the heat equation that end in a linear system.
#include <memory>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/exchange.hpp>
#include <slipstream/field.hpp>
#include <slipstream/krylov.hpp>
#include <slipstream/pattern.hpp>
#include <slipstream/stencil_solver.hpp>

#include "solver/stencil/kernels.hpp"
#include "solver/stencil/pieces.hpp"

namespace slipstream::stencil {

/// The axis across which an implicit run cuts: the last that has more than one cell.
int slab_axis(const Extent& cells);
/// Of the fields that a system is solved in.
FieldOptions system_field(const Grid& grid, const Options& options, bool shared, const std::string& name);

/// With theta = 1 (backward Euler) or 1/2 (Crank and Nicolson), L the stencil of -Lap spacing^2 and
/// s = diffusivity time_step / spacing^2,
///
///     (1 + theta s L) u_new = (1 - (1 - theta) s L) u.
///
/// Values are in f64, whatever format u has. Vectors are whole planes of a slab, with the ghosts along the other axes,
/// whose weight is 0: so what is summed together is the same however many devices there are.
class Implicit {
 public:
  /// What a device computes; `box` is empty where it has no block.
  struct Slab {
    std::int64_t block = -1;
    Work work;
    BlockArrays arrays;  ///< of u
    Box box;             ///< in the block's own cells
  };
  Implicit(const Communicator& comm, const Machine& machine, const Grid& grid, const Options& options,
           const Numbers& numbers, std::vector<Slab> slabs);

  /// From u of each device to the next, both at interior cell (0, 0, 0). Collective.
  void step(std::vector<Stream>& streams, const std::vector<const void*>& u, const std::vector<void*>& next,
            const std::string& unknown);
  void check();
  const krylov::Effort& effort() const { return effort_; }
  Exchange& exchange() { return *of_directions_; }
  const Tuning& tuning() const { return tuning_; }

 private:
  struct Side {
    Slab slab;
    BlockArrays arrays;      ///< of the system's fields
    std::int64_t lead = 0;   ///< from a vector's first value to interior cell (0, 0, 0)
    std::int64_t first = 0;  ///< from a field's first value to its vector's
    std::int64_t points = 0;
    Buffer<double> b, weights;
  };
  void lay_out(Side& side, const BlockShape& shape, Stream& stream);
  krylov::Layout layout(const Grid& grid);
  krylov::Vectors vectors(Field& field);
  /// out = in + rate spacing^2 Lap in.
  void apply(std::vector<Stream>& streams, Exchange& exchange, const krylov::Vectors& in, const krylov::Vectors& out,
             double rate);
  void compute(std::vector<Stream>& streams, const krylov::Vectors& in, const krylov::Vectors& out, double rate,
               Part part);

  const Communicator comm_;
  const Options options_;
  Numbers numbers_;
  double theta_ = 1;
  Halo halo_;
  Field solution_, direction_;
  Tuning tuning_;
  std::vector<Side> sides_;
  std::unique_ptr<Exchange> of_solutions_, of_directions_;
  bool overlap_ = false;
  std::unique_ptr<krylov::ConjugateGradients> method_;
  krylov::System system_;
  krylov::Effort effort_;
};

}  // namespace slipstream::stencil
