#pragma once
// Each collision in a kernel, on every available backend, compared with the same collision on the host thread.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/launch.hpp>

#include "collisions.hpp"
#include "machine_rig.hpp"

namespace slipstream::lbm {

/// Streams populations to a cell from its row, which is periodic in x, y and z; collides and stores them.
template <class L, class T, class Collision>
struct PullRow {
  const T* in;
  T* out;
  std::int64_t cells;
  Collision collision;
  SLIP_FN void operator()(int i, int, int) const {
    T g[L::q];
    unrolled<0, L::q>([&](auto q) {
      constexpr int back = L::velocity[q()][0];
      const std::int64_t from = back > 0 ? (i == 0 ? cells - 1 : i - 1) : back < 0 ? (i == cells - 1 ? 0 : i + 1) : i;
      g[q()] = in[q() * cells + from];
    });
    collision(g);
    unrolled<0, L::q>([&](auto q) { out[q() * cells + i] = g[q()]; });
  }
};

template <class L, class T, class Collision>
void check_kernel(Backend backend, const Collision& collision) {
  constexpr std::int64_t cells = 300;
  Stream stream({backend, 0});
  std::vector<T> start(L::q * cells), expected(start.size()), result(start.size());
  RandomCell<L, T> random(0.2);
  for (std::int64_t i = 0; i < cells; ++i) {
    T g[L::q];
    random.fill(g);
    for (int q = 0; q < L::q; ++q) start[q * cells + i] = g[q];
  }
  const PullRow<L, T, Collision> here{start.data(), expected.data(), cells, collision};
  for (int i = 0; i < cells; ++i) here(i, 0, 0);
  const Buffer<T> in(stream.device(), start.size()), out(stream.device(), start.size());
  copy(stream, in.data(), start.data(), in.bytes());
  launch(stream, Box{{0, 0, 0}, {cells, 1, 1}}, PullRow<L, T, Collision>{in.data(), out.data(), cells, collision});
  copy(stream, result.data(), out.data(), out.bytes());
  stream.synchronize();
  for (std::size_t n = 0; n < result.size(); ++n)
    ASSERT_NEAR(result[n], expected[n], 4 * std::numeric_limits<T>::epsilon()) << "population " << n / cells;
}

template <class L, class T>
void check_kernels(Backend backend) {
  const auto check = [&](const std::string& name, auto collision) {
    SCOPED_TRACE(name_of<L>() + " " + name);
    check_kernel<L, T>(backend, collision);
  };
  each_collision<L, T>(0.01, 0.17, check);
  check("mrt and smagorinsky and guo",
        Guo<L, T, Smagorinsky<L, T, Mrt<L, T>>>({mrt_of<L, T>(0.01), 0.01, 0.17}, 0.001, 0.002, 0));
}

}  // namespace slipstream::lbm
