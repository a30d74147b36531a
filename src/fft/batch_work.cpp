#include "fft/batch_work.hpp"

#include <algorithm>

#include "fft/passes.hpp"

namespace slipstream::fft {

std::int64_t even_pieces(std::int64_t all, std::int64_t most) {
  if (most >= all) return all;
  const auto parts = [](std::int64_t of, std::int64_t each) { return (of + each - 1) / each; };
  const std::int64_t groups = parts(all, BatchWork::together),
                     each = std::max<std::int64_t>(1, most / BatchWork::together);
  return std::min(all, parts(groups, parts(groups, each)) * BatchWork::together);
}

std::vector<std::int64_t> widths(std::int64_t all, std::int64_t of_piece) {
  std::vector<std::int64_t> found;
  for (std::int64_t first = 0; first < all; first += of_piece) found.push_back(std::min(of_piece, all - first));
  return found;
}

void BatchWork::ready() {
  std::size_t most = 0;
  for (const auto& [key, plan] : plans_) most = std::max(most, plan->workspace());
  workspace_ = Buffer<std::byte>(device_, most);
  for (const auto& [key, plan] : plans_) plan->use_workspace(workspace_.data());
  planning_ = false;
}

void BatchWork::lines(Stream& stream, Kind kind, std::int64_t n, std::int64_t rows, std::int64_t planes,
                      const void* from, void* to) {
  const bool in_place = from == to;
  const Key key{static_cast<std::int64_t>(kind), n, rows, planes, in_place};
  if (planning_) {
    LineBatch batch;
    batch.kind = kind;
    batch.twice = twice_;
    batch.sizes = {n};
    batch.rows = rows;
    batch.count = rows * planes;
    batch.in_place = in_place;
    batch.from = {0, 1, kind == Kind::complex_to_real ? n / 2 + 1 : n};
    batch.to = {0, 1, kind == Kind::real_to_complex ? n / 2 + 1 : n};
    if (!plans_.contains(key)) plans_[key] = make_lines(device_, batch);
    return;
  }
  plans_.at(key)->run(stream, from, to);
}

void BatchWork::turn(Stream& stream, const Extent& extent, const void* from, Strides from_stride, void* to,
                     Strides to_stride) {
  if (planning_) return;
  fft::permute(stream, twice_, extent, from, {from_stride.i, from_stride.j, from_stride.k}, to,
               {to_stride.i, to_stride.j, to_stride.k});
}

void BatchWork::copied(Stream& stream, void* to, const void* from, std::int64_t bytes) {
  if (!planning_) copy(stream, to, from, static_cast<std::size_t>(bytes));
}

void BatchWork::scaled(Stream& stream, void* values, std::int64_t count, double factor) {
  if (!planning_ && factor != 1) scale(stream, values, count, twice_, factor);
}

}  // namespace slipstream::fft
