#pragma once
// Kernels for velocity, density, mass, energy and invalid values of cells, for populations or moments as the state.
#include "device/together.hpp"
#include "solver/common/row_faults.hpp"
#include "solver/lbm/lattice/kernels.hpp"
#include "solver/lbm/links/macroscopic.hpp"
#include "solver/lbm/step/energy.hpp"

namespace slipstream::lbm {

/// Computes velocity and density of cells. `Cells`: constructed from BlockArrays, with the interface of Populations.
template <class Cells>
class CellKernels : public Kernels {
  using T = typename Cells::Number;

 public:
  void macroscopic(Together& together, const Box& box, const BlockArrays& b, const Model& model,
                   double* change) const override {
    const CellRows rows(box, b.populations.shape.row_axis);
    together.add_teams(rows.count(), row_threads, row_threads * sizeof(double),
                       Macroscopic<Cells>{Cells(b),
                                          Scalars<T>(b.velocity),
                                          Scalars<T>(b.density),
                                          Scalars<const std::uint8_t>(b.flags),
                                          rows,
                                          {half(model, 0), half(model, 1), half(model, 2)},
                                          change});
  }

  void excess_mass(Together& together, const Box& box, const BlockArrays& b, double* sum) const override {
    add_rows<1>(together, box, b, ExcessMass<Cells>{Cells(b), Scalars<const std::uint8_t>(b.flags)}, sum);
  }

  void energy(Together& together, const Box& box, const BlockArrays& b, const Model& model,
              double* sums) const override {
    const Force<T> force{static_cast<T>(model.force[0]), static_cast<T>(model.force[1]),
                         static_cast<T>(model.force[2])};
    add_rows<2>(together, box, b,
                EnergySums<Cells>{Cells(b), Scalars<const std::uint8_t>(b.flags), force, model.viscosity,
                                  model.smagorinsky.value_or(0)},
                sums);
  }

  void inspect_density(Together& together, const BlockArrays& b, double lowest, double highest,
                       RowFinding* rows) const override {
    find_row_faults(together, rows_of(b.populations.shape),
                    DensityFaults<Cells>{Cells(b), Scalars<const std::uint8_t>(b.flags), lowest, highest}, rows);
  }

 protected:
  static T half(const Model& model, int axis) { return static_cast<T>(0.5 * model.force[axis]); }
};

}  // namespace slipstream::lbm
