#include "solver/lbm/step/split_tuner.hpp"

#include <algorithm>
#include <limits>
#include <sstream>

#include <slipstream/error.hpp>

#include "exchange/remembered.hpp"
#include "machine/clock.hpp"

namespace slipstream::lbm {
namespace {

/// One measurement lasts about so long: shorter ones are at the mercy of the host's scheduler.
constexpr double trial_seconds = 0.04;
/// Bytes that a device sends, from which hiding them pays for the launches of the rim (four H200s: 1 % of a step gained
/// at 5 MB, 4 % at 10 MB, 3 to 6 % lost at 1 MB).
constexpr double worth_hiding = 5e6;

std::string to_lines(const Split& split) {
  std::ostringstream text;
  text << "split " << split.overlap;
  for (const std::int64_t width : split.rim) text << ' ' << width;
  text << ' ' << split.rim_processors << '\n';
  return text.str();
}

std::optional<Split> from_lines(const std::string& text) {
  std::istringstream lines(text);
  std::string word;
  Split split;
  lines >> word >> split.overlap >> split.rim[0] >> split.rim[1] >> split.rim[2] >> split.rim_processors;
  if (!lines || word != "split") return {};
  return split;
}

}  // namespace

std::vector<Split> split_candidates(Overlap overlap, const Extent& block, const std::array<bool, 3>& cut, Layout layout,
                                    int processors, int asked) {
  std::vector<Split> found;
  if (overlap != Overlap::on) found.push_back({});
  if (overlap == Overlap::off) return found;
  // Wider rims leave fewer cells to hide the exchange behind, but thin ones across rows touch memory in small pieces.
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

double seconds_a_step(const Communicator& comm, const TuneOptions& how, const std::function<void(std::int64_t)>& run) {
  const auto timed = [&](std::int64_t steps) {
    comm.barrier();
    const double start = seconds_now();
    run(steps);
    return comm.max(seconds_now() - start) / static_cast<double>(steps);
  };
  const double guess = timed(std::max(1, how.warm_ups));
  const auto steps = static_cast<std::int64_t>(std::clamp(trial_seconds / std::max(guess, 1e-9), 4.0, 400.0));
  double best = std::numeric_limits<double>::infinity();
  for (int trial = 0; trial < std::min(how.trials, 3); ++trial) best = std::min(best, timed(steps));
  return best;
}

Split tune_split(const Communicator& comm, const std::string& key, const std::vector<Split>& candidates,
                 const TuneOptions& how, const std::function<double(const Split&)>& seconds) {
  if (candidates.size() == 1) return candidates.front();
  const double start = seconds_now();
  Remembered memory({"the width of the rim", "slipstream tuned rim 3"}, "rim " + key, how);
  std::optional<Split> found;
  const auto read = [&](const std::string& lines) {
    found = from_lines(lines);
    return found.has_value();
  };
  memory.find(comm, read, [&] {
    const Split* best = nullptr;
    double least = std::numeric_limits<double>::infinity();
    for (const Split& candidate : candidates)
      if (const double time = seconds(candidate); time < least || !best) {
        best = &candidate;
        least = time;
      }
    return to_lines(*best);
  });
  found->source = memory.measured() ? "measured" : "cache";
  found->file = memory.file();
  found->seconds = seconds_now() - start;
  found->notes = std::move(memory.notes());
  return *found;
}

}  // namespace slipstream::lbm
