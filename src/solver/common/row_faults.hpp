#pragma once
// Search for the first invalid value in each row of a block.
#include <slipstream/guard.hpp>

#include "device/together.hpp"
#include "solver/common/cell_rows.hpp"

namespace slipstream {

constexpr int fault_threads = 64;

/// A thread block searches a row of cells for the first invalid value from the row's start. `cells.fault(i, j, k,
/// &value)` returns whether a cell has one, and stores it.
template <class Cells>
struct RowFaults {
  Cells cells;
  CellRows rows;
  RowFinding* findings;

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const RowFaults& self = *this;
    RowFinding* const firsts = team.template shared<RowFinding>();
    team.each([=, &self, &team](int thread) {
      RowFinding mine;
      for (int n = thread; n < self.rows.length && mine.at < 0; n += fault_threads) {
        const CellRows::Cell c = self.rows.cell(team.index(), n);
        if (self.cells.fault(c.x, c.y, c.z, &mine.value)) mine.at = n;
      }
      firsts[thread] = mine;
    });
    team.each([=, &self, &team](int thread) {
      if (thread != 0) return;
      RowFinding first;
      for (int t = 0; t < fault_threads; ++t)
        if (firsts[t].at >= 0 && (first.at < 0 || firsts[t].at < first.at)) first = firsts[t];
      self.findings[team.index()] = first;
    });
  }
};

/// Queues a search that sets findings[n] to the first invalid value in row n.
template <class Cells>
void find_row_faults(Together& together, const CellRows& rows, const Cells& cells, RowFinding* findings) {
  together.add_teams(rows.count(), fault_threads, fault_threads * sizeof(RowFinding),
                     RowFaults<Cells>{cells, rows, findings});
}

}  // namespace slipstream
