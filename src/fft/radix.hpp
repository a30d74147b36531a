#pragma once
// Butterflies, and the places of modes among them.
//
// With N = r_1 r_2 ... r_m and decimation in frequency, pass s turns each group of L = N / (r_1 ... r_(s-1)) values
// into r_s groups of M = L / r_s,
//
//     y_q(n) = w_L^(n q) sum over j < r_s of x(n + j M) w_(r_s)^(j q),    w_L = exp(-2 pi i / L),   0 <= n < M,
//
// in the places that it read. Mode k = q_1 + r_1 q_2 + r_1 r_2 q_3 + ... ends at place q_1 N / r_1 + q_2 N / (r_1 r_2)
// + ... + q_m.
#include <cstdint>

#include <slipstream/device/function.hpp>
#include <slipstream/device/fused.hpp>

namespace slipstream::fft {

template <class T>
struct alignas(2 * sizeof(T)) Pair {
  T re, im;
  friend SLIP_FN Pair operator+(const Pair& a, const Pair& b) { return {a.re + b.re, a.im + b.im}; }
  friend SLIP_FN Pair operator-(const Pair& a, const Pair& b) { return {a.re - b.re, a.im - b.im}; }
  friend SLIP_FN Pair operator*(const Pair& a, const Pair& b) {
    return {fused(a.re, b.re, -(a.im * b.im)), fused(a.re, b.im, a.im * b.re)};
  }
  SLIP_FN Pair turned() const { return {im, -re}; }  ///< times -i
  SLIP_FN Pair exchanged() const { return {im, re}; }
  SLIP_FN Pair conjugate() const { return {re, -im}; }
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
SLIP_FN void butterfly(Pair<T> (&x)[radix]) {
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
/// x_q = w^q x_q, where powers of w are products: what a warp would fetch of them lies far apart.
template <int radix, class T>
SLIP_FN void turn(Pair<T> (&x)[radix], const Pair<T>& w) {
  const Pair<T> w2 = w * w, w3 = w2 * w;
  x[1] = x[1] * w;
  x[2] = x[2] * w2;
  x[3] = x[3] * w3;
  if constexpr (radix == 8) {
    const Pair<T> w4 = w2 * w2;
    x[4] = x[4] * w4;
    x[5] = x[5] * (w4 * w);
    x[6] = x[6] * (w4 * w2);
    x[7] = x[7] * (w4 * w3);
  }
}

/// The radices of a length of 16 to 512: eights, then fours, two or three of them.
template <int length>
struct Radices {
  static constexpr int values = length;
  static constexpr int bits_of(int n) { return n > 1 ? 1 + bits_of(n / 2) : 0; }
  static constexpr int bits = bits_of(length);
  static_assert(bits >= 4 && bits <= 9 && 1 << bits == length);
  static constexpr int count = (bits + 2) / 3;
  static constexpr int eights = bits - 2 * count;
  static constexpr int first = eights > 0 ? 8 : 4, second = eights > 1 ? 8 : 4, last = eights == count ? 8 : 4;

  SLIP_FN static int mode(int place) {
    constexpr int a = length / first, b = a / second;
    const int low = place / a + place / b % second * first;
    return count == 2 ? low : low + place % b * (first * second);
  }
  SLIP_FN static int place(int mode) {
    constexpr int a = length / first, b = a / second;
    const int high = mode % first * a + mode / first % second * b;
    return count == 2 ? high : high + mode / (first * second);
  }
};

}  // namespace slipstream::fft
