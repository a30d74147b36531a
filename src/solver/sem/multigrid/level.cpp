#include "solver/sem/multigrid/level.hpp"

#include <algorithm>
#include <cmath>

#include <slipstream/error.hpp>
#include <slipstream/trace.hpp>

#include "device/upload.hpp"
#include "machine/agree.hpp"
#include "solver/sem/krylov_of.hpp"
#include "solver/sem/multigrid/eigen.hpp"
#include "solver/sem/multigrid/level_kernels.hpp"

namespace slipstream::sem {
namespace {

/// Kind of an element's end along an axis: next to a neighbour, or on a side where the unknown is fixed or free.
enum End : std::int32_t { neighbour = 0, fixed = 1, free_side = 2, ends = 3 };

/// Eigenpairs of 1D stiffness relative to mass on an element's edge and one point beyond either end, by kinds of both
/// ends (neighbour, fixed, free). Neighbours are taken to be equally wide. Rows of missing points are zero.
struct Kinds {
  std::vector<float> matrices, eigenvalues;
};

Kinds kinds_of(const Rule& rule) {
  const std::size_t n = rule.points.size(), m = n + 2, wide = 3 * (n - 1) + 1;
  std::vector<double> stiffness(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t q = 0; q < n; ++q)
        stiffness[i * n + j] += rule.weights[q] * rule.derivative[q * n + i] * rule.derivative[q * n + j];
  Kinds kinds;
  for (int low = 0; low < ends; ++low)
    for (int high = 0; high < ends; ++high) {
      // 1D stiffness and mass matrices of three adjacent elements; `first`: the last point before the middle element.
      std::vector<double> all(wide * wide, 0.0), mass(wide, 0.0);
      const bool there[] = {low == neighbour, true, high == neighbour};
      for (std::size_t e = 0; e < 3; ++e)
        for (std::size_t i = 0; there[e] && i < n; ++i) {
          mass[e * (n - 1) + i] += rule.weights[i];
          for (std::size_t j = 0; j < n; ++j) all[(e * (n - 1) + i) * wide + e * (n - 1) + j] += stiffness[i * n + j];
        }
      const std::size_t first = n - 2;
      std::vector<std::size_t> kept;
      for (std::size_t p = 0; p < m; ++p) {
        const bool beyond = (p == 0 && low != neighbour) || (p == m - 1 && high != neighbour);
        const bool held = (p == 1 && low == fixed) || (p == m - 2 && high == fixed);
        if (!beyond && !held) kept.push_back(p);
      }
      const std::size_t k = kept.size();
      std::vector<double> a(k * k, 0.0), b(k * k, 0.0);
      for (std::size_t i = 0; i < k; ++i) {
        b[i * k + i] = mass[first + kept[i]];
        for (std::size_t j = 0; j < k; ++j) a[i * k + j] = all[(first + kept[i]) * wide + first + kept[j]];
      }
      const Eigen found = generalized_eigen(k, a, b);
      std::vector<float> s(m * m, 0.0F), l(m, 1.0F);
      for (std::size_t c = 0; c < k; ++c) {
        l[c] = static_cast<float>(std::max(found.values[c], 0.0));
        for (std::size_t i = 0; i < k; ++i) s[kept[i] * m + c] = static_cast<float>(found.vectors[i * k + c]);
      }
      kinds.matrices.insert(kinds.matrices.end(), s.begin(), s.end());
      kinds.eigenvalues.insert(kinds.eigenvalues.end(), l.begin(), l.end());
    }
  return kinds;
}

}  // namespace

Level::Level(Space& space, const Constraint& constraint, int order, Smoother smoother)
    : space_(space), constraint_(constraint), rule_(gauss_lobatto(order)), smoother_(smoother), n_(order + 1) {
  const std::int64_t cube = std::int64_t{n_} * n_ * n_;
  std::vector<Stream>& streams = space.streams();
  Dealt dealt;
  for (std::size_t d = 0; d < streams.size(); ++d) {
    dealt.first.push_back(space.first_element(d));
    dealt.elements.push_back(space.elements(d));
  }
  on_all_ranks(space.comm(), [&] {
    for (Singles* const made : {&mass, &r, &z, &this->d, &q_, &weights_}) *made = zeros(cube);
    factors = zeros(6 * cube);
  });
  assembled_.emplace(space.comm(), space.machine(), space.box(), dealt, order, streams, space.options());
  for (std::size_t d = 0; d < streams.size(); ++d) {
    const std::int64_t first = space.first_element(d);
    const std::vector<double> mask = constraint.mask(first, first + space.elements(d), order);
    upload(streams[d], std::vector<float>(mask.begin(), mask.end()), q_[d].data());
    upload(streams[d], std::vector<float>(mask.size(), 1.0F), weights_[d].data());
  }
  sum(weights_);
  for (std::size_t d = 0; d < streams.size(); ++d)
    invert(streams[d], weights_[d].data(), q_[d].data(), space.elements(d) * cube);
  if (smoother_ == Smoother::schwarz) {
    list_faces();
    on_all_ranks(space.comm(), [&] { list_kinds(); });
    weigh_overlaps();
  }
  for (Stream& stream : streams) stream.synchronize();
}

Singles Level::zeros(std::int64_t values) const {
  Singles made;
  for (std::size_t d = 0; d < space_.streams().size(); ++d) {
    Stream& stream = space_.streams()[d];
    Buffer<float>& part = made.emplace_back(stream.device(), static_cast<std::size_t>(space_.elements(d) * values));
    if (part.size()) fill(stream, part.data(), 0, part.bytes());
  }
  return made;
}

std::vector<float*> pointers(const Singles& values) {
  std::vector<float*> all;
  for (const Buffer<float>& part : values) all.push_back(part.data());
  return all;
}

void Level::sum_faces() {
  std::vector<GatherScatter::Array> arrays;
  for (float* const part : pointers(faces_)) arrays.push_back({part, 0});
  const DeviceSpans spans(space_.options().exchange.trace, space_.streams(), "solver", face_sums_name_.c_str(),
                          "exchange");
  face_sums_->run(space_.streams(), arrays);
}

void Level::sum(Singles& u) { assembled_->sum(pointers(u)); }

bool Level::loopable() { return assembled_->sums(1).loopable() && (!face_sums_ || face_sums_->loopable()); }

HelmholtzCallOf<float> Level::call(std::size_t device) const {
  HelmholtzCallOf<float> made{
      &rule_, Factors::stored,        nullptr, factors[device].data(), mass[device].data(), nullptr, h1_,
      h2_,    space_.elements(device)};
  return made;
}

void Level::apply(const Singles& in, Singles& out) {
  const auto call_of = [&](std::size_t d) {
    HelmholtzCallOf<float> made = call(d);
    made.in = in[d].data();
    made.out = out[d].data();
    return made;
  };
  assembled_->apply(pointers(out), 1, call_of, [] {});
}

/// Lists the faces of elements and their points by number; two adjacent elements share a face.
void Level::list_faces() {
  const ElementBox& box = space_.box();
  const auto& e = box.elements;
  const std::int64_t square = std::int64_t{n_} * n_, block = space_.elements_of_a_block();
  // Number of planes of faces across an axis: one less if the axis is periodic.
  std::array<std::int64_t, 3> planes{}, begin{};
  std::int64_t faces = 0;
  for (std::size_t a = 0; a < 3; ++a) {
    planes[a] = e[a] + (box.periodic[a] ? 0 : 1);
    begin[a] = faces;
    faces += planes[a] * (box.count() / e[a]);
  }
  std::vector<std::vector<std::int64_t>> ids(space_.streams().size());
  std::vector<SharedPoints> shared;
  for (std::size_t d = 0; d < ids.size(); ++d) {
    const std::int64_t first = space_.first_element(d), count = space_.elements(d);
    ids[d].reserve(static_cast<std::size_t>(count * 6 * square));
    for (std::int64_t element = first; element < first + count; ++element) {
      const std::array<std::int64_t, 3> at{element % e[0], element / e[0] % e[1], element / (e[0] * e[1])};
      for (std::size_t a = 0; a < 3; ++a) {
        const std::size_t b = (a + 1) % 3, c = (a + 2) % 3;
        for (std::int64_t end = 0; end < 2; ++end) {
          const bool side = !box.periodic[a] && at[a] + end == (end == 0 ? 0 : e[a]);
          const std::int64_t plane = (at[a] + end) % planes[a];
          const std::int64_t face = begin[a] + plane + planes[a] * (at[b] + e[b] * at[c]);
          for (std::int64_t p = 0; p < square; ++p) ids[d].push_back(side ? 0 : 1 + face * square + p);
        }
      }
    }
    shared.push_back({ids[d], first / block, block * 6 * square});
  }
  face_sums_.emplace(
      space_.comm(), space_.machine(), shared,
      GatherScatterOptions{.type = DType::f32, .exchange = space_.options().exchange, .tune = space_.options().tune});
  faces_ = zeros(6 * square);
  ends_ = zeros(6 * square);
}

void Level::list_kinds() {
  const ElementBox& box = space_.box();
  const Kinds kinds = kinds_of(rule_);
  inner_.assign(kinds.matrices.begin(), kinds.matrices.begin() + std::int64_t{n_ + 2} * (n_ + 2));
  for (std::size_t d = 0; d < space_.streams().size(); ++d) {
    Stream& stream = space_.streams()[d];
    const std::int64_t first = space_.first_element(d), count = space_.elements(d);
    std::vector<std::int32_t> of;
    for (std::int64_t element = first; element < first + count; ++element) {
      const std::array<std::int64_t, 3> at{element % box.elements[0], element / box.elements[0] % box.elements[1],
                                           element / (box.elements[0] * box.elements[1])};
      for (std::size_t a = 0; a < 3; ++a) {
        std::int32_t kind[2];
        for (std::size_t end = 0; end < 2; ++end) {
          const bool side = !box.periodic[a] && at[a] == (end == 0 ? 0 : box.elements[a] - 1);
          const auto face = side ? static_cast<std::size_t>(box.face_of(static_cast<int>(a), element)) : 0;
          kind[end] = !side ? neighbour : constraint_.faces().of[a][end].at(face) ? fixed : free_side;
        }
        of.push_back(kind[0] * ends + kind[1]);
      }
    }
    kinds_.push_back(upload(stream, of));
    matrices_.push_back(upload(stream, kinds.matrices));
    eigenvalues_.push_back(upload(stream, kinds.eigenvalues));
    coefficients_.emplace_back(stream.device(), static_cast<std::size_t>(4 * count));
  }
}

/// Weights of overlaps: one over the root of the number of local solves that contain a point. They are applied before
/// and after the solves, which keeps the smoother symmetric.
void Level::weigh_overlaps() {
  const std::int64_t cube = std::int64_t{n_} * n_ * n_;
  overlap_weights_ = zeros(cube);
  Singles free = zeros(cube);
  for (std::size_t d = 0; d < free.size(); ++d) {
    Stream& stream = space_.streams()[d];
    const std::int64_t count = space_.elements(d);
    for (float* const to : {free[d].data(), overlap_weights_[d].data()})
      ones(stream, weights_[d].data(), to, count * cube);
    second_layers(stream, n_, free[d].data(), free[d].data(), faces_[d].data(), count);
  }
  sum_faces();
  for (std::size_t d = 0; d < free.size(); ++d) {
    Stream& stream = space_.streams()[d];
    const std::int64_t count = space_.elements(d);
    beyond(stream, n_, free[d].data(), faces_[d].data(), ends_[d].data(), count);
    if (ends_[d].size()) copy(stream, faces_[d].data(), ends_[d].data(), ends_[d].bytes());
  }
  sum_faces();
  for (std::size_t d = 0; d < free.size(); ++d)
    add_second_layers(space_.streams()[d], n_, faces_[d].data(), ends_[d].data(), overlap_weights_[d].data(),
                      space_.elements(d));
  sum(overlap_weights_);
  for (std::size_t d = 0; d < free.size(); ++d)
    over_root(space_.streams()[d], overlap_weights_[d].data(), weights_[d].data(), space_.elements(d) * cube);
  for (Stream& stream : space_.streams()) stream.synchronize();
}

void Level::overlapping(const Singles& from, Singles& out) {
  std::vector<Stream>& streams = space_.streams();
  for (std::size_t d = 0; d < streams.size(); ++d)
    second_layers(streams[d], n_, from[d].data(), overlap_weights_[d].data(), faces_[d].data(), space_.elements(d));
  sum_faces();
  for (std::size_t d = 0; d < streams.size(); ++d)
    order_kernels(rule_.order)
        .schwarz(streams[d], {from[d].data(), overlap_weights_[d].data(), faces_[d].data(), out[d].data(),
                              ends_[d].data(), inner_.data(), matrices_[d].data(), eigenvalues_[d].data(),
                              kinds_[d].data(), coefficients_[d].data(), h1_, h2_, space_.elements(d)});
  sum_faces();
  for (std::size_t d = 0; d < streams.size(); ++d)
    add_second_layers(streams[d], n_, faces_[d].data(), ends_[d].data(), out[d].data(), space_.elements(d));
  sum(out);
}

void Level::set_up(double h1, double h2) {
  h1_ = static_cast<float>(h1);
  h2_ = static_cast<float>(h2);
  std::vector<Stream>& streams = space_.streams();
  const std::int64_t cube = std::int64_t{n_} * n_ * n_;
  for (std::size_t at = 0; at < streams.size(); ++at) {
    weigh(streams[at], rule_, 6, factors[at].data(), space_.elements(at));
    weigh(streams[at], rule_, 1, mass[at].data(), space_.elements(at));
    if (smoother_ == Smoother::schwarz) coefficients(streams[at], call(at), coefficients_[at].data());
  }
  if (smoother_ == Smoother::jacobi) {
    if (inverse_.empty()) inverse_ = zeros(cube);
    for (std::size_t d = 0; d < streams.size(); ++d) {
      HelmholtzCallOf<float> made = call(d);
      made.out = inverse_[d].data();
      diagonal(streams[d], made);
    }
    sum(inverse_);
    for (std::size_t d = 0; d < streams.size(); ++d)
      invert(streams[d], inverse_[d].data(), weights_[d].data(), space_.elements(d) * cube);
  }
  // Lanczos's method runs in double precision, and converts to the level's own vectors.
  const krylov::Layout layout = layout_of(space_, cube);
  Vector weights;
  for (std::size_t d = 0; d < streams.size(); ++d) {
    Buffer<double>& part = weights.emplace_back(streams[d].device(), static_cast<std::size_t>(layout.points[d]));
    to_double(streams[d], weights_[d].data(), part.data(), layout.points[d]);
  }
  krylov::ConjugateGradients method(space_.comm(), space_.machine(), layout);
  const auto by = [&](const auto& work) {
    return [&, work](const krylov::Vectors& in, const krylov::Vectors& out) {
      for (std::size_t d = 0; d < streams.size(); ++d) to_single(streams[d], in[d], r[d].data(), layout.points[d]);
      work();
      for (std::size_t d = 0; d < streams.size(); ++d) to_double(streams[d], q_[d].data(), out[d], layout.points[d]);
    };
  };
  krylov::System system;
  system.apply = by([&] { apply(r, q_); });
  system.precondition = by([&] {
    const bool jacobi = smoother_ == Smoother::jacobi;
    if (!jacobi) overlapping(r, q_);
    for (std::size_t d = 0; d < streams.size(); ++d)
      multiply(streams[d], (jacobi ? inverse_ : overlap_weights_)[d].data(), (jacobi ? r : q_)[d].data(), q_[d].data(),
               layout.points[d]);
  });
  system.weights = values(weights);
  system.inverse_diagonal = values(weights);
  // Lanczos's estimate is a lower bound of the largest eigenvalue, hence the margin of 10 %.
  largest_ = 1.1 * method.spectrum(streams, system).largest;
  for (Stream& stream : streams) stream.synchronize();
}

/// Updates the residual r for a change d of the solution: q = A d, r -= q. `later`: the next smoothing subtracts q.
void Level::lower(bool later) {
  apply(d, q_);
  for (std::size_t at = 0; !later && at < r.size(); ++at)
    subtract(space_.streams()[at], q_[at].data(), r[at].data(), static_cast<std::int64_t>(r[at].size()));
}

void Level::relax(int degree, bool fresh, bool keep) {
  const bool jacobi = smoother_ == Smoother::jacobi;
  const auto b = static_cast<float>(1 / largest_);
  for (int step = 0; step < degree; ++step) {
    const bool first = step == 0 && fresh;
    if (!first) lower(jacobi);
    if (!jacobi) overlapping(r, q_);
    const auto i = static_cast<float>(step);
    const float factor = step == 0 ? 4 * b / 3 : (8 * i + 4) / (2 * i + 3) * b;
    for (std::size_t at = 0; at < r.size(); ++at)
      change(space_.streams()[at],
             {.a = step == 0 ? 0 : (2 * i - 1) / (2 * i + 3),
              .b = factor,
              .s = jacobi ? r[at].data() : q_[at].data(),
              .w = jacobi ? inverse_[at].data() : overlap_weights_[at].data(),
              .q = jacobi && !first ? q_[at].data() : nullptr,
              .d = d[at].data(),
              .z = z[at].data(),
              .first = first},
             static_cast<std::int64_t>(r[at].size()));
  }
  if (keep) lower(false);
}

}  // namespace slipstream::sem
