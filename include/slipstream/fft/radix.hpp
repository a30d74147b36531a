#pragma once
// Butterflies of fast Fourier transforms, and the places of modes in their output.
//
// The number of values is N = r_1 r_2 ... r_m. Decimation in frequency has m passes. Pass s starts with groups of L = N
// / (r_1 ... r_(s-1)) values. It turns each group into r_s groups of M = L / r_s values,
//
//     y_q(n) = w_L^(n q) sum over j < r_s of x(n + j M) w_(r_s)^(j q),    w_L = exp(-2 pi i / L),   0 <= n < M,
//
// in place. The final place of a mode follows from the digits q_s:
//
//     mode k = q_1 + r_1 q_2 + r_1 r_2 q_3 + ...,    place q_1 N / r_1 + q_2 N / (r_1 r_2) + ... + q_m.
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
  SLIP_FN Pair turned() const { return {im, -re}; }  ///< this complex number times -i
  SLIP_FN Pair exchanged() const { return {im, re}; }
  SLIP_FN Pair conjugate() const { return {re, -im}; }
};

/// Butterfly in place: x_q = sum over j of x_j exp(-2 pi i j q / radix).
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
  const Pair<T> second = b;  // the outputs 0, 2, 1, 3 of radix 4 are in a, b, c, d now
  b = c;
  c = second;
}
template <class T>
SLIP_FN void butterfly3(Pair<T>& a, Pair<T>& b, Pair<T>& c) {
  constexpr T sine = static_cast<T>(0.86602540378443864676);  // sine of 2 pi / 3, whose cosine is -1/2
  const Pair<T> sum = b + c, difference = b - c;
  const Pair<T> middle = {fused(T(-0.5), sum.re, a.re), fused(T(-0.5), sum.im, a.im)};
  const Pair<T> across = Pair<T>{difference.re * sine, difference.im * sine}.turned();
  a = a + sum;
  b = middle + across;
  c = middle - across;
}
template <class T>
SLIP_FN void butterfly5(Pair<T> (&x)[5]) {
  // Cosines and sines of 2 pi / 5 and 4 pi / 5.
  constexpr T cosine = static_cast<T>(0.30901699437494742410), cosine2 = static_cast<T>(-0.80901699437494742410);
  constexpr T sine = static_cast<T>(0.95105651629515357212), sine2 = static_cast<T>(0.58778525229247312917);
  const Pair<T> near = x[1] + x[4], far = x[2] + x[3], a = x[1] - x[4], b = x[2] - x[3];
  const auto both = [](T p, const Pair<T>& u, T q, const Pair<T>& v) {
    return Pair<T>{fused(p, u.re, q * v.re), fused(p, u.im, q * v.im)};
  };
  const Pair<T> even = x[0] + both(cosine, near, cosine2, far), even2 = x[0] + both(cosine2, near, cosine, far);
  const Pair<T> odd = both(sine, a, sine2, b).turned(), odd2 = both(sine2, a, -sine, b).turned();
  x[0] = x[0] + (near + far);
  x[1] = even + odd, x[4] = even - odd;
  x[2] = even2 + odd2, x[3] = even2 - odd2;
}
template <int radix, class T>
SLIP_FN void butterfly(Pair<T> (&x)[radix]) {
  static_assert(radix == 4 || radix == 5 || radix == 6 || radix == 8 || radix == 10 || radix == 16);
  if constexpr (radix == 4) {
    butterfly4(x[0], x[1], x[2], x[3]);
  } else if constexpr (radix == 5) {
    butterfly5(x);
  } else if constexpr (radix == 6) {
    // Radix 6 by the prime-factor algorithm with x_(3 a + 2 b mod 6): 2 and 3 are coprime, so there are no twiddle
    // factors.
    butterfly3(x[0], x[2], x[4]);
    butterfly3(x[3], x[5], x[1]);
    butterfly2(x[0], x[3]);  // gives outputs 0 and 3 of the radix-6 butterfly
    butterfly2(x[2], x[5]);  // gives outputs 4 and 1 of the radix-6 butterfly
    butterfly2(x[4], x[1]);  // gives outputs 2 and 5 of the radix-6 butterfly
    const Pair<T> one = x[5], two = x[4], four = x[2], five = x[1];
    x[1] = one, x[2] = two, x[4] = four, x[5] = five;
  } else if constexpr (radix == 10) {
    // Radix 10 by the prime-factor algorithm with x_(5 a + 2 b mod 10).
    Pair<T> even[5] = {x[0], x[2], x[4], x[6], x[8]}, odd[5] = {x[5], x[7], x[9], x[1], x[3]};
    butterfly5(even);
    butterfly5(odd);
    for (int b = 0; b < 5; ++b) {
      x[6 * b % 10] = even[b] + odd[b];
      x[(6 * b + 5) % 10] = even[b] - odd[b];
    }
  } else if constexpr (radix == 16) {
    constexpr T cosine = static_cast<T>(0.92387953251128675613), sine = static_cast<T>(0.38268343236508977173);
    constexpr T half = static_cast<T>(0.70710678118654752440);
    const Pair<T> w{cosine, -sine}, w2{half, -half}, w3{sine, -cosine}, w6{-half, -half}, w9{-cosine, sine};
    for (int j = 0; j < 4; ++j) butterfly4(x[j], x[j + 4], x[j + 8], x[j + 12]);
    x[5] = x[5] * w, x[6] = x[6] * w2, x[7] = x[7] * w3;
    x[9] = x[9] * w2, x[10] = x[10].turned(), x[11] = x[11] * w6;
    x[13] = x[13] * w3, x[14] = x[14] * w6, x[15] = x[15] * w9;
    for (int q = 0; q < 4; ++q) butterfly4(x[4 * q], x[4 * q + 1], x[4 * q + 2], x[4 * q + 3]);
    for (int q = 1; q < 4; ++q)
      for (int r = 0; r < q; ++r) {  // transposes the 4 x 4 outputs of radix 16: mode q + 4 r is at 4 q + r
        const Pair<T> other = x[4 * q + r];
        x[4 * q + r] = x[4 * r + q];
        x[4 * r + q] = other;
      }
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
/// Twiddle factors: x_q = w^q x_q with w = roots[step]. Powers of w are products, because a warp's loads of them would
/// be far apart in memory. One more root is loaded: w^3 for radix 6, w^5 for radix 10, and w^4 for radix 16. As
/// products, w^5, w^9 and w^15 would have five to fifteen times the error of w.
template <int radix, class T>
SLIP_FN void turn(Pair<T> (&x)[radix], const Pair<T>* roots, int step) {
  const Pair<T> w = roots[step];
  const Pair<T> w2 = w * w, w3 = radix == 6 ? roots[3 * step] : w2 * w;
  x[1] = x[1] * w;
  x[2] = x[2] * w2;
  x[3] = x[3] * w3;
  if constexpr (radix == 16) {
    const Pair<T> w4 = roots[4 * step], w8 = w4 * w4, w12 = w8 * w4;
    x[4] = x[4] * w4, x[5] = x[5] * (w4 * w), x[6] = x[6] * (w4 * w2), x[7] = x[7] * (w4 * w3);
    x[8] = x[8] * w8, x[9] = x[9] * (w8 * w), x[10] = x[10] * (w8 * w2), x[11] = x[11] * (w8 * w3);
    x[12] = x[12] * w12, x[13] = x[13] * (w12 * w), x[14] = x[14] * (w12 * w2), x[15] = x[15] * (w12 * w3);
  } else if constexpr (radix > 4) {
    const Pair<T> w4 = radix == 6 ? w3 * w : w2 * w2;
    x[4] = x[4] * w4;
    if constexpr (radix == 6) x[5] = x[5] * (w3 * w2);
    if constexpr (radix == 8) x[5] = x[5] * (w4 * w), x[6] = x[6] * (w4 * w2), x[7] = x[7] * (w4 * w3);
    if constexpr (radix == 10) {
      const Pair<T> w5 = roots[5 * step];
      x[5] = x[5] * w5, x[6] = x[6] * (w5 * w), x[7] = x[7] * (w5 * w2);
      x[8] = x[8] * (w5 * w3), x[9] = x[9] * (w5 * w4);
    }
  }
}

/// The largest odd factor of n.
SLIP_FN constexpr int odd_factor(int n) { return n % 2 == 0 ? odd_factor(n / 2) : n; }

struct RadixList {
  int count, first, second, last;  // number of FFT radices, and the radices; if there are two, the second is `last`
};
/// FFT radices of a line length. Lengths of 16 to 512 have a five, or a six for a factor three, then eights, then
/// fours. Exceptions: 144 and 288 have two sixes; 250 and 500 have tens and fives. Lengths up to 1024 have a sixteen.
constexpr RadixList radices_of(int length) {
  const int odd = odd_factor(length);
  if (odd == 125) return {3, 10, length / 50, 5};
  if (odd == 9 && length > 512) return {3, 6, 6, 16};
  if (length > 512) return {3, length / 128, 16, 8};
  if (odd == 9) return {3, 6, 6, length / 36};
  const int lead = odd == 1 ? 1 : odd == 3 ? 6 : 5;
  int bits = 0;  // number of factors two, which radices four and eight must cover
  while (length / lead >> bits > 1) ++bits;
  const int rest = (bits + 2) / 3, eights = bits - 2 * rest;
  const auto of_rest = [eights](int n) { return n < eights ? 8 : 4; };
  if (lead == 1) return {rest, of_rest(0), of_rest(1), of_rest(rest - 1)};
  return {rest + 1, lead, of_rest(0), of_rest(rest - 1)};
}

template <int length>
struct Radices {
  static constexpr int values = length;
  static constexpr RadixList list = radices_of(length);
  static constexpr int count = list.count, first = list.first, second = list.second, last = list.last;
  static constexpr int step = length / last;  ///< distance between the modes that one butterfly of the last pass leaves
  static_assert((count == 2 && first * last == length) || (count == 3 && first * second * last == length));

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
