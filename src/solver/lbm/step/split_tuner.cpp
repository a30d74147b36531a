#include "solver/lbm/step/split_tuner.hpp"

#include <algorithm>

#include "exchange/choices.hpp"

namespace slipstream::lbm {
namespace {

/// Bytes sent per device from which hiding the exchange pays for the launches of the boundary region. Four H200s gained
/// 1 % of a step at 5 MB and 4 % at 10 MB, and lost 3 to 6 % at 1 MB.
constexpr double worth_hiding = 5e6;

std::string name_of(const Split& split) {
  std::string name = split.overlap ? "overlap" : "none";
  for (const std::int64_t width : split.rim) name += ' ' + std::to_string(width);
  return name + ' ' + std::to_string(split.rim_processors);
}

}  // namespace

std::vector<Split> split_candidates(Overlap overlap, const Extent& block, const std::array<bool, 3>& cut, Layout layout,
                                    int processors, int asked) {
  std::vector<Split> found;
  if (overlap != Overlap::on) found.push_back({});
  if (overlap == Overlap::off) return found;
  // Wider boundary regions leave fewer cells to hide the exchange behind, but thin ones across rows touch memory in
  // small pieces.
  constexpr Extent widths[] = {{0, 0, 0}, {8, 0, 0}, {32, 0, 0}, {4, 4, 4}, {8, 8, 8}, {16, 16, 16}};
  for (const Extent& wanted : widths) {
    Split split{true, by_rows(layout, wanted), 0, {}, {}, 0, {}};
    bool interior = true;
    for (int a = 0; a < 3; ++a) {
      if (!cut[a]) split.rim[a] = 0;
      if (cut[a] && 2 * std::max<std::int64_t>(1, split.rim[a]) >= block[a]) interior = false;
    }
    const bool known = std::any_of(found.begin(), found.end(),
                                   [&](const Split& other) { return other.overlap && other.rim == split.rim; });
    if (known || (!interior && !found.empty())) continue;
    found.push_back(split);
    if (wanted != Extent{0, 0, 0} || !interior || asked > 0) continue;
    for (const int part : {2, 8}) {
      split.rim_processors = processors / part;
      if (split.rim_processors > 0) found.push_back(split);
    }
  }
  for (Split& split : found) {
    split.source = "options";
    if (asked > 0) split.rim_processors = asked;
  }
  return found;
}

Overlap usual_overlap(const Grid& grid, const Options& options, bool by_devices, double bytes) {
  if (options.overlap != Overlap::automatic || options.rim != Extent{0, 0, 0}) return options.overlap;
  const Layout layout = layout_of(grid, options);
  const int along = row_axis(layout);
  const bool cut = std::any_of(grid.blocks().begin(), grid.blocks().end(),
                               [&](const Block& block) { return block.box.extent(along) < grid.extent()[along]; });
  const bool slow_rim = cut && layout != Layout::aos;
  return by_devices && (slow_rim || bytes < worth_hiding) ? Overlap::off : Overlap::automatic;
}

Split tune_split(const Communicator& comm, const std::string& key, const std::vector<Split>& candidates,
                 const TuneOptions& how, const std::function<double(const Split&)>& seconds) {
  if (candidates.size() == 1) return candidates.front();
  Choices choices{{"the width of the boundary region", "slipstream tuned rim 4"}, "rim " + key, {}};
  for (const Split& candidate : candidates) choices.names.push_back(name_of(candidate));
  Chosen found = choose_by_time(comm, choices, how, [&](std::size_t n) { return seconds(candidates[n]); });
  Split split = candidates[found.choice];
  split.source = found.source;
  split.file = found.file;
  split.seconds = found.spent;
  split.notes = std::move(found.notes);
  return split;
}

}  // namespace slipstream::lbm
