#pragma once
// Implicit steps of the heat equation.
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

/// The axis along which an implicit run is cut into slabs: the last that has more than one cell.
int slab_axis(const Extent& cells);
/// Options of the vectors (residual, search direction and so on) of an implicit step's linear system, kept as fields.
FieldOptions system_field(const Grid& grid, const Options& options, bool shared, const std::string& name);

/// Solves implicit steps. With theta = 1 (backward Euler) or 1/2 (Crank-Nicolson), L the stencil of -Lap spacing^2 and
/// s = diffusivity time_step / spacing^2,
///
///     (1 + theta s L) u_new = (1 - (1 - theta) s L) u.
///
/// Values are in f64, whatever format u has. Vectors are whole planes of a slab. They include ghosts along the other
/// axes with weight 0, so that partial sums are the same for any number of devices.
class Implicit {
 public:
  /// The part of the cells that lies on a device; `box` is empty if the device has no block.
  struct Slab {
    std::int64_t block = -1;
    Work work;
    BlockArrays arrays;  ///< arrays of the solution u of the heat equation
    Box box;             ///< cells of the device's part of the grid, in its block's coordinates
  };
  Implicit(const Communicator& comm, const Machine& machine, const Grid& grid, const Options& options,
           const Numbers& numbers, std::vector<Slab> slabs);

  /// Makes an implicit step from u to `next` on each device. Pointers are to interior cell (0, 0, 0). Collective.
  void step(std::vector<Stream>& streams, const std::vector<const void*>& u, const std::vector<void*>& next,
            const std::string& unknown);
  void check();
  const krylov::Effort& effort() const { return effort_; }
  Exchange& exchange() { return *of_directions_; }
  const Tuning& tuning() const { return tuning_; }

 private:
  struct Side {
    Slab slab;
    BlockArrays arrays;      ///< arrays of the fields of the linear system
    std::int64_t lead = 0;   ///< offset from the vector's first value to cell (0, 0, 0)
    std::int64_t first = 0;  ///< number of values of the field's array before those that form a vector of the solver
    std::int64_t points = 0;
    Buffer<double> b, weights;
  };
  void lay_out(Side& side, const BlockShape& shape, Stream& stream);
  krylov::Layout layout(const Grid& grid);
  krylov::Vectors vectors(Field& field);
  /// Computes out = in + rate spacing^2 Lap in.
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
