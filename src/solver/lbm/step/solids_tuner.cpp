#include "solver/lbm/step/solids_tuner.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include <slipstream/device.hpp>
#include <slipstream/error.hpp>

#include "exchange/choices.hpp"
#include "exchange/tuner_cache.hpp"
#include "machine/clock.hpp"
#include "machine/records.hpp"
#include "solver/lbm/lattice/fields.hpp"

namespace slipstream::lbm {
namespace {

constexpr std::array ways{Solids::dense, Solids::flags, Solids::sparse};

Kept kept_as(Solids way) {
  return way == Solids::dense ? Kept::all : way == Solids::flags ? Kept::fluid : Kept::packed;
}

/// Blocks of similar shape and solid cells, which share one measurement.
struct Alike {
  std::vector<std::int64_t> blocks = {};
  /// seconds that a step takes, for each storage of solid cells
  std::vector<double> seconds = std::vector<double>(ways.size(), 0);
  bool measured = false;

  std::optional<Solids> fastest() const {
    const auto least = std::min_element(seconds.begin(), seconds.end());
    if (*least == never) return {};
    return ways[static_cast<std::size_t>(least - seconds.begin())];
  }
  /// Merges another rank's step times for blocks of similar shape and solid cells; the longer time counts.
  void add(PartsReader& other) {
    for (double& mine : seconds) {
      double theirs = 0;
      other.read(theirs);
      mine = std::max(mine, theirs);
    }
    bool theirs = false;
    std::size_t count = 0;
    other.read(theirs, count);
    measured |= theirs;
    for (std::int64_t block = 0; count > 0; --count) {
      other.read(block);
      blocks.push_back(block);
    }
  }
};

using AllAlike = std::map<std::string, Alike>;  // step times of each kind of block, by its key

/// Merges the step times that all ranks measured for each kind of block, and gives them to all ranks.
AllAlike gathered(const Communicator& comm, const AllAlike& here) {
  std::string mine;
  for (const auto& [key, alike] : here) {
    append_parts(mine, key);
    for (const double seconds : alike.seconds) append_parts(mine, seconds);
    append_parts(mine, alike.measured, alike.blocks.size());
    for (const std::int64_t block : alike.blocks) append_parts(mine, block);
  }
  AllAlike all;
  for (const std::string& text : comm.all_gather(mine))
    for (PartsReader parts(text); !parts.over();) {
      std::string key;
      parts.read(key);
      all[key].add(parts);
    }
  return all;
}

/// Collects the notes on measurements and on their cache from all ranks, without repeats.
std::vector<std::string> of_all_ranks(const Communicator& comm, const std::vector<std::string>& notes) {
  std::string mine;
  for (const std::string& note : notes) mine += note + '\0';
  std::vector<std::string> all;
  for (const std::string& text : comm.all_gather(mine)) {
    std::istringstream of_rank(text);
    for (std::string note; std::getline(of_rank, note, '\0');)
      if (std::find(all.begin(), all.end(), note) == all.end()) all.push_back(note);
  }
  return all;
}

class SolidsTuner {
 public:
  SolidsTuner(const Grid& grid, const Options& options, const Surfaces& surfaces)
      : grid_(grid), options_(options), surfaces_(surfaces), how_(*options.tune) {}

  /// Measures a step's time with each storage of solid cells, for one of this rank's blocks of each kind.
  AllAlike measure() {
    Surfaces uncut = surfaces_;
    uncut.cuts = {};
    find_room();
    AllAlike all;
    for (const std::int64_t id : grid_.local()) {
      const Block& block = grid_.block(id);
      if (!has_room_[block.device]) continue;
      const Surroundings s = surroundings_of(grid_, block, options_, ghost_layers(grid_, options_), uncut);
      const Solidity solidity = solidity_of(block, s, row_axis(layout_of(grid_, options_)));
      if (solidity.share == 0 || solidity.share == 1) continue;
      const std::string key = key_of(block, solidity);
      if (!all.contains(key)) all[key] = found_for(key, block);
      all[key].blocks.push_back(id);
    }
    return all;
  }

  std::vector<std::string> notes;

 private:
  /// Finds devices whose memory holds all cells of their blocks, solid ones too. On others, rules choose the storage.
  void find_room() {
    const Machine& machine = grid_.machine();
    std::vector<std::int64_t> needed(machine.devices(), 0);
    for (const ArrayBytes& array : memory_needed(grid_, options_)) needed[array.device] += array.bytes;
    has_room_.assign(machine.devices(), false);
    for (const int device : machine.devices_of_rank(grid_.rank())) {
      const MachineDevice& mine = machine.device(device);
      std::int64_t all = 0, room = mine.memory;
      if (mine.local.backend == Backend::cuda) {
        room = static_cast<std::int64_t>(info(mine.local).memory_free);
        for (int other = 0; other < machine.devices(); ++other)
          if (machine.device(other).node == mine.node && machine.device(other).uuid == mine.uuid) all += needed[other];
      } else {
        all = needed[device];
      }
      has_room_[device] = all <= room;
      if (all > room)
        notes.push_back("device " + std::to_string(device) + " has no room for all cells of its blocks (" +
                        std::to_string(all) + " bytes, " + std::to_string(room) +
                        " free): how they are kept is not measured");
    }
  }

  /// Key in the tuner's cache for blocks that are alike in extent, solver options and rounded share of solid cells.
  std::string key_of(const Block& block, const Solidity& solidity) const {
    const Extent& cells = block.box.extents();
    std::ostringstream text;
    text << tuner_key(Grid(cells, alone_on(block.device), 0), {}, options_.exchange) << " | solids "
         << slipstream::to_string(cells) << " share " << std::lround(20 * solidity.share) << " long "
         << std::lround(4 * solidity.long_share) << ' ' << to_string(options_.lattice) << ' '
         << to_string(options_.collision) << (options_.smagorinsky ? " eddies " : " ")
         << (model_of(options_).plain() ? "" : "model ") << to_string(options_.precision) << ' '
         << to_string(options_.streaming) << ' ' << to_string(layout_of(grid_, options_)) << ' '
         << alignment_of(options_, on_gpus(grid_)) << (options_.flags_by_word ? " words" : "")
         << (interpolates(surfaces_) ? " cut" : "");
    return text.str();
  }

  /// Each rank measures its own kinds of blocks, at the same time as the others.
  Alike found_for(const std::string& key, const Block& block) {
    const Machine machine = alone_on(block.device);
    const auto differ =
        ways_that_differ(model_of(options_), on_gpus(grid_), layout_of(grid_, options_), options_.representation);
    Choices choices{{"the choice for solid cells", "slipstream tuned solids 3"}, key, {}};
    for (const Solids way : differ) choices.names.push_back(to_string(way));
    const Chosen found = choose_by_time(Communicator(MPI_COMM_SELF), choices, how_,
                                        [&](std::size_t n) { return seconds(machine, block, differ[n]); });
    notes.insert(notes.end(), found.notes.begin(), found.notes.end());
    Alike alike;
    alike.measured = found.source == "measured";
    alike.seconds.assign(ways.size(), never);
    for (std::size_t n = 0; n < differ.size(); ++n)
      alike.seconds[std::find(ways.begin(), ways.end(), differ[n]) - ways.begin()] = found.seconds[n];
    return alike;
  }

  Machine alone_on(int device) const {
    MachineDevice one = grid_.machine().device(device);
    one.node = one.rank = 0;
    return {grid_.machine().name(), {one}, {grid_.machine().link(device, device)}};
  }

  /// Seconds that a step of a block alone takes; infinite if the block cannot run, for example without memory.
  double seconds(const Machine& machine, const Block& block, Solids way) {
    Options o = options_;
    o.cells = block.box.extents();
    o.periodic = {true, true, grid_.dimensions() == 3};
    o.density_drop = {0, 0, 0};
    o.walls.clear();
    o.boundaries.clear();
    o.grid = {};
    o.layout = layout_of(grid_, options_);
    o.alignment = alignment_of(options_, on_gpus(grid_));
    o.solids = way;
    o.tune.reset();
    o.tune_rim = false;
    o.overlap = Overlap::off;
    o.exchange.routes = {RouteKind::kernel};
    o.exchange.trace = nullptr;
    o.exchange.chosen.clear();
    const Communicator self(MPI_COMM_SELF);
    try {
      Lbm lbm(self, machine, o, inside(block));
      return seconds_a_step(self, how_, [&](std::int64_t steps) { lbm.advance(steps); });
    } catch (const std::exception& error) {
      notes.push_back("solids kept as " + to_string(way) + " were not measured: " + error.what());
      return never;
    }
  }

  /// The bodies in the coordinates of a domain that consists only of the block.
  Surfaces inside(const Block& block) const {
    const Extent low = block.box.lo, up{-low[0], -low[1], -low[2]};
    Surfaces moved;
    moved.names = surfaces_.names;
    moved.half_way = surfaces_.half_way;
    moved.solid = [solid = surfaces_.solid, low](const Box& box) { return solid(shifted(box, low)); };
    if (surfaces_.cuts)
      moved.cuts = [cuts = surfaces_.cuts, low, up](const Box& box, const std::vector<Direction>& directions) {
        std::vector<Cut> found = cuts(shifted(box, low), directions);
        for (Cut& cut : found)
          for (int a = 0; a < 3; ++a) cut.cell[a] += static_cast<std::int32_t>(up[a]);
        return found;
      };
    return moved;
  }

  const Grid& grid_;
  const Options& options_;
  const Surfaces& surfaces_;
  TuneOptions how_;
  std::vector<bool> has_room_;
};

}  // namespace

std::vector<Solids> ways_that_differ(const Model& model, bool gpu, Layout layout, Representation representation) {
  if (representation == Representation::moments) return {Solids::dense, Solids::flags};
  if (gpu && layout != Layout::aos && !model.plain()) return {Solids::flags, Solids::sparse};
  return {ways.begin(), ways.end()};
}

KeptBlocks measure_kept(const Communicator& comm, const Grid& grid, const Options& options, const Surfaces& surfaces) {
  const double start = seconds_now();
  SolidsTuner tuner(grid, options, surfaces);
  AllAlike mine;
  on_all_ranks(comm, [&] { mine = tuner.measure(); });
  const AllAlike together = gathered(comm, mine);
  KeptBlocks all;
  for (const auto& [key, alike] : together) {
    const auto way = alike.fastest();
    if (!way) continue;
    for (const std::int64_t block : alike.blocks) all.of[block] = kept_as(*way);
    if (all.told.source != "measured") all.told.source = alike.measured ? "measured" : "cache";
  }
  for (const auto& [id, kept] : all.of)
    ++(kept == Kept::all ? all.told.dense : kept == Kept::fluid ? all.told.flags : all.told.sparse);
  all.told.seconds = comm.max(seconds_now() - start);
  all.told.notes = of_all_ranks(comm, tuner.notes);
  return all;
}

}  // namespace slipstream::lbm
