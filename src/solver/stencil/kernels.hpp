#pragma once
// Kernels of the stencil solver.
#include <cstdint>
#include <vector>

#include <slipstream/stencil_solver.hpp>

#include "solver/stencil/formulas.hpp"

namespace slipstream::stencil {

/// A block of cells and its arrays, as pointers to interior cell (0, 0, 0).
struct BlockArrays {
  const void* u = nullptr;
  void* next = nullptr;           ///< result; in the wave equation it holds the u of the step before
  const void* courant = nullptr;  ///< squared Courant number (c time_step / spacing)^2 of each cell
  Strides strides;
  Turns turns;
  int low[3] = {0, 0, 0};                ///< global coordinates of interior cell (0, 0, 0)
  int cells[3] = {1, 1, 1};              ///< number of cells of the whole grid
  bool open[3] = {false, false, false};  ///< whether each axis is not periodic
};

/// Coefficients common to all cells of a run.
struct Numbers {
  StarWeights<double> star{};
  CubeWeights<double> cube{};
  double rate = 0;        ///< heat: diffusivity time_step / spacing^2
  bool even[3][2] = {};   ///< whether a side is insulated or free, so that u is even about it, by axis and end
  int layers[3][2] = {};  ///< thickness of the absorbing layers in cells, by axis and end
  double damping = 0;     ///< damping at the side: sigma time_step / 2, dimensionless
};

/// Advances the cells of a box by one explicit step of the heat or the wave equation. Heat: next = u + rate spacing^2
/// Lap u. `sides`: the cells are in an absorbing layer, or read cells beyond a side (on the host also a periodic one).
template <class T>
void heat(Stream& stream, int points, const Numbers& numbers, const BlockArrays& block, const Box& box, bool sides);
template <class T>
void wave(Stream& stream, int radius, const Numbers& numbers, const BlockArrays& block, const Box& box, bool sides);

/// Converts u of the cells of a box to another number format. One of the types is f64, the other f32 or f64.
void convert(Stream& stream, DType from_type, const void* from, const Strides& there, DType to_type, void* to,
             const Strides& here, const Box& box);
/// Computes the Crank-Nicolson matrix times the last step's u, which is the initial guess: 2 u - b, right-hand side b.
void reflect(Stream& stream, const double* u, const double* b, double* to, const Strides& strides, const Box& box);
void set_ones(Stream& stream, double* to, const Strides& strides, const Box& box);

/// A wave source in a block that computes the source's cell.
struct Shot {
  std::int64_t at = 0;                          ///< offset of the source's cell from interior cell (0, 0, 0)
  double frequency = 1, factor = 1, delay = 0;  ///< frequency and delay of the source; factor = amplitude time_step^2
};
/// Adds the sources to u of the next step. `done`: number of steps done, in device memory.
void shoot(Stream& stream, DType type, void* next, const Shot* shots, int count, const std::int64_t* done,
           double time_step);
/// Records the wave field u at `count` receivers, in the table row for step *done; rows are overwritten in turn.
void listen(Stream& stream, DType type, const void* next, const std::int64_t* places, int count,
            const std::int64_t* done, double* table, std::int64_t rows, std::int64_t columns);
/// Increments the number of steps done, in device memory.
void count_step(Stream& stream, std::int64_t* done);
/// Writes the largest |a - b| of the interior of a block to *result. `rows` and `planes` are workspace.
void largest_difference(Stream& stream, DType type, const void* a, const void* b, const Strides& strides,
                        const Extent& extent, double* rows, double* planes, double* result);

}  // namespace slipstream::stencil
