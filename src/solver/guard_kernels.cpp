#include "solver/guard_kernels.hpp"

#include <slipstream/launch.hpp>

#include "solver/row_faults.hpp"

namespace slipstream {
namespace {

constexpr int fold_threads = 512;

template <class T>
struct FieldFaults {
  const T* origin;
  Inspected what;

  SLIP_FN bool fault(int i, int j, int k, double* value) const {
    const std::int64_t at = i * what.shape.stride[0] + j * what.shape.stride[1] + k * what.shape.stride[2];
    for (int c = 0; c < what.components; ++c) {
      *value = static_cast<double>(origin[at + c * what.shape.component_stride]);
      if (!(*value >= what.lowest && *value <= what.highest)) return true;
    }
    return false;
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
      while (row < self.count && self.rows[row].at < 0) row += fold_threads;
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

void inspect_rows(Stream& stream, std::span<const Inspected> blocks) {
  Together together(stream);
  for (const Inspected& block : blocks) {
    const auto add = [&]<class T>() {
      find_row_faults(together, rows_of(block.shape), FieldFaults<T>{reinterpret_cast<const T*>(block.origin), block},
                      block.rows);
    };
    block.type == DType::f32 ? add.template operator()<float>() : add.template operator()<double>();
  }
  together.launch();
}

void first_of_rows(Stream& stream, const RowFinding* rows, std::int64_t count, DeviceFinding* first) {
  launch_teams(stream, 1, fold_threads, fold_threads * sizeof(std::int64_t), FirstOfRows{rows, count, first});
}

}  // namespace slipstream
