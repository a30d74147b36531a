#pragma once
// Test fixture for every backend, with small kernels and copies.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/launch.hpp>
#include <slipstream/signal.hpp>

#include "machine_rig.hpp"

namespace slipstream {

constexpr std::uint64_t second_ns = 1000000000;

/// Kernel that writes value + position to `count` cells of a row.
struct WriteRamp {
  int* data;
  int value;
  SLIP_FN void operator()(int i, int, int) const { data[i] = value + i; }
};

/// Kernel that sets a flag if some cell does not hold `value` plus its position.
struct CheckRamp {
  const int* data;
  int value;
  int* wrong;
  SLIP_FN void operator()(int i, int, int) const {
    if (data[i] != value + i) *wrong = 1;
  }
};

struct Double {
  int* to;
  const int* from;
  SLIP_FN void operator()(int i, int, int) const { to[i] = 2 * from[i]; }
};

struct WaitFor {
  const Signal* signal;
  std::uint64_t value, limit_ns;
  int* reached;
  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    team.each([&](int t) {
      if (t == 0) *reached = wait_for(signal, value, limit_ns) ? 1 : 0;
    });
  }
};

struct Set {
  Signal* signal;
  std::uint64_t value;
  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    team.each([&](int t) {
      if (t == 0) store_release(signal, value);
    });
  }
};

inline Box row(int cells) { return {{0, 0, 0}, {cells, 1, 1}}; }

template <class T>
std::vector<T> read_back(Stream& stream, const Buffer<T>& buffer) {
  Buffer<T> pinned(stream.device(), buffer.size(), Memory::pinned);
  copy(stream, pinned.data(), buffer.data(), buffer.bytes());
  stream.synchronize();
  const auto span = pinned.span();
  return {span.begin(), span.end()};
}

template <class T>
void write(Stream& stream, const Buffer<T>& buffer, const std::vector<T>& values) {
  Buffer<T> pinned(stream.device(), buffer.size(), Memory::pinned);
  std::copy(values.begin(), values.end(), pinned.data());
  copy(stream, buffer.data(), pinned.data(), buffer.bytes());
  stream.synchronize();
}

template <class T>
Buffer<T> zeroed(Stream& stream, std::size_t size) {
  Buffer<T> buffer(stream.device(), size);
  fill(stream, buffer.data(), 0, buffer.bytes());
  stream.synchronize();
  return buffer;
}

inline std::vector<int> ramp(int from, int count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), from);
  return values;
}

class DeviceTest : public testing::TestWithParam<Backend> {
 protected:
  const Device device{GetParam(), 0};
};

}  // namespace slipstream
