#include "solver/sem/multigrid/coarse.hpp"

#include <algorithm>
#include <cmath>

#include <slipstream/error.hpp>
#include <slipstream/trace.hpp>

#include "device/upload.hpp"
#include "machine/agree.hpp"
#include "machine/sum.hpp"
#include "solver/krylov/chebyshev.hpp"
#include "solver/sem/krylov_of.hpp"
#include "solver/sem/multigrid/eigen.hpp"

namespace slipstream::sem {
namespace {

Vertices vertices_of(const ElementBox& box) {
  Vertices found{};
  for (std::size_t d = 0; d < 3; ++d) {
    found.elements[d] = box.elements[d];
    found.count[d] = box.elements[d] + (box.periodic[d] ? 0 : 1);
  }
  return found;
}

/// Flags of vertices: 1 if the unknown is free there, 0 if it is fixed.
std::vector<float> free_vertices(const Space& space, const Constraint& constraint, const Vertices& vertices) {
  std::vector<float> free(static_cast<std::size_t>(vertices.all()), 1.0F);
  const std::vector<double> corners = constraint.mask(0, space.box().count(), 1);
  for (std::size_t c = 0; c < corners.size(); ++c)
    if (corners[c] == 0)
      free[static_cast<std::size_t>(vertices.of(static_cast<std::int64_t>(c / 8), static_cast<int>(c % 8)))] = 0;
  return free;
}

}  // namespace

CoarseGrid::CoarseGrid(Space& space, const Constraint& constraint, Level& on)
    : space_(space), on_(on), vertices_(vertices_of(space.box())) {
  const Rule& rule = on.rule();
  to_corners_ = interpolation(gauss_lobatto(1), rule.points);  // interpolates from an element's two ends to its points
  const std::size_t n = rule.points.size();
  to_points_ = to_corners_;
  to_corners_.clear();
  for (std::size_t c = 0; c < 2; ++c)
    for (std::size_t p = 0; p < n; ++p) to_corners_.push_back(to_points_[p * 2 + c]);
  // Ids for the gather-scatter that sums values at elements' corners to mesh vertices. Each device has blocks of
  // corners, then of vertices. Vertices start at zero, so sums are bitwise equal on any number of devices.
  std::vector<Stream>& streams = space.streams();
  const std::int64_t block_elements = space.elements_of_a_block(), all = vertices_.all();
  block_ = 8 * block_elements;
  const auto up = [&](std::int64_t values) { return (values + block_ - 1) / block_; };
  const int devices = space.machine().devices();
  std::vector<std::int64_t> first_block{0};
  for (int d = 0; d < devices; ++d) {
    const std::int64_t count =
        Space::first_of(space.box().count(), devices, d + 1) - Space::first_of(space.box().count(), devices, d);
    first_block.push_back(first_block.back() + up(8 * count) + up(all));
  }
  std::vector<std::vector<std::int64_t>> ids(streams.size());
  std::vector<SharedPoints> shared;
  const std::vector<int> mine = space.machine().devices_of_rank(space.comm().rank());
  on_all_ranks(space.comm(), [&] {
    const std::vector<float> free = free_vertices(space, constraint, vertices_);
    for (std::size_t d = 0; d < streams.size(); ++d) {
      const std::int64_t first = space.first_element(d), count = space.elements(d);
      begin_.push_back(up(8 * count) * block_);
      ids[d].assign(static_cast<std::size_t>(begin_[d] + all), 0);
      for (std::int64_t c = 0; c < 8 * count; ++c)
        ids[d][static_cast<std::size_t>(c)] = 1 + vertices_.of(first + c / 8, static_cast<int>(c % 8));
      for (std::int64_t v = 0; v < all; ++v) ids[d][static_cast<std::size_t>(begin_[d] + v)] = 1 + v;
      shared.push_back({ids[d], first_block[static_cast<std::size_t>(mine[d])], block_});
      Buffer<float>& part = corners_.emplace_back(streams[d].device(), ids[d].size());
      fill(streams[d], part.data(), 0, part.bytes());
      free_.push_back(upload(streams[d], free));
      stencil_.emplace_back(streams[d].device(), static_cast<std::size_t>(27 * all));
      inverse_.emplace_back(streams[d].device(), static_cast<std::size_t>(all));
    }
    for (Singles* const made : {&r_, &x_, &d_, &q_, &t_}) *made = whole();
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t end = 0; end < 2; ++end) {
        const std::vector<bool>& faces = constraint.faces().of[a][end];
        fixed_[a][end] = 2 * std::count(faces.begin(), faces.end(), true) > static_cast<std::ptrdiff_t>(faces.size());
      }
  });
  sums_.emplace(
      space.comm(), space.machine(), shared,
      GatherScatterOptions{.type = DType::f32, .exchange = space.options().exchange, .tune = space.options().tune});
  for (Stream& stream : streams) stream.synchronize();
}

Singles CoarseGrid::whole() const {
  Singles made;
  for (Stream& stream : space_.streams()) {
    Buffer<float>& part = made.emplace_back(stream.device(), static_cast<std::size_t>(vertices_.all()));
    fill(stream, part.data(), 0, part.bytes());
  }
  return made;
}

/// Sums the values of elements' corners to vertices, on all devices.
void CoarseGrid::bring() {
  std::vector<GatherScatter::Array> arrays;
  for (std::size_t d = 0; d < corners_.size(); ++d) {
    const auto bytes = static_cast<std::size_t>(vertices_.all()) * sizeof(float);
    fill(space_.streams()[d], corners_[d].data() + begin_[d], 0, bytes);
    arrays.push_back({corners_[d].data(), 0});
  }
  const DeviceSpans spans(space_.options().exchange.trace, space_.streams(), "solver", "sums of corners", "exchange");
  sums_->run(space_.streams(), arrays);
}

void CoarseGrid::set_up(double h1, double h2, bool singular) {
  std::vector<Stream>& streams = space_.streams();
  singular_ = singular;
  Singles matrices;
  for (std::size_t d = 0; d < streams.size(); ++d) {
    matrices.emplace_back(streams[d].device(), static_cast<std::size_t>(64 * space_.elements(d)));
    if (space_.elements(d) > 0) corner_matrices(streams[d], on_.call(d), matrices[d].data());
  }
  for (int offset = 0; offset < 27; ++offset) {
    for (std::size_t d = 0; d < streams.size(); ++d)
      entries(streams[d], matrices[d].data(), offset, corners_[d].data(), space_.elements(d));
    bring();
    const std::int64_t all = vertices_.all();
    for (std::size_t d = 0; d < streams.size(); ++d)
      copy(streams[d], stencil_[d].data() + offset * all, corners_[d].data() + begin_[d],
           static_cast<std::size_t>(all) * sizeof(float));
  }
  for (Stream& stream : streams) stream.synchronize();
  list_axes(h1, h2);
  find_spectrum();
}

/// Builds the separable model of the operator. Along each axis its elements have the mean width of those in a slab,
/// derived from their stiffness.
void CoarseGrid::list_axes(double h1, double h2) {
  const ElementBox& box = space_.box();
  std::vector<Stream>& streams = space_.streams();
  // Box for an element with stiffness coefficients c_x, c_y, c_z: width along x 2 sqrt(c_y c_z), volume 8 c_x c_y c_z.
  struct Sizes {
    std::array<double, 5> of;  // inverse widths along x, y, z of the box for an element; its mass, its volume
  };
  std::vector<std::vector<Sizes>> sizes(streams.size());
  std::array<double, 5> largest{};
  on_all_ranks(space_.comm(), [&] {
    for (std::size_t d = 0; d < streams.size(); ++d) {
      const auto count = static_cast<std::size_t>(space_.elements(d));
      const Buffer<float> there(streams[d].device(), 4 * count);
      coefficients(streams[d], on_.call(d), there.data());
      std::vector<float> four(there.size());
      download(streams[d], there.data(), there.size(), four.data());
      for (std::size_t e = 0; e < count; ++e) {
        const std::array<double, 3> c{four[4 * e], four[4 * e + 1], four[4 * e + 2]};
        Sizes& found = sizes[d].emplace_back();
        for (std::size_t a = 0; a < 3; ++a) found.of[a] = 0.5 / std::sqrt(c[(a + 1) % 3] * c[(a + 2) % 3]);
        found.of[3] = 8 * static_cast<double>(four[4 * e + 3]);
        found.of[4] = 8 * c[0] * c[1] * c[2];
        for (std::size_t n = 0; n < largest.size(); ++n) largest[n] = std::max(largest[n], found.of[n]);
      }
    }
  });
  for (double& value : largest) value = space_.comm().max(value);
  // Element sizes are summed as integers, for equal bits in any order: 1 / width by slab of each axis, mass, volume.
  constexpr double unit = 0x1p-26;
  const auto& wide = box.elements;
  const auto x = static_cast<std::size_t>(wide[0]), y = static_cast<std::size_t>(wide[1]),
             z = static_cast<std::size_t>(wide[2]);
  std::vector<double> all(x + y + z + 2, 0.0);
  for (std::size_t d = 0; d < streams.size(); ++d)
    for (std::size_t e = 0; e < sizes[d].size(); ++e) {
      const auto element = static_cast<std::size_t>(space_.first_element(d)) + e;
      const std::size_t slabs[] = {element % x, x + element / x % y, x + y + element / (x * y), x + y + z,
                                   x + y + z + 1};
      for (std::size_t n = 0; n < largest.size(); ++n)
        if (largest[n] > 0) all[slabs[n]] += std::round(sizes[d][e].of[n] / (largest[n] * unit));
    }
  sum_over_ranks(space_.comm(), all);
  h2 *= all[x + y + z] * largest[3] / (all[x + y + z + 1] * largest[4]);
  std::array<std::vector<double>, 3> values;
  std::array<std::vector<float>, 3> vectors;
  std::size_t begin = 0;
  for (std::size_t a = 0; a < 3; ++a) {
    const auto count = static_cast<std::size_t>(vertices_.count[a]),
               elements = static_cast<std::size_t>(box.elements[a]);
    std::vector<double> stiffness(count * count, 0.0), mass(count * count, 0.0);
    for (std::size_t e = 0; e < elements; ++e) {
      const double in_slab = static_cast<double>(box.count()) / static_cast<double>(elements);
      const double width = in_slab / (all[begin + e] * unit * largest[a]);
      const std::size_t low = e, high = (e + 1) % count;
      const std::size_t of[] = {low, high};
      for (std::size_t i = 0; i < 2; ++i)
        for (std::size_t j = 0; j < 2; ++j) {
          stiffness[of[i] * count + of[j]] += (i == j ? 1 : -1) / width;
          mass[of[i] * count + of[j]] += (i == j ? 2 : 1) * width / 6;
        }
    }
    begin += elements;
    std::vector<std::size_t> kept;
    for (std::size_t v = 0; v < count; ++v)
      if (!(!box.periodic[a] && ((v == 0 && fixed_[a][0]) || (v + 1 == count && fixed_[a][1])))) kept.push_back(v);
    const std::size_t k = kept.size();
    std::vector<double> reduced(k * k), reduced_mass(k * k);
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t j = 0; j < k; ++j) {
        reduced[i * k + j] = stiffness[kept[i] * count + kept[j]];
        reduced_mass[i * k + j] = mass[kept[i] * count + kept[j]];
      }
    const Eigen found = generalized_eigen(k, reduced, reduced_mass);
    vectors[a].assign(count * count, 0.0F);
    values[a].assign(count, -1.0);  // 1D stiffness eigenvalues; -1: unused, one for each fixed end of the axis
    for (std::size_t c = 0; c < k; ++c) {
      values[a][c] = std::max(found.values[c], 0.0);
      for (std::size_t i = 0; i < k; ++i)
        vectors[a][kept[i] * count + c] = static_cast<float>(found.vectors[i * k + c]);
    }
  }
  std::vector<float> inverse(static_cast<std::size_t>(vertices_.all()), 0.0F);
  double most = 0, least = HUGE_VAL;
  const auto each = [&](const auto& work) {
    std::size_t at = 0;
    for (const double z : values[2])
      for (const double y : values[1])
        for (const double x : values[0]) {
          const bool there = x >= 0 && y >= 0 && z >= 0;
          work(at++, there, there ? h1 * (x + y + z) + h2 : 0);
        }
  };
  each([&](std::size_t, bool, double value) { most = std::max(most, value); });
  each([&](std::size_t, bool there, double value) {
    if (there && value > 1e-12 * most) least = std::min(least, value);
  });
  // A singular problem drops the constant mode. Otherwise a side fixes that mode weakly, so its eigenvalue gets a lower
  // bound.
  each([&](std::size_t at, bool there, double value) {
    if (there && (value > 1e-12 * most || !singular_))
      inverse[at] = static_cast<float>(1 / std::max(value, 0.1 * std::min(least, most)));
  });
  for (std::size_t d = 0; d < streams.size(); ++d) {
    upload(streams[d], inverse, inverse_[d].data());
    for (std::size_t a = 0; a < 3; ++a) {
      if (axes_[a].size() <= d) axes_[a].emplace_back(streams[d].device(), vectors[a].size());
      upload(streams[d], vectors[a], axes_[a][d].data());
    }
  }
}

/// Applies the inverse of the separable operator to r, at free vertices.
void CoarseGrid::separable(const Singles& r, Singles& out) {
  for (std::size_t d = 0; d < out.size(); ++d) {
    Stream& stream = space_.streams()[d];
    const std::int64_t all = vertices_.all();
    const auto pass = [&](int axis, bool transposed, const float* inverse, const float* in, float* to) {
      along(stream, vertices_, {axis, transposed, axes_[static_cast<std::size_t>(axis)][d].data(), inverse, in, to});
    };
    float *a = out[d].data(), *b = t_[d].data();
    multiply(stream, free_[d].data(), r[d].data(), a, all);
    pass(2, true, nullptr, a, b);
    pass(1, true, nullptr, b, a);
    pass(0, true, inverse_[d].data(), a, b);
    pass(0, false, nullptr, b, a);
    pass(1, false, nullptr, a, b);
    pass(2, false, free_[d].data(), b, a);
  }
}

void CoarseGrid::find_spectrum() {
  // All devices hold the same vectors, so the sums of the first device serve all.
  std::vector<Stream>& streams = space_.streams();
  const std::vector<int> devices = space_.machine().devices_of_rank(space_.comm().rank());
  krylov::Layout layout;
  layout.block = 4096;
  const std::int64_t all = vertices_.all(), blocks = (all + layout.block - 1) / layout.block;
  Vector weights;
  for (std::size_t d = 0; d < streams.size(); ++d) {
    layout.points.push_back(all);
    layout.first_block.push_back(devices[d] * blocks);
    const std::vector<double> counts(static_cast<std::size_t>(all), devices[d] == 0 ? 1.0 : 0.0);
    weights.push_back(upload(streams[d], counts));
  }
  const auto by = [&](const auto& work) {
    return [&, work](const krylov::Vectors& in, const krylov::Vectors& out) {
      for (std::size_t d = 0; d < streams.size(); ++d) to_single(streams[d], in[d], r_[d].data(), all);
      work();
      for (std::size_t d = 0; d < streams.size(); ++d) to_double(streams[d], q_[d].data(), out[d], all);
    };
  };
  krylov::System system;
  system.apply = by([&] {
    for (std::size_t d = 0; d < streams.size(); ++d)
      apply_stencil(streams[d], vertices_, stencil_[d].data(), free_[d].data(), r_[d].data(), q_[d].data());
  });
  system.precondition = by([&] { separable(r_, q_); });
  system.weights = system.inverse_diagonal = values(weights);
  // Reduction at which iterations stop; beyond it they would only resolve rounding errors of single precision.
  constexpr double reduction = 1e-8;
  krylov::ConjugateGradients method(space_.comm(), space_.machine(), layout);
  const krylov::Spectrum found = method.spectrum(streams, system, reduction);
  for (Stream& stream : streams) stream.synchronize();
  if (found.largest == 0) {  // no spectrum, because all vertices are fixed
    steps_ = 0;
    return;
  }
  largest_ = 1.05 * found.largest;
  least_ = std::max(0.9 * found.smallest, 1e-3 * largest_);
  // Fraction of the error that the coarse solve (Chebyshev iteration) may leave. It determines the number of steps.
  constexpr double left = 0.1;
  constexpr int most = 12;
  const double ratio = (largest_ + least_) / (largest_ - least_);
  steps_ = std::clamp(static_cast<int>(std::ceil(std::acosh(1 / left) / std::acosh(ratio))), 1, most);
}

void CoarseGrid::solve() {
  krylov::Chebyshev numbers(largest_, largest_ / least_);
  std::vector<Stream>& streams = space_.streams();
  const std::int64_t all = vertices_.all();
  for (int step = 0; step < steps_; ++step) {
    krylov::Chebyshev::Factors factors{0, 0};
    if (step == 0) {
      factors.b = numbers.first();
    } else {
      factors = numbers.next();
      for (std::size_t d = 0; d < streams.size(); ++d) {
        apply_stencil(streams[d], vertices_, stencil_[d].data(), free_[d].data(), d_[d].data(), q_[d].data());
        subtract(streams[d], q_[d].data(), r_[d].data(), all);
      }
    }
    separable(r_, q_);
    for (std::size_t d = 0; d < streams.size(); ++d)
      change(streams[d],
             {.a = static_cast<float>(factors.a),
              .b = static_cast<float>(factors.b),
              .s = q_[d].data(),
              .d = d_[d].data(),
              .z = x_[d].data(),
              .first = step == 0},
             all);
  }
}

void CoarseGrid::correct() {
  if (steps_ == 0) {
    for (std::size_t d = 0; d < on_.d.size(); ++d)
      if (on_.d[d].size()) fill(space_.streams()[d], on_.d[d].data(), 0, on_.d[d].bytes());
    return;
  }
  std::vector<Stream>& streams = space_.streams();
  const int n = on_.order() + 1;
  for (std::size_t d = 0; d < streams.size(); ++d)
    interpolate(streams[d],
                {to_corners_, n, 2, on_.r[d].data(), corners_[d].data(), space_.elements(d), on_.weights()[d].data()});
  bring();
  for (std::size_t d = 0; d < streams.size(); ++d)
    copy(streams[d], r_[d].data(), corners_[d].data() + begin_[d],
         static_cast<std::size_t>(vertices_.all()) * sizeof(float));
  solve();
  for (std::size_t d = 0; d < streams.size(); ++d) {
    from_vertices(streams[d], vertices_, space_.first_element(d), x_[d].data(), corners_[d].data(), space_.elements(d));
    interpolate(streams[d], {to_points_, 2, n, corners_[d].data(), on_.d[d].data(), space_.elements(d)});
    add(streams[d], on_.d[d].data(), on_.z[d].data(), static_cast<std::int64_t>(on_.z[d].size()));
  }
}

}  // namespace slipstream::sem
