#include "solver/common/guard_kernels.hpp"

#include <slipstream/launch.hpp>

#include "solver/common/row_faults.hpp"

namespace slipstream {
inline namespace guard_kernels {

constexpr int fold_threads = 512;

template <class T>
struct FieldFaults {
  const T* origin;  ///< address of component 0 of interior cell (0, 0, 0)
  std::int64_t stride[3], component_stride;
  int components;
  double lowest, highest;

  SLIP_FN bool fault(int i, int j, int k, double* value) const {
    const std::int64_t at = i * stride[0] + j * stride[1] + k * stride[2];
    for (int c = 0; c < components; ++c) {
      *value = static_cast<double>(origin[at + c * component_stride]);
      if (!(*value >= lowest && *value <= highest)) return true;
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

}  // namespace guard_kernels

void inspect_rows(Stream& stream, const Field& field, std::span<const InspectedBlock> blocks, double lowest,
                  double highest) {
  const FieldOptions& o = field.options();
  Together together(stream);
  for (const InspectedBlock& inspected : blocks) {
    const BlockShape shape = field.shape(inspected.block);
    const auto add = [&]<class T>(T) {
      const T* origin = reinterpret_cast<const T*>(field.data(inspected.block)) + shape.origin;
      find_row_faults(together, rows_of(shape),
                      FieldFaults<T>{origin,
                                     {shape.stride[0], shape.stride[1], shape.stride[2]},
                                     shape.component_stride,
                                     o.components,
                                     lowest,
                                     highest},
                      inspected.rows);
    };
    o.type == DType::f32 ? add(0.0f) : add(0.0);
  }
  together.launch();
}

void first_of_rows(Stream& stream, const RowFinding* rows, std::int64_t count, DeviceFinding* first) {
  launch_teams(stream, 1, fold_threads, fold_threads * sizeof(std::int64_t), FirstOfRows{rows, count, first});
}

}  // namespace slipstream
