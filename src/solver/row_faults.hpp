#pragma once
// The first fault in each row of a block.
#include <slipstream/guard.hpp>
#include <slipstream/launch.hpp>

namespace slipstream {

constexpr int fault_threads = 64;

/// A team takes a row; the first fault of its threads' cells is the one of smallest x. `cells.fault(i, j, k, &value)`
/// says whether a cell is at fault, and leaves its value.
template <class Cells>
struct RowFaults {
  Cells cells;
  int extent_x, extent_y;
  RowFinding* rows;

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const RowFaults& self = *this;
    RowFinding* const firsts = team.template shared<RowFinding>();
    const int j = static_cast<int>(team.index() % extent_y), k = static_cast<int>(team.index() / extent_y);
    team.each([=, &self](int thread) {
      RowFinding mine;
      for (int i = thread; i < self.extent_x && mine.x < 0; i += fault_threads)
        if (self.cells.fault(i, j, k, &mine.value)) mine.x = i;
      firsts[thread] = mine;
    });
    team.each([=, &self, &team](int thread) {
      if (thread != 0) return;
      RowFinding first;
      for (int t = 0; t < fault_threads; ++t)
        if (firsts[t].x >= 0 && (first.x < 0 || firsts[t].x < first.x)) first = firsts[t];
      self.rows[team.index()] = first;
    });
  }
};

/// rows[y + extent_y z] = the first fault in a row.
template <class Cells>
void find_row_faults(Stream& stream, const Extent& extent, const Cells& cells, RowFinding* rows) {
  launch_teams(stream, extent[1] * extent[2], fault_threads, fault_threads * sizeof(RowFinding),
               RowFaults<Cells>{cells, static_cast<int>(extent[0]), static_cast<int>(extent[1]), rows});
}

}  // namespace slipstream
