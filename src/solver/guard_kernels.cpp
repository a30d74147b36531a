#include "solver/guard_kernels.hpp"

#include <slipstream/launch.hpp>

namespace slipstream {
namespace {

constexpr int row_threads = 64;
constexpr int fold_threads = 512;

/// A team takes a row; the first fault of its threads' cells is the one of smallest x.
template <class T>
struct InspectRows {
  const T* origin;
  Inspected what;
  RowFinding* rows;

  SLIP_FN bool sound(double value) const { return value >= what.lowest && value <= what.highest; }

  /// True where the cell is at fault, with the value that is.
  SLIP_FN bool fault(std::int64_t at, double* value) const {
    double sum = what.offset;
    for (int c = 0; c < what.components; ++c) {
      const double one = static_cast<double>(origin[at + c * what.shape.component_stride]);
      sum += one;
      *value = what.sum ? sum : what.offset + one;
      if (!what.sum && !sound(*value)) return true;
    }
    return what.sum && !sound(*value);
  }

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const InspectRows& self = *this;
    RowFinding* const firsts = team.template shared<RowFinding>();
    const std::int64_t j = team.index() % what.shape.extent[1], k = team.index() / what.shape.extent[1];
    const std::int64_t start = j * what.shape.stride[1] + k * what.shape.stride[2];
    team.each([=, &self](int thread) {
      RowFinding mine;
      for (std::int64_t i = thread; i < self.what.shape.extent[0] && mine.x < 0; i += row_threads)
        if (self.fault(start + i * self.what.shape.stride[0], &mine.value)) mine.x = static_cast<std::int32_t>(i);
      firsts[thread] = mine;
    });
    team.each([=, &self, &team](int thread) {
      if (thread != 0) return;
      RowFinding first;
      for (int t = 0; t < row_threads; ++t)
        if (firsts[t].x >= 0 && (first.x < 0 || firsts[t].x < first.x)) first = firsts[t];
      self.rows[team.index()] = first;
    });
  }
};

struct FirstOfRows {
  const RowFinding* rows;
  std::int64_t count;
  DeviceFinding* first;

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const FirstOfRows& self = *this;
    std::int64_t* const firsts = team.template shared<std::int64_t>();
    team.each([=, &self](int thread) {
      std::int64_t row = thread;
      while (row < self.count && self.rows[row].x < 0) row += fold_threads;
      firsts[thread] = row < self.count ? row : self.count;
    });
    team.each([=, &self](int thread) {
      if (thread != 0) return;
      std::int64_t row = self.count;
      for (int t = 0; t < fold_threads; ++t) row = firsts[t] < row ? firsts[t] : row;
      DeviceFinding found;
      if (row < self.count) {
        found.row = row;
        found.found = self.rows[row];
      }
      *self.first = found;
    });
  }
};

}  // namespace

void inspect_rows(Stream& stream, const Inspected& what, RowFinding* rows) {
  const auto run = [&]<class T>() {
    launch_teams(stream, what.rows(), row_threads, row_threads * sizeof(RowFinding),
                 InspectRows<T>{reinterpret_cast<const T*>(what.origin), what, rows});
  };
  what.type == DType::f32 ? run.template operator()<float>() : run.template operator()<double>();
}

void first_of_rows(Stream& stream, const RowFinding* rows, std::int64_t count, DeviceFinding* first) {
  launch_teams(stream, 1, fold_threads, fold_threads * sizeof(std::int64_t), FirstOfRows{rows, count, first});
}

}  // namespace slipstream
