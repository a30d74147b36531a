#pragma once
// D3Q19 by ten moments a cell (Latt & Chopard 2006): density, momentum and second-order tensor. Populations follow from
// them as a Hermite series, so that a step reads and writes ten numbers instead of 19.
#include <cmath>
#include <utility>

#include <slipstream/device/fused.hpp>

#include "solver/lbm/collision/smagorinsky.hpp"
#include "solver/lbm/lattice/kernels.hpp"
#include "solver/lbm/lattice/lattice.hpp"

namespace slipstream::lbm {

/// Moments of the deviations g_i = f_i - w_i of populations from weights: their sum, sum of c g, sum of (c c - 1/3) g.
template <class T>
struct TenMoments {
  T excess, x, y, z, xx, yy, zz, xy, xz, yz;

  /// Deviation of the population of zero velocity from its weight, divided by that weight.
  SLIP_FN T resting() const { return fused(T(-1.5), xx + yy + zz, excess); }
};

/// Populations that a cell sends, less their weights, as even and odd parts in the lattice velocity c:
///
///   g_i = w_i (excess + 3 c.j + 9/2 (c c - 1/3) : a  + third order)
///
/// Here w_i is a weight, excess the density less 1, j the momentum, and a the sum of (c c - 1/3) g. The third order
/// in D3Q19 has a_xyy + a_xzz and a_xyy - a_xzz, and the same along y and z, which change none of these moments.
/// Along an axis they give -9 w c_x (a_xyy + a_xzz), along a diagonal in xy 9 w (c_x a_xyy + c_y a_xxy). `recursive`
/// (Malaspinas 2015) computes a_xyy = rho u_x u_y^2 + u_x n_yy + 2 u_y n_xy from the stored moments. They are density
/// rho, velocity u, and n, the tensor less rho u u. Without `recursive` the third order is left out.
template <class T>
struct Sending {
  T base;                                ///< density less 1, minus 3/2 of the trace of the second-moment tensor
  T xx, yy, zz, xy, xz, yz;              ///< components of the second-order tensor
  T x, y, z;                             ///< components of the momentum
  T xy_x, xy_y, xz_x, xz_z, yz_y, yz_z;  ///< third-order terms of populations along diagonals

  SLIP_FN Sending(const TenMoments<T>& m, bool recursive)
      : base(m.resting()),
        xx(m.xx),
        yy(m.yy),
        zz(m.zz),
        xy(m.xy),
        xz(m.xz),
        yz(m.yz),
        x(m.x),
        y(m.y),
        z(m.z),
        xy_x(x),
        xy_y(y),
        xz_x(x),
        xz_z(z),
        yz_y(y),
        yz_z(z) {
    if (recursive) add_third_order(m);
  }

  template <int i>
  SLIP_FN T population() const {
    constexpr int cx = D3Q19::velocity[i][0], cy = D3Q19::velocity[i][1], cz = D3Q19::velocity[i][2];
    if constexpr (i == 0) return T(D3Q19::weight(0)) * base;
    if constexpr (cy == 0 && cz == 0) return along<cx>(xx, x);
    if constexpr (cx == 0 && cz == 0) return along<cy>(yy, y);
    if constexpr (cx == 0 && cy == 0) return along<cz>(zz, z);
    if constexpr (cx != 0 && cy != 0) return diagonal<cx, cy>(xx + yy, xy, xy_x, xy_y);
    if constexpr (cx != 0 && cz != 0) return diagonal<cx, cz>(xx + zz, xz, xz_x, xz_z);
    if constexpr (cy != 0 && cz != 0) return diagonal<cy, cz>(yy + zz, yz, yz_y, yz_z);
    return T(0);
  }

 private:
  /// Returns a population of weight 1/18, which moves along an axis.
  template <int sign>
  SLIP_FN T along(T square, T odd) const {
    return fused(T(sign * 3.0 / 18), odd, fused(T(4.5 / 18), square, T(1.0 / 18) * base));
  }
  /// Returns a population of weight 1/36, which moves along a diagonal.
  template <int a, int b>
  SLIP_FN T diagonal(T squares, T mixed, T odd_a, T odd_b) const {
    const T odd = a == b ? odd_a + odd_b : odd_a - odd_b;
    const T even = fused(T(a * b * 9.0 / 36), mixed, fused(T(4.5 / 36), squares, T(1.0 / 36) * base));
    return fused(T(a * 3.0 / 36), odd, even);
  }

  SLIP_FN void add_third_order(const TenMoments<T>& m) {
    const T inverse = T(1) / (T(1) + m.excess), ux = m.x * inverse, uy = m.y * inverse, uz = m.z * inverse;
    // Third-order moment along axes a, b and b (Malaspinas 2015), from velocity u, momentum j and second-order moments
    // m: u_a (m_bb - 2 j_b u_b) + 2 u_b m_ab.
    const T kxx = fused(T(-2) * m.x, ux, m.xx), kyy = fused(T(-2) * m.y, uy, m.yy), kzz = fused(T(-2) * m.z, uz, m.zz);
    const T nx = T(3) * ux, ny = T(3) * uy, nz = T(3) * uz;
    const T xyy = fused(nx, kyy, T(2) * ny * m.xy), xzz = fused(nx, kzz, T(2) * nz * m.xz),
            yxx = fused(ny, kxx, T(2) * nx * m.xy), yzz = fused(ny, kzz, T(2) * nz * m.yz),
            zxx = fused(nz, kxx, T(2) * nx * m.xz), zyy = fused(nz, kyy, T(2) * ny * m.yz);
    xy_x += xyy;
    xz_x += xzz;
    xy_y += yxx;
    yz_y += yzz;
    xz_z += zxx;
    yz_z += zyy;
    x -= xyy + xzz;
    y -= yxx + yzz;
    z -= zxx + zyy;
  }
};

/// Partial moments of the five populations g with velocities c that cross a plane of cells up or down. They are the
/// sums of g, of c_x g and c_y g, and of c_x^2 g and c_y^2 g.
template <class T>
struct Crossing {
  T all, x, y, xx, yy;
  SLIP_FN Crossing() : all(0), x(0), y(0), xx(0), yy(0) {}
  SLIP_FN Crossing(T across, T along_x, T against_x, T along_y, T against_y)
      : x(along_x - against_x), y(along_y - against_y), xx(along_x + against_x), yy(along_y + against_y) {
    all = across + xx + yy;
  }
};
/// Partial moments of the nine populations that stay in their plane.
template <class T>
struct Staying {
  T all, x, y, xx, yy, xy;
  SLIP_FN Staying(T rest, T px, T mx, T py, T my, T pp, T mm, T pm, T mp) {
    const T same = pp + mm, other = pm + mp, both = same + other;
    xx = px + mx + both;
    yy = py + my + both;
    all = rest + (px + mx) + (py + my) + both;
    x = (px - mx) + ((pp - mm) + (pm - mp));
    y = (py - my) + ((pp - mm) - (pm - mp));
    xy = same - other;
  }
};

/// The moments of the populations that arrive in a cell: from the plane below, its own, and the one above. All kernels
/// add them in this order, so that they give the same bits.
template <class T>
struct Arrived {
  T all, x, y, z, xx, yy, zz, xy, xz, yz;
  SLIP_FN Arrived() : all(0), x(0), y(0), z(0), xx(0), yy(0), zz(0), xy(0), xz(0), yz(0) {}
  SLIP_FN Arrived(const Crossing<T>& up, const Staying<T>& own)
      : all(up.all + own.all),
        x(up.x + own.x),
        y(up.y + own.y),
        z(up.all),
        xx(up.xx + own.xx),
        yy(up.yy + own.yy),
        zz(up.all),
        xy(own.xy),
        xz(up.x),
        yz(up.y) {}
  SLIP_FN TenMoments<T> with(const Crossing<T>& down) const {
    const T excess = all + down.all, third = T(1.0 / 3) * excess;
    return {excess,
            x + down.x,
            y + down.y,
            z - down.all,
            (xx + down.xx) - third,
            (yy + down.yy) - third,
            (zz + down.all) - third,
            xy,
            xz - down.x,
            yz - down.y};
  }
};

template <class T>
SLIP_FN TenMoments<T> moments_arrived(const T (&g)[D3Q19::q]) {
  constexpr auto at = [](int x, int y, int z) { return index_of<D3Q19>(x, y, z); };
  const Crossing<T> up(g[at(0, 0, 1)], g[at(1, 0, 1)], g[at(-1, 0, 1)], g[at(0, 1, 1)], g[at(0, -1, 1)]);
  const Crossing<T> down(g[at(0, 0, -1)], g[at(1, 0, -1)], g[at(-1, 0, -1)], g[at(0, 1, -1)], g[at(0, -1, -1)]);
  const Staying<T> own(g[0], g[at(1, 0, 0)], g[at(-1, 0, 0)], g[at(0, 1, 0)], g[at(0, -1, 0)], g[at(1, 1, 0)],
                       g[at(-1, -1, 0)], g[at(1, -1, 0)], g[at(-1, 1, 0)]);
  return Arrived<T>(up, own).with(down);
}

/// Collides moments. `plain`: no force and no LES model. Otherwise both are always computed, because a decision in
/// every cell would prevent vectorisation on the host.
template <class T, bool plain>
struct MomentCollision {
  T rate;  ///< relaxation rate of the second-order tensor
  /// relaxation time without eddies, and factor of the Smagorinsky model: 18 sqrt(2) C^2; 0: no model
  T tau_0, eddies;
  T force[3];

  explicit MomentCollision(const Model& model)
      : rate(static_cast<T>(model.plus)),
        tau_0(static_cast<T>(3 * model.viscosity + 0.5)),
        eddies(static_cast<T>(18 * std::sqrt(2.0) * model.smagorinsky.value_or(0) * model.smagorinsky.value_or(0))),
        force{static_cast<T>(model.force[0]), static_cast<T>(model.force[1]), static_cast<T>(model.force[2])} {}

  /// Collides: the second-moment tensor, sum of (c c - 1/3) f, relaxes to rho u u. A force F acts as in Guo, Zheng &
  /// Shi 2002: half of its source term, u F + F u, before the collision and half after it. The momentum grows by F.
  SLIP_FN void operator()(TenMoments<T>& m) const {
    if constexpr (!plain) {
      m.x += T(0.5) * force[0];
      m.y += T(0.5) * force[1];
      m.z += T(0.5) * force[2];
    }
    const T inverse = T(1) / (T(1) + m.excess);
    const T ux = m.x * inverse, uy = m.y * inverse, uz = m.z * inverse;
    T xx = m.x * ux, yy = m.y * uy, zz = m.z * uz, xy = m.x * uy, xz = m.x * uz, yz = m.y * uz;
    if constexpr (!plain) {
      xx -= ux * force[0];
      yy -= uy * force[1];
      zz -= uz * force[2];
      xy -= T(0.5) * (ux * force[1] + uy * force[0]);
      xz -= T(0.5) * (ux * force[2] + uz * force[0]);
      yz -= T(0.5) * (uy * force[2] + uz * force[1]);
    }
    xx -= m.xx;
    yy -= m.yy;
    zz -= m.zz;
    xy -= m.xy;
    xz -= m.xz;
    yz -= m.yz;
    T by = rate;
    if constexpr (!plain) {
      const T norm = traceless_norm<D3Q19>(Tensor<T>{xx, yy, zz, xy, xz, yz}) * inverse;
      by = eddies > T(0) ? T(1) / tau_with_les(tau_0, eddies, norm) : rate;
    }
    m.xx = fused(by, xx, m.xx);
    m.yy = fused(by, yy, m.yy);
    m.zz = fused(by, zz, m.zz);
    m.xy = fused(by, xy, m.xy);
    m.xz = fused(by, xz, m.xz);
    m.yz = fused(by, yz, m.yz);
    if constexpr (plain) return;
    m.xx += T(2) * (ux * force[0]);
    m.yy += T(2) * (uy * force[1]);
    m.zz += T(2) * (uz * force[2]);
    m.xy += ux * force[1] + uy * force[0];
    m.xz += ux * force[2] + uz * force[0];
    m.yz += uy * force[2] + uz * force[1];
    m.x += T(0.5) * force[0];
    m.y += T(0.5) * force[1];
    m.z += T(0.5) * force[2];
  }

  /// Averages the non-equilibrium part over this step and the last one, which the cell still holds, in cells next to
  /// walls. A half-way wall returns the cell's own populations and loses third moments. Above a grid Reynolds number of
  /// about 5 the non-equilibrium part would alternate from step to step; the mean ends that, and changes no steady
  /// flow.
  SLIP_FN void smooth(TenMoments<T>& m, const TenMoments<T>& last) const {
    T kept[6];
    keep(last, kept);
    smooth(m, kept);
  }
  /// Averages as smooth() does, in two parts: keep() saves the moments of the last step before they are overwritten.
  SLIP_FN void keep(const TenMoments<T>& last, T (&kept)[6]) const {
    const TenMoments<T> then = at_equilibrium(last);
    kept[0] = T(0.25) * (last.xx - then.xx);
    kept[1] = T(0.25) * (last.yy - then.yy);
    kept[2] = T(0.25) * (last.zz - then.zz);
    kept[3] = T(0.25) * (last.xy - then.xy);
    kept[4] = T(0.25) * (last.xz - then.xz);
    kept[5] = T(0.25) * (last.yz - then.yz);
  }
  SLIP_FN void smooth(TenMoments<T>& m, const T (&kept)[6]) const {
    const TenMoments<T> now = at_equilibrium(m);
    const auto mean = [](T a, T e, T last) { return e + (T(0.75) * (a - e) + last); };
    m.xx = mean(m.xx, now.xx, kept[0]);
    m.yy = mean(m.yy, now.yy, kept[1]);
    m.zz = mean(m.zz, now.zz, kept[2]);
    m.xy = mean(m.xy, now.xy, kept[3]);
    m.xz = mean(m.xz, now.xz, kept[4]);
    m.yz = mean(m.yz, now.yz, kept[5]);
  }

 private:
  /// Moments of a cell in equilibrium at this density and momentum: rho u u + (u F + F u) / 2. Here u lacks the half of
  /// the force that was added last.
  SLIP_FN TenMoments<T> at_equilibrium(const TenMoments<T>& m) const {
    T x = m.x, y = m.y, z = m.z;
    if constexpr (!plain) {
      x -= T(0.5) * force[0];
      y -= T(0.5) * force[1];
      z -= T(0.5) * force[2];
    }
    const T inverse = T(1) / (T(1) + m.excess);
    const T ux = x * inverse, uy = y * inverse, uz = z * inverse;
    TenMoments<T> e{m.excess, x, y, z, x * ux, y * uy, z * uz, x * uy, x * uz, y * uz};
    if constexpr (!plain) {
      e.xx += ux * force[0];
      e.yy += uy * force[1];
      e.zz += uz * force[2];
      e.xy += T(0.5) * (ux * force[1] + uy * force[0]);
      e.xz += T(0.5) * (ux * force[2] + uz * force[0]);
      e.yz += T(0.5) * (uy * force[2] + uz * force[1]);
    }
    return e;
  }
};

/// A collision whose populations have terms of third order if `recursive` is set. It is a template argument, as it
/// decides on registers and vectors.
template <class T, bool plain, bool recursive>
struct Regularised : MomentCollision<T, plain> {
  static constexpr bool third_order = recursive;
  using MomentCollision<T, plain>::MomentCollision;
};

}  // namespace slipstream::lbm
