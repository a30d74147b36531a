#pragma once
// The first fault in each row of a block.
#include <slipstream/guard.hpp>
#include <slipstream/launch.hpp>

namespace slipstream {

constexpr int fault_threads = 64;

/// A team takes a row of memory; the first fault of its threads' cells is the one nearest to its start. `cells.fault(i,
/// j, k, &value)` says whether a cell is at fault, and leaves its value.
template <class Cells>
struct RowFaults {
  Cells cells;
  int length, high;
  bool along_z;
  RowFinding* rows;

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const RowFaults& self = *this;
    RowFinding* const firsts = team.template shared<RowFinding>();
    const int j = static_cast<int>(team.index() % high), last = static_cast<int>(team.index() / high);
    team.each([=, &self](int thread) {
      RowFinding mine;
      for (int n = thread; n < self.length && mine.at < 0; n += fault_threads)
        if (self.cells.fault(self.along_z ? last : n, j, self.along_z ? n : last, &mine.value)) mine.at = n;
      firsts[thread] = mine;
    });
    team.each([=, &self, &team](int thread) {
      if (thread != 0) return;
      RowFinding first;
      for (int t = 0; t < fault_threads; ++t)
        if (firsts[t].at >= 0 && (first.at < 0 || firsts[t].at < first.at)) first = firsts[t];
      self.rows[team.index()] = first;
    });
  }
};

/// rows[n] = the first fault in row n; see RowFinding.
template <class Cells>
void find_row_faults(Stream& stream, const BlockShape& shape, const Cells& cells, RowFinding* rows) {
  const std::int64_t length = shape.extent[shape.row_axis];
  launch_teams(
      stream, volume(shape.extent) / length, fault_threads, fault_threads * sizeof(RowFinding),
      RowFaults<Cells>{cells, static_cast<int>(length), static_cast<int>(shape.extent[1]), shape.row_axis == 2, rows});
}

}  // namespace slipstream
