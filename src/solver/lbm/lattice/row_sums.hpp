#pragma once
// Sums over the cells of each row of a block.
#include <cstdint>

#include "device/together.hpp"
#include "solver/common/cell_rows.hpp"
#include "solver/lbm/lattice/kernels.hpp"

namespace slipstream::lbm {

/// Number of threads of a team that sums one row.
constexpr int row_threads = 64;

/// Sums `count` quantities over each row of cells. The call cell.add(x, y, z, sums) adds those of a cell to `sums`. The
/// 64 threads of a thread block share a row; their partial sums are added in the order of the threads.
template <int count, class Cell>
struct RowSums {
  Cell cell;
  CellRows rows;
  double* sums;  ///< results: `count` sums over the cells of each row of the block, as [row][sum]

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const RowSums& self = *this;
    double* part = team.template shared<double>();
    team.each([=, &self, &team](int thread) {
      double mine[count] = {};
      for (int n = thread; n < self.rows.length; n += row_threads) {
        const CellRows::Cell c = self.rows.cell(team.index(), n);
        self.cell.add(c.x, c.y, c.z, mine);
      }
      for (int s = 0; s < count; ++s) part[count * thread + s] = mine[s];
    });
    team.each([=, &self, &team](int thread) {
      if (thread >= count) return;
      double all = 0;
      for (int t = 0; t < row_threads; ++t) all += part[count * t + thread];
      self.sums[count * team.index() + thread] = all;
    });
  }
};

template <int count, class Cell>
void add_rows(Together& together, const Box& cells, const BlockArrays& b, const Cell& cell, double* sums) {
  const CellRows rows(cells, b.populations.shape.row_axis);
  together.add_teams(rows.count(), row_threads, count * row_threads * sizeof(double),
                     RowSums<count, Cell>{cell, rows, sums});
}

}  // namespace slipstream::lbm
