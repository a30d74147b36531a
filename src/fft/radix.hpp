#pragma once
// Lines whose length is a power of two, by a team in its shared memory: the transform that stores its results itself.
//
// With N = r_1 r_2 ... r_m and decimation in frequency, pass s turns each group of L = N / (r_1 ... r_(s-1)) values
// into r_s groups of M = L / r_s,
//
//     y_q(n) = w_L^(n q) sum over j < r_s of x(n + j M) w_(r_s)^(j q),    w_L = exp(-2 pi i / L),   0 <= n < M,
//
// in the places that it read: a phase needs no second copy. Mode k = q_1 + r_1 q_2 + r_1 r_2 q_3 + ... ends at place
// q_1 N / r_1 + q_2 N / (r_1 r_2) + ... + q_m. The first pass reads from global memory along the lines, the last stores
// across them. A backward transform is the forward one of values whose parts are exchanged, before and after.
#include <cstdint>
#include <utility>

#include <slipstream/device/function.hpp>

namespace slipstream::fft {

template <class T>
struct alignas(2 * sizeof(T)) Pair {
  T re, im;
  friend SLIP_FN Pair operator+(const Pair& a, const Pair& b) { return {a.re + b.re, a.im + b.im}; }
  friend SLIP_FN Pair operator-(const Pair& a, const Pair& b) { return {a.re - b.re, a.im - b.im}; }
  friend SLIP_FN Pair operator*(const Pair& a, const Pair& b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  SLIP_FN Pair turned() const { return {im, -re}; }  ///< times -i
  SLIP_FN Pair exchanged() const { return {im, re}; }
};

/// x_q = sum over j of x_j exp(-2 pi i j q / radix), in place.
template <class T>
SLIP_FN void butterfly2(Pair<T>& a, Pair<T>& b) {
  const Pair<T> sum = a + b;
  b = a - b;
  a = sum;
}
template <class T>
SLIP_FN void butterfly4(Pair<T>& a, Pair<T>& b, Pair<T>& c, Pair<T>& d) {
  butterfly2(a, c);
  butterfly2(b, d);
  d = d.turned();
  butterfly2(a, b);
  butterfly2(c, d);
  const Pair<T> second = b;  // a: 0, b: 2, c: 1, d: 3
  b = c;
  c = second;
}
template <int radix, class T>
SLIP_FN void butterfly(Pair<T>* x) {
  static_assert(radix == 4 || radix == 8);
  if constexpr (radix == 4) {
    butterfly4(x[0], x[1], x[2], x[3]);
  } else {
    butterfly4(x[0], x[2], x[4], x[6]);
    butterfly4(x[1], x[3], x[5], x[7]);
    constexpr T half = static_cast<T>(0.70710678118654752440);
    const Pair<T> one = x[1];
    const Pair<T> three = {(x[3].re + x[3].im) * half, (x[3].im - x[3].re) * half};
    const Pair<T> five = x[5].turned();
    const Pair<T> seven = {(x[7].im - x[7].re) * half, -(x[7].re + x[7].im) * half};
    const Pair<T> zero = x[0], two = x[2], four = x[4], six = x[6];
    x[0] = zero + one, x[4] = zero - one;
    x[1] = two + three, x[5] = two - three;
    x[2] = four + five, x[6] = four - five;
    x[3] = six + seven, x[7] = six - seven;
  }
}

/// The radices of a length: 8 or 4, at least two of them.
struct Radices {
  static constexpr int most = 4;
  int count = 0, length = 0;
  int radix[most] = {0, 0, 0, 0};

  static constexpr int shortest = 16, longest = 2048;
  static bool hold(std::int64_t n) { return n >= shortest && n <= longest && (n & (n - 1)) == 0; }
  explicit Radices(int n = shortest) : length(n) {
    int bits = 0;
    while (1 << bits < n) ++bits;
    count = (bits + 2) / 3;
    const int eights = bits - 2 * count;  // the others are fours
    for (int s = 0; s < count; ++s) radix[s] = s < eights ? 8 : 4;
  }
  /// The mode that ends in a place, but for the last digit, which the last pass brings.
  SLIP_FN int mode(int place) const {
    int mode = 0, weight = 1, rest = length;
    for (int s = 0; s < count; ++s) {
      rest /= radix[s];
      mode += place / rest * weight;
      place %= rest;
      weight *= radix[s];
    }
    return mode;
  }
};

/// Steps in values along the lines, from line to line of a tile, and from tile to tile of the third axis.
struct Steps {
  std::int64_t along = 1, across = 0, third = 0;
};

/// Into an array.
template <class T>
struct ToArray {
  Pair<T>* to;
  Steps steps;
  SLIP_FN bool open() const { return true; }
  SLIP_FN void put(int mode, std::int64_t line, std::int64_t third, const Pair<T>& value) const {
    to[mode * steps.along + line * steps.across + third * steps.third] = value;
  }
};

/// A team does `wide` lines side by side. Value e of line l lies in shared memory at e * wide + (l + e) % wide: neither
/// what runs along a line nor what runs across meets itself in a bank.
template <class T, class Out>
struct RadixTile {
  static constexpr int threads = 512;
  Radices radices;
  int wide;  // a power of two
  bool forward;
  std::int64_t lines, tiles;  // across, and tiles of them
  const Pair<T>* from;
  Steps steps;
  const Pair<T>* roots;  // exp(-2 pi i k / length)
  Out out;
  std::int64_t cost;

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const std::int64_t third = team.index() / tiles, first = team.index() % tiles * wide;
    const int count = static_cast<int>(lines - first < wide ? lines - first : wide);
    auto* const shared = team.template shared<Pair<T>>();
    const Pair<T>* const values = from + first * steps.across + third * steps.third;
    const int size = team.threads(), last = radices.count - 1;
    team.each([&](int thread) {
      if (radices.radix[0] == 8) {
        begin<8>(thread, size, shared, values, count);
      } else {
        begin<4>(thread, size, shared, values, count);
      }
    });
    int group = radices.length / radices.radix[0];
    for (int s = 1; s < last; ++s) {
      team.each([&](int thread) {
        if (radices.radix[s] == 8) {
          pass<8>(thread, size, shared, group);
        } else {
          pass<4>(thread, size, shared, group);
        }
      });
      group /= radices.radix[s];
    }
    team.each([&](int thread) {
      if (!out.open()) return;
      if (radices.radix[last] == 8) {
        finish<8>(thread, size, shared, count, first, third);
      } else {
        finish<4>(thread, size, shared, count, first, third);
      }
    });
  }

 private:
  SLIP_FN int at(int e, int line) const { return e * wide + ((line + e) & (wide - 1)); }

  template <int radix>
  SLIP_FN void turn(Pair<T>* x, int n, int step) const {
    for (int q = 1; q < radix; ++q) x[q] = x[q] * roots[n * q * step];
  }

  template <int radix>
  SLIP_FN void begin(int thread, int size, Pair<T>* shared, const Pair<T>* values, int count) const {
    const int m = radices.length / radix;
    for (int b = thread; b < m * count; b += size) {
      const int n = b % m, line = b / m;
      const Pair<T>* const row = values + line * steps.across;
      Pair<T> x[radix];
      for (int j = 0; j < radix; ++j) x[j] = row[(n + j * m) * steps.along];
      if (!forward)
        for (int j = 0; j < radix; ++j) x[j] = x[j].exchanged();
      butterfly<radix>(x);
      turn<radix>(x, n, 1);
      for (int j = 0; j < radix; ++j) shared[at(n + j * m, line)] = x[j];
    }
  }

  template <int radix>
  SLIP_FN void pass(int thread, int size, Pair<T>* shared, int group) const {
    const int m = group / radix;
    for (int b = thread; b < radices.length / radix * wide; b += size) {
      const int line = b & (wide - 1), butterflies = b / wide, n = butterflies % m;
      const int place = butterflies / m * group + n;
      Pair<T> x[radix];
      for (int j = 0; j < radix; ++j) x[j] = shared[at(place + j * m, line)];
      butterfly<radix>(x);
      turn<radix>(x, n, radices.length / group);
      for (int j = 0; j < radix; ++j) shared[at(place + j * m, line)] = x[j];
    }
  }

  template <int radix>
  SLIP_FN void finish(int thread, int size, const Pair<T>* shared, int count, std::int64_t first,
                      std::int64_t third) const {
    for (int b = thread; b < radices.length / radix * wide; b += size) {
      const int line = b & (wide - 1), place = b / wide * radix;
      if (line >= count) continue;
      Pair<T> x[radix];
      for (int j = 0; j < radix; ++j) x[j] = shared[at(place + j, line)];
      butterfly<radix>(x);
      const int mode = radices.mode(place);
      put_all(std::make_integer_sequence<int, radix>(), x, mode, first + line, third);
    }
  }

  /// Unrolled, for what is indexed by a constant stays in registers.
  template <int... j>
  SLIP_FN void put_all(std::integer_sequence<int, j...>, const Pair<T>* x, int mode, std::int64_t line,
                       std::int64_t third) const {
    const int step = radices.length / static_cast<int>(sizeof...(j));
    (out.put(mode + j * step, line, third, forward ? x[j] : x[j].exchanged()), ...);
  }
};

}  // namespace slipstream::fft
