#include "solver/lbm/zigzag.hpp"

#include <cmath>
#include <limits>

#include "device/together.hpp"
#include "solver/lbm/lattice/row_sums.hpp"
#include "solver/lbm/storage/access.hpp"

namespace slipstream::lbm {
inline namespace zigzag_kernels {

/// Number of ghost layers of a field along each axis.
struct Around {
  int x, y, z;
  explicit Around(const BlockData& place)
      : x(static_cast<int>(place.shape.ghost[0])),
        y(static_cast<int>(place.shape.ghost[1])),
        z(static_cast<int>(place.shape.ghost[2])) {}
};

template <class T>
struct MarkSolids {
  Scalars<T> density;
  Scalars<const std::uint8_t> flags;
  int extent[3];

  SLIP_FN void operator()(int i, int j, int k) const {
    const bool inside = i >= 0 && j >= 0 && k >= 0 && i < extent[0] && j < extent[1] && k < extent[2];
    const bool fluid = inside && flags.origin[flags.at(i, j, k)] == 0;
    density.origin[density.at(i, j, k)] = fluid ? T(0) : std::numeric_limits<T>::quiet_NaN();
  }
};

template <class T>
struct MarkMargins {
  Scalars<const T> density;
  Scalars<T> velocity;
  Around around;

  SLIP_FN bool near(int i, int j, int k) const {
    for (int z = k - around.z; z <= k + around.z; ++z)
      for (int y = j - around.y; y <= j + around.y; ++y)
        for (int x = i - around.x; x <= i + around.x; ++x) {
          const T mark = density.origin[density.at(x, y, z)];
          if (mark != mark) return true;
        }
    return false;
  }

  SLIP_FN void operator()(int i, int j, int k) const {
    if (!near(i, j, k)) return;
    for (int c = 0; c < 3; ++c)
      velocity.origin[velocity.at(i, j, k) + c * velocity.component] = std::numeric_limits<T>::quiet_NaN();
  }
};

template <class T>
struct TakeComponent {
  Scalars<T> density;
  Scalars<const T> velocity;
  int component;

  SLIP_FN void operator()(int i, int j, int k) const {
    density.origin[density.at(i, j, k)] = velocity.origin[velocity.at(i, j, k) + component * velocity.component];
  }
};

template <class T>
struct FourthDifferences {
  Scalars<const T> values;
  Around around;

  SLIP_FN double value(std::int64_t at) const { return static_cast<double>(values.origin[at]); }
  SLIP_FN void along(std::int64_t at, std::int64_t step, double* square, double* terms) const {
    const double inner = value(at - step) + value(at + step), outer = value(at - 2 * step) + value(at + 2 * step);
    const double zigzag = (outer - 4 * inner + 6 * value(at)) / 16;
    if (zigzag != zigzag) return;
    *square += zigzag * zigzag;
    *terms += 1;
  }
  SLIP_FN void add(int i, int j, int k, double* mine) const {
    const std::int64_t at = values.at(i, j, k);
    if (around.x > 0) along(at, values.cell, mine, mine + 3);
    if (around.y > 0) along(at, values.row, mine + 1, mine + 4);
    if (around.z > 0) along(at, values.plane, mine + 2, mine + 5);
  }
};

template <class T>
struct Speeds {
  Scalars<const T> velocity;
  Scalars<const std::uint8_t> flags;

  SLIP_FN void add(int i, int j, int k, double* mine) const {
    if (flags.origin[flags.at(i, j, k)] != 0) return;
    double square = 0;
    for (int c = 0; c < 3; ++c) {
      const auto part = static_cast<double>(velocity.origin[velocity.at(i, j, k) + c * velocity.component]);
      square += part * part;
    }
    *mine += std::sqrt(square);
  }
};

/// Calls `run`, a function for any number type, with a float if the block's velocity is stored in f32, else a double.
template <class Run>
void with_type(const BlockArrays& b, const Run& run) {
  b.velocity.type == DType::f32 ? run(0.0f) : run(0.0);
}

}  // namespace zigzag_kernels

void mark_solids(Together& together, const Box& cells, const BlockArrays& b) {
  Box all = cells;
  for (int a = 0; a < 3; ++a) {
    all.lo[a] -= b.density.shape.ghost[a];
    all.hi[a] += b.density.shape.ghost[a];
  }
  with_type(b, [&]<class T>(T) {
    together.add(all, MarkSolids<T>{Scalars<T>(b.density),
                                    Scalars<const std::uint8_t>(b.flags),
                                    {static_cast<int>(cells.extent(0)), static_cast<int>(cells.extent(1)),
                                     static_cast<int>(cells.extent(2))}});
  });
}

void mark_margins(Together& together, const Box& cells, const BlockArrays& b) {
  with_type(b, [&]<class T>(T) {
    together.add(cells, MarkMargins<T>{Scalars<const T>(b.density), Scalars<T>(b.velocity), Around(b.density)});
  });
}

void take_component(Together& together, const Box& cells, const BlockArrays& b, int component) {
  with_type(b, [&]<class T>(T) {
    together.add(cells, TakeComponent<T>{Scalars<T>(b.density), Scalars<const T>(b.velocity), component});
  });
}

void sum_zigzags(Together& together, const Box& cells, const BlockArrays& b, double* sums) {
  with_type(b, [&]<class T>(T) {
    add_rows<zigzag_sums>(together, cells, b, FourthDifferences<T>{Scalars<const T>(b.density), Around(b.density)},
                          sums);
  });
}

void sum_speeds(Together& together, const Box& cells, const BlockArrays& b, double* sums) {
  with_type(b, [&]<class T>(T) {
    add_rows<1>(together, cells, b, Speeds<T>{Scalars<const T>(b.velocity), Scalars<const std::uint8_t>(b.flags)},
                sums);
  });
}

}  // namespace slipstream::lbm
