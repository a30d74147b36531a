#include "solver/sem/multigrid/multigrid.hpp"

#include <algorithm>

#include "machine/agree.hpp"
#include "solver/sem/multigrid/level_kernels.hpp"

namespace slipstream::sem {
namespace {

std::vector<int> orders_of(int order) {
  std::vector<int> orders{order};
  while (orders.back() / 2 > 1) orders.push_back(orders.back() / 2);
  return orders;
}

std::vector<double> transposed(const std::vector<double>& matrix, std::size_t rows) {
  const std::size_t columns = matrix.size() / rows;
  std::vector<double> turned;
  for (std::size_t c = 0; c < columns; ++c)
    for (std::size_t r = 0; r < rows; ++r) turned.push_back(matrix[r * columns + c]);
  return turned;
}

/// Linear interpolation from a rule's points to those of another: no weight is negative.
std::vector<double> linear(const Rule& from, const Rule& to) {
  const std::size_t n = from.points.size();
  std::vector<double> matrix;
  for (const double x : to.points) {
    std::size_t low = 0;
    while (low + 2 < n && from.points[low + 1] <= x) ++low;
    std::vector<double> row(n, 0.0);
    const double share = (x - from.points[low]) / (from.points[low + 1] - from.points[low]);
    row[low] = 1 - share;
    row[low + 1] = share;
    matrix.insert(matrix.end(), row.begin(), row.end());
  }
  return matrix;
}

Singles room(Space& space, std::int64_t values_of_an_element) {
  Singles made;
  for (std::size_t d = 0; d < space.streams().size(); ++d)
    made.emplace_back(space.streams()[d].device(), static_cast<std::size_t>(space.elements(d) * values_of_an_element));
  return made;
}

std::int64_t cube_of(int order) { return std::int64_t{order + 1} * (order + 1) * (order + 1); }

}  // namespace

Multigrid::Multigrid(Space& space, const Constraint& constraint, Smoother smoother, int degree)
    : space_(space), degree_(degree) {
  const std::vector<int> orders = orders_of(space.order());
  std::vector<Density> densities(orders.size());
  on_all_ranks(space.comm(), [&] {
    densities[0] = finest();
    for (std::size_t l = 1; l < orders.size(); ++l) densities[l] = between(densities[l - 1], orders[l - 1], orders[l]);
    for (Stream& stream : space.streams()) stream.synchronize();
  });
  for (std::size_t l = 0; l < orders.size(); ++l) {
    levels_.push_back(std::make_unique<Level>(space, constraint, orders[l], std::move(densities[l]), smoother));
    if (l == 0) continue;
    const Rule &fine = levels_[l - 1]->rule(), &coarse = levels_[l]->rule();
    up_.push_back(interpolation(coarse, fine.points));
    down_.push_back(transposed(up_.back(), fine.points.size()));
  }
  coarse_ = std::make_unique<CoarseGrid>(space, constraint, *levels_.back());
}

Density Multigrid::finest() const {
  const std::int64_t cube = cube_of(space_.order());
  Density made{room(space_, 6 * cube), room(space_, cube)};
  const Rule rule = gauss_lobatto(space_.order());
  for (std::size_t d = 0; d < space_.streams().size(); ++d) {
    HelmholtzCall call{
        &rule, space_.options().factors, nullptr, space_.factors(d), space_.mass_matrix()[d].data(), nullptr, 1,
        0,     space_.elements(d)};
    sem::densities(space_.streams()[d], call, made.factors[d].data(), made.mass[d].data());
  }
  return made;
}

Density Multigrid::between(const Density& finer, int from, int to) const {
  Density made{room(space_, 6 * cube_of(to)), room(space_, cube_of(to))};
  const std::vector<double> matrix = linear(gauss_lobatto(from), gauss_lobatto(to));
  for (std::size_t d = 0; d < space_.streams().size(); ++d) {
    Stream& stream = space_.streams()[d];
    const std::int64_t count = space_.elements(d);
    interpolate(stream,
                {matrix, from + 1, to + 1, finer.factors[d].data(), nullptr, made.factors[d].data(), 6 * count});
    interpolate(stream, {matrix, from + 1, to + 1, finer.mass[d].data(), nullptr, made.mass[d].data(), count});
  }
  return made;
}

void Multigrid::set_up(double h1, double h2) {
  for (const auto& level : levels_) level->set_up(h1, h2);
  coarse_->set_up(h1, h2);
}

void Multigrid::cycle(std::size_t l) {
  Level& level = *levels_[l];
  level.relax(degree_, true, true);
  if (l + 1 == levels_.size()) {
    coarse_->correct();
  } else {
    Level& next = *levels_[l + 1];
    const int n = level.order() + 1, m = next.order() + 1;
    for (std::size_t d = 0; d < space_.streams().size(); ++d)
      interpolate(space_.streams()[d],
                  {down_[l], n, m, level.r[d].data(), level.weights()[d].data(), next.r[d].data(), space_.elements(d)});
    next.sum(next.r);
    cycle(l + 1);
    for (std::size_t d = 0; d < space_.streams().size(); ++d) {
      interpolate(space_.streams()[d],
                  {up_[l], m, n, next.z[d].data(), nullptr, level.d[d].data(), space_.elements(d)});
      add(space_.streams()[d], level.d[d].data(), level.z[d].data(), static_cast<std::int64_t>(level.z[d].size()));
    }
  }
  level.apply(level.d, level.image());
  for (std::size_t d = 0; d < level.r.size(); ++d)
    subtract(space_.streams()[d], level.image()[d].data(), level.r[d].data(),
             static_cast<std::int64_t>(level.r[d].size()));
  level.relax(degree_, false, false);
}

void Multigrid::apply(const krylov::Vectors& r, const krylov::Vectors& z) {
  Level& level = *levels_.front();
  for (std::size_t d = 0; d < r.size(); ++d)
    to_single(space_.streams()[d], r[d], level.r[d].data(), static_cast<std::int64_t>(level.r[d].size()));
  cycle(0);
  for (std::size_t d = 0; d < r.size(); ++d)
    to_double(space_.streams()[d], level.z[d].data(), z[d], static_cast<std::int64_t>(level.z[d].size()));
}

}  // namespace slipstream::sem
