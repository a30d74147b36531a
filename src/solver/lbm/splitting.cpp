// Chooses by timing how a lattice-Boltzmann step is split around its halo exchange, and the cells per thread block.
#include <algorithm>

#include "exchange/choices.hpp"
#include "exchange/tuner_cache.hpp"
#include "solver/lbm/by_moments/tiles.hpp"
#include "solver/lbm/impl.hpp"
#include "solver/lbm/step/split_tuner.hpp"

namespace slipstream::lbm {

void Lbm::Impl::take(const Split& chosen) {
  options.overlap = chosen.overlap ? Overlap::on : Overlap::off;
  options.rim = chosen.rim;
  options.rim_processors = chosen.rim_processors;
  // Blocks with a list of fluid cells keep it, whatever width the tuner chose for the boundary region.
  for (BlockWork& work : blocks) {
    if (work.fluid.size() != 0) continue;
    work.split = split_boundary(work.cells, margins(grid.block(work.id)));
    work.boundary.split(waited[work.device], work.split.interior);
  }
}

double Lbm::Impl::most_bytes_sent() const {
  std::map<int, std::int64_t> sent;
  std::int64_t most = 0;
  for (const MessageInfo& message : exchange().messages()) {
    if (grid.machine().device(message.source).rank != comm.rank() || message.source == message.target) continue;
    most = std::max(most, sent[message.source] += message.bytes);
  }
  return comm.max(static_cast<double>(most));
}

std::string Lbm::Impl::split_key() const {
  const std::string step = " | " + to_string(options.lattice) + ' ' + to_string(options.representation) + ' ' +
                           to_string(options.collision) + ' ' + to_string(options.streaming) +
                           (model.plain() ? "" : " model") + " walls " + std::to_string(options.walls.size()) +
                           " sides " + std::to_string(options.boundaries.size()) + " overlap " +
                           std::to_string(static_cast<int>(options.overlap)) + " processors " +
                           std::to_string(options.rim_processors) + (options.tune ? " tuned" : "");
  return tuner_key(grid, {{patterns.front().get(), populations->options()}}, options.exchange) + step;
}

std::vector<Teams> team_candidates(const Extent& block, DType precision, bool gpu, bool walls) {
  const std::size_t bytes = size_of(precision);
  std::vector<Teams> found(1);
  for (const std::array<int, 2> tile : tiles_of(bytes)) {
    if (gpu && walls && tile[0] != usual_tile_width(bytes)) continue;
    for (const int chunk : {16, 32, 64, 128})
      if (tile[0] <= block[0] && tile[1] <= block[1] && chunk <= block[2] && (gpu || chunk < 128))
        found.push_back({tile, chunk, {}, {}, 0, {}});
  }
  return found;
}

void Lbm::Impl::tune_teams(Lbm& owner) {
  teams.tile = options.tile;
  teams.chunk = options.chunk;
  if (!by_moments()) return;
  const bool gpu = devices.front().backend != Backend::host;
  const bool walls =
      comm.max(std::any_of(blocks.begin(), blocks.end(), [](const BlockWork& work) { return work.walls != 0; })) > 0;
  const std::size_t bytes = size_of(options.precision);
  if (gpu && walls && teams.tile[0] > 0 && teams.tile[0] != usual_tile_width(bytes))
    teams.notes.push_back("blocks with a resting wall at a side take tiles " + std::to_string(usual_tile_width(bytes)) +
                          " cells wide, whatever lbm.tile says");
  if (!options.tune || teams.tile[0] > 0 || teams.chunk > 0) return;
  if (options.exchange.trace) {
    teams.notes.push_back("tiles are not measured while a trace is recorded: it would be full of that");
    return;
  }
  Extent smallest = grid.extent();
  for (const Block& block : grid.blocks())
    for (int a = 0; a < 3; ++a) smallest[a] = std::min(smallest[a], block.box.extent(a));
  const std::vector<Teams> candidates = team_candidates(smallest, options.precision, gpu, walls);
  Choices choices{{"the tile of a step by moments", "slipstream tuned teams 4"}, "teams " + split_key(), {}};
  for (const Teams& each : candidates)
    choices.names.push_back(std::to_string(each.tile[0]) + ' ' + std::to_string(each.tile[1]) + ' ' +
                            std::to_string(each.chunk));
  bool ran = false;
  Chosen found = choose_by_time(comm, choices, *options.tune, [&](std::size_t n) {
    ran = true;
    options.tile = candidates[n].tile;
    options.chunk = candidates[n].chunk;
    TimeLoop steps(owner, Overlap::off);
    return seconds_a_step(comm, *options.tune, [&](std::int64_t count) { steps.run(count); });
  });
  if (ran) rest();
  teams = candidates[found.choice];
  options.tile = teams.tile;
  options.chunk = teams.chunk;
  teams.source = found.source;
  teams.file = found.file;
  teams.seconds = found.spent;
  teams.notes = std::move(found.notes);
}

void Lbm::Impl::tune_rim(Lbm& owner) {
  const Split asked{options.overlap == Overlap::on, options.rim, options.rim_processors, "options", {}, 0, {}};
  Extent smallest = grid.extent();
  for (const Block& block : grid.blocks())
    for (int a = 0; a < 3; ++a) smallest[a] = std::min(smallest[a], block.box.extent(a));
  std::array<bool, 3> cut{};
  for (int a = 0; a < 3; ++a)
    cut[a] = populations->options().ghost[a] > 0 && (grid.periodic()[a] || smallest[a] < grid.extent()[a]);
  if (options.exchange.trace) {
    split.notes.push_back("the boundary region is not measured while a trace is recorded: it would be full of that");
    return;
  }
  const bool messages = comm.max(static_cast<double>(exchange().messages().size())) > 0;
  const TuneOptions how = options.tune.value_or(TuneOptions{});
  const Overlap wanted = options.overlap;
  const int processors = devices.front().backend == Backend::host ? 0 : info(devices.front()).processors;
  const Layout layout = populations->options().layout;
  const auto candidates = messages ? split_candidates(wanted, smallest, cut, layout, processors, options.rim_processors)
                                   : std::vector{asked};
  const std::string key = split_key();
  bool ran = false;
  split = tune_split(comm, key, candidates, how, [&](const Split& candidate) {
    ran = true;
    take(candidate);
    TimeLoop steps(owner, options.overlap);
    return seconds_a_step(comm, how, [&](std::int64_t n) { steps.run(n); });
  });
  if (messages) take(split);
  if (ran) rest();
}

}  // namespace slipstream::lbm
