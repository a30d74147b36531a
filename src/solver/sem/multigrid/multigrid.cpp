#include "solver/sem/multigrid/multigrid.hpp"

#include <algorithm>

#include "machine/agree.hpp"
#include "solver/krylov/timed.hpp"
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

/// Matrix of linear interpolation between the points of two rules; all its weights are nonnegative.
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

}  // namespace

Multigrid::Multigrid(Space& space, const Constraint& constraint, Smoother smoother, int degree)
    : space_(space), degree_(degree) {
  const std::vector<int> orders = orders_of(space.order());
  for (std::size_t l = 0; l < orders.size(); ++l) {
    levels_.push_back(std::make_unique<Level>(space, constraint, orders[l], smoother));
    if (l == 0) continue;
    const Rule &fine = levels_[l - 1]->rule(), &coarse = levels_[l]->rule();
    up_.push_back(interpolation(coarse, fine.points));
    down_.push_back(transposed(up_.back(), fine.points.size()));
  }
  coarse_ = std::make_unique<CoarseGrid>(space, constraint, *levels_.back());
}

void Multigrid::list_factors(const OperatorTerms& terms) {
  const Level& finest = *levels_.front();
  for (std::size_t d = 0; d < space_.streams().size(); ++d) {
    Stream& stream = space_.streams()[d];
    const std::int64_t count = space_.elements(d);
    const HelmholtzCall call{&finest.rule(),
                             space_.options().factors,
                             nullptr,
                             terms.factors ? terms.factors->at(d).data() : space_.factors(d),
                             terms.mass ? terms.mass->at(d).data() : space_.mass_matrix()[d].data(),
                             nullptr,
                             1,
                             0,
                             count};
    densities(stream, call, finest.factors[d].data(), finest.mass[d].data());
    for (std::size_t l = 1; l < levels_.size(); ++l) {
      const Level &from = *levels_[l - 1], &to = *levels_[l];
      const std::vector<double> matrix = linear(from.rule(), to.rule());
      const int n = from.order() + 1, m = to.order() + 1;
      interpolate(stream, {matrix, n, m, from.factors[d].data(), to.factors[d].data(), 6 * count});
      interpolate(stream, {matrix, n, m, from.mass[d].data(), to.mass[d].data(), count});
    }
    stream.synchronize();
  }
}

void Multigrid::set_up(double h1, double h2, const OperatorTerms& terms, bool singular) {
  on_all_ranks(space_.comm(), [&] { list_factors(terms); });
  for (const auto& level : levels_) level->set_up(h1, h2);
  coarse_->set_up(h1, h2, singular);
}

bool Multigrid::loopable() const {
  return coarse_->loopable() &&
         std::all_of(levels_.begin(), levels_.end(), [](const auto& l) { return l->loopable(); });
}

double Multigrid::coarse_us() {
  return krylov::time_us(space_.comm(), space_.streams(), [this] { coarse_->correct(); });
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
                  {down_[l], n, m, level.r[d].data(), next.r[d].data(), space_.elements(d), level.weights()[d].data()});
    next.sum(next.r);
    cycle(l + 1);
    for (std::size_t d = 0; d < space_.streams().size(); ++d) {
      interpolate(space_.streams()[d], {up_[l], m, n, next.z[d].data(), level.d[d].data(), space_.elements(d)});
      add(space_.streams()[d], level.d[d].data(), level.z[d].data(), static_cast<std::int64_t>(level.z[d].size()));
    }
  }
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
