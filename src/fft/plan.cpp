// Builds the steps of a plan, a distributed Fourier transform.
#include <algorithm>

#include "exchange/plan.hpp"
#include "fft/impl.hpp"
#include "fft/radix_stores.hpp"
#include "fft/room.hpp"
#include "machine/agree.hpp"
#include "machine/private_communicator.hpp"

namespace slipstream {

using fft::Array;
using fft::Decomposition;
using fft::Lane;
using fft::Lines;
using fft::LinesOfDevices;
using fft::Move;
using fft::packed;
using fft::Stage;
using fft::Step;

namespace {

GridOptions boxes(std::vector<Block> blocks) {
  GridOptions options;
  options.boxes = std::move(blocks);
  return options;
}

/// Order of the axes of stage `from` in stage `to`, as a permutation for a transpose.
std::array<int, 3> permutation(Stage from, Stage to) {
  std::array<int, 3> axes{};
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = 0; b < 3; ++b)
      if (Decomposition::axes(from)[a] == Decomposition::axes(to)[b]) axes[a] = static_cast<int>(b);
  return axes;
}

/// Ranges of modes that a transpose between two stages of an FFT sends, along the axes of stage `from`. Truncated modes
/// are not sent: in a forward transform those of stage `from`, in a backward one those of stage `to`.
std::array<std::vector<Transpose::Range>, 3> kept(const Decomposition& cut, Stage from, Stage to) {
  if (from < to) return cut.kept(from);
  std::array<std::vector<Transpose::Range>, 3> ranges;
  const auto there = cut.kept(to);
  const auto axes = permutation(from, to);
  for (std::size_t a = 0; a < 3; ++a) ranges[a] = there[static_cast<std::size_t>(axes[a])];
  return ranges;
}

/// Whether a message takes a route by which a kernel can store results directly into the target.
bool is_straight(const MessageInfo& message) { return traits_of(message.route).stores; }

/// Default number of parts of a transpose whose values are packed into messages: at most 8. Each part has at least 64
/// planes (the edge of a transpose kernel's square) and 64 MB per device.
constexpr std::int64_t most_parts = 8, planes_of_part = 64, bytes_of_part = 64 << 20;

/// Upper bound of the bytes of counters and tables at one end of a message.
constexpr std::int64_t bytes_of_end = 2048;

/// First plane of part `part` of a device's planes; `planes` if part == parts. Parts begin at whole tiles.
std::int64_t plane_of(std::int64_t planes, int part, int parts) {
  if (part == parts) return planes;
  const std::int64_t grain = planes >= parts * planes_of_part ? planes_of_part : 1;
  return planes * part / parts / grain * grain;
}

/// Ranges of planes, one per device, that part number `part` of a transpose sends while other parts are transformed.
std::vector<Transpose::Range> planes_of(const Decomposition& cut, Stage stage, int part, int parts) {
  std::vector<Transpose::Range> ranges;
  for (const Block& block : cut.blocks(stage)) {
    const std::int64_t lo = block.box.lo[2], planes = block.box.extent(2);
    const Transpose::Range range{lo + plane_of(planes, part, parts), lo + plane_of(planes, part + 1, parts)};
    if (range.first < range.second && (ranges.empty() || ranges.back().first < range.first)) ranges.push_back(range);
  }
  return ranges;
}

/// The rank whose messages are listed for a transform; empty: all ranks of a described machine.
using OfRank = std::optional<int>;

/// Lists the messages that move values between devices, from the layout of one stage of the FFT to that of another.
std::vector<MessageInfo> messages_of(const Machine& machine, const Decomposition& cut, const FftOptions& options,
                                     Stage from, Stage to, bool produced, OfRank rank) {
  const Grid source(cut.extent(from), machine, rank.value_or(0), boxes(cut.blocks(from))),
      target(cut.extent(to), machine, rank.value_or(0), boxes(cut.blocks(to)));
  const Transpose pattern(source, target, {permutation(from, to), kept(cut, from, to)});
  const FieldOptions field = packed("modes", cut.complex_type());
  PlannedItem item{&pattern, field, field, false, options.coding};
  item.produced = produced;
  return rank ? plan_own_messages(source, {item}, options.exchange) : plan_messages(source, {item}, options.exchange);
}

/// Whether the inverse FFT of slabs sends values between devices in the axis order y, x, z, by kernels of this library.
/// Complex values are then transformed along x before this transpose, so that computation and communication overlap.
/// Real values are transformed along x after the transpose and read only the received modes.
bool goes_back_permuted(const Machine& machine, const Decomposition& cut, const FftOptions& options, OfRank rank) {
  if (cut.alone() || cut.pencils() || !cut.transposed || (!cut.real && cut.truncates(Stage::physical))) return false;
  if (!fft::stores(options)) return false;
  for (int d = 0; d < machine.devices(); ++d) {
    const Backend backend = machine.device(d).local.backend;
    if (backend == Backend::host && !options.gpu_lines) return false;
    if (!fft::can_store(
            backend, true,
            cut.real ? cut.last({cut.cells[2], 1, 1}, false) : cut.first_two({cut.cells[2], cut.cells[0], 1})) ||
        !fft::can_store(backend, true, cut.permuted({cut.cells[1], cut.cells[0], 1})))
      return false;
  }
  const std::vector<MessageInfo> messages =
      messages_of(machine, cut, options, Stage::spectral, Stage::physical, false, rank);
  return std::all_of(messages.begin(), messages.end(), is_straight);
}

/// Lines that are transformed before a move, in a block of the stage from which the move starts.
fft::LineBatch lines_before(const Decomposition& cut, Stage from, Stage to, const Extent& block) {
  const bool forward = from < to;
  if (forward && from == Stage::physical) return cut.first(block, true);
  if (forward || from == Stage::middle || !cut.transposed) return cut.in_place(block, forward);
  return to == Stage::middle && !cut.pencils() && !cut.real ? cut.first_two(block) : cut.last(block, false);
}

/// Whether FFTs before a transpose may store their results straight into its target, as far as this rank can tell. The
/// routes of all messages and the sizes of the blocks on all devices must allow it.
bool may_store(const Machine& machine, const Decomposition& cut, const FftOptions& options, Stage from, Stage to,
               OfRank rank) {
  if (!fft::stores(options) || from == Stage::natural) return false;
  for (const Block& block : cut.blocks(from))
    if (!fft::can_store(machine.device(block.device).local.backend, options.gpu_lines,
                        lines_before(cut, from, to, block.box.extents())))
      return false;
  const std::vector<MessageInfo> messages = messages_of(machine, cut, options, from, to, true, rank);
  return std::all_of(messages.begin(), messages.end(), is_straight);
}

/// The transposes of an FFT, each as a pair of array distributions (stages): before and after the transpose.
std::vector<std::pair<Stage, Stage>> moves_of(const Machine& machine, const Decomposition& cut,
                                              const FftOptions& options, bool forward) {
  std::vector<Stage> stages = cut.path();
  stages.insert(stages.begin(), Stage::physical);
  if (!forward) std::reverse(stages.begin(), stages.end());
  std::vector<std::pair<Stage, Stage>> moves;
  for (std::size_t n = 0; n + 1 < stages.size(); ++n) moves.emplace_back(stages[n], stages[n + 1]);
  if (!forward && goes_back_permuted(machine, cut, options, {})) moves = {{Stage::spectral, Stage::middle}};
  return moves;
}

/// Finds the data moves (transposes) of an FFT whose results are packed into messages, as far as this rank knows,
/// instead of stored in the target's memory by the FFT. Bit 2 m + 1 is set for move m, bit 2 m for its inverse.
std::uint64_t packed_moves(const Machine& machine, const Decomposition& cut, const FftOptions& options, OfRank rank) {
  std::uint64_t packed = 0;
  int bit = 0;
  for (const auto& [from, to] : moves_of(machine, cut, options, true)) {
    const std::vector<MessageInfo> messages = messages_of(machine, cut, options, from, to, false, rank);
    // Line transforms cannot store results on other nodes. This quick check is first: planning many nodes takes long.
    const bool near = std::all_of(messages.begin(), messages.end(), [&](const MessageInfo& message) {
      return machine.device(message.source).node == machine.device(message.target).node;
    });
    for (const bool forward : {false, true}) {
      const bool stored = near && may_store(machine, cut, options, forward ? from : to, forward ? to : from, rank);
      packed |= std::uint64_t{!stored} << bit++;
    }
  }
  return packed;
}

// Adds memory for messages. If FFT kernels store a transpose at its target, it needs only counters and tables. Else a
// message by the host or a library has a buffer at both ends, and one stored by kernels has two at its target.
void add_messages(const Machine& machine, const Decomposition& cut, const FftOptions& options, std::uint64_t packed,
                  OfRank rank, std::vector<FftMemory>& memory) {
  const auto of = [&](int device) -> FftMemory& { return memory[static_cast<std::size_t>(device)]; };
  int bit = 0;
  for (const auto& [from, to] : moves_of(machine, cut, options, true)) {
    const std::vector<MessageInfo> messages = messages_of(machine, cut, options, from, to, false, rank);
    for (const bool forward : {false, true}) {
      const bool stored = !(packed >> bit++ & 1);
      for (const MessageInfo& message : messages) {
        const int source = forward ? message.source : message.target,
                  target = forward ? message.target : message.source;
        for (const int end : {source, target})
          of(end).messages += cut.lanes * std::max(1, options.parts) * bytes_of_end;
        const RouteTraits traits = traits_of(message.route);
        if (stored || traits.within_device) continue;
        const bool slots = traits.stores;
        if (!slots) of(source).messages += cut.lanes * message.bytes;
        of(target).messages +=
            cut.lanes * (slots ? std::min(2 * message.bytes, options.exchange.knobs.ring) : message.bytes);
      }
    }
  }
}

/// Memory that each device needs for a plan. With `rank`, only messages of its devices are counted.
std::vector<FftMemory> memory_of(const Machine& machine, const Decomposition& cut, const FftOptions& options,
                                 std::uint64_t packed, OfRank rank) {
  std::vector<FftMemory> found(static_cast<std::size_t>(machine.devices()));
  const std::int64_t by_batches = options.device_memory != 0 ? fft::OutOfCore::taken(machine, cut, options) : 0;
  for (int d = 0; d < machine.devices(); ++d) {
    FftMemory& m = found[static_cast<std::size_t>(d)];
    m.physical = cut.word() * (cut.real ? 1 : 2) * cut.volume_on(d, Stage::physical, true);
    m.spectral = 2 * cut.word() * cut.volume_on(d, cut.transposed ? Stage::spectral : Stage::natural);
    if (options.device_memory != 0) {
      m.on_host = true;
      m.work = by_batches;
      continue;
    }
    const auto work = cut.work_bytes(d);
    m.work = cut.lanes * (work[0] + work[1]);
  }
  if (options.device_memory != 0) return found;
  add_messages(machine, cut, options, packed, rank, found);
  for (const Block& block : cut.blocks(Stage::physical))
    found[static_cast<std::size_t>(block.device)].library = static_cast<std::int64_t>(
        fft::workspace_estimate(machine.device(block.device).local.backend, cut.first(block.box.extents(), true)));
  return found;
}

Step copied(Array from, Array to) {
  Step step;
  step.from = from;
  step.to = to;
  return step;
}

}  // namespace

bool fft::stores(const FftOptions& options) {
  return options.store.value_or(true) && options.coding.kind == Coding::Kind::raw;
}

FieldOptions fft::packed(const std::string& name, DType type) {
  FieldOptions options;
  options.name = name;
  options.type = type;
  options.alignment = 1;
  return options;
}

Fft::Impl::Impl(const Communicator& c, const Machine& m, const Extent& cells, FftOptions o)
    : comm(sharing(c)), machine(m), options(std::move(o)), cut(machine, cells, options) {
  devices = machine.devices_of_rank(comm.rank());
  for (const int d : devices) local.push_back(machine.device(d).local);
  std::uint64_t packed_here = 0;
  on_all_ranks(comm, [&] {
    for (const Device device : local)
      if (const std::string why = fft::missing(device.backend); !why.empty())
        throw Error(ErrorCode::unavailable, "Fourier transforms on " + to_string(device) + ": " + why,
                    {{"device", to_string(device)}, {"reason", why}});
    if (options.device_memory == 0) packed_here = packed_moves(machine, cut, options, comm.rank());
  });
  const std::uint64_t packed = comm.any(packed_here);
  on_all_ranks(comm, [&] {
    fft::require_room(machine, devices, cells, options, memory_of(machine, cut, options, packed, comm.rank()));
  });
  tuning.options = options.exchange;
  tuning.source = "rules";
  physical = std::make_unique<Grid>(cells, machine, comm.rank(), boxes(cut.blocks(Stage::physical, true)));
  for (const Stage stage : {Stage::physical, Stage::middle, Stage::spectral, Stage::natural})
    grids[static_cast<std::size_t>(stage)] =
        std::make_unique<Grid>(cut.extent(stage), machine, comm.rank(), boxes(cut.blocks(stage)));
  if (options.device_memory != 0) {
    make_out_of_core();
    for (const Device device : local) in_order.add(device);
    return;
  }
  make_lane();
  if (cut.lanes > 1) make_lane();
  on_all_ranks(comm, [&] {
    share_workspace();
    for (const Device device : local) {
      line_streams.emplace_back(device);
      reached.emplace_back(device);
      in_order.add(device);
    }
  });
}

Fft::Impl::~Impl() {
  in_order.close();
  in_order.wait();
}

std::size_t Fft::Impl::place_of(int device) const {
  return static_cast<std::size_t>(std::find(devices.begin(), devices.end(), device) - devices.begin());
}

void Fft::Impl::make_out_of_core() {
  lanes.emplace_back();
  out_of_core = std::make_unique<fft::OutOfCore>(comm, machine, cut, options);
}

void Fft::Impl::make_lane() {
  Lane& lane = lanes.emplace_back();
  on_all_ranks(comm, [&] { allocate(lane); });
  plan_forward(lane);
  plan_backward(lane);
}

void Fft::Impl::allocate(Lane& lane) const {
  for (const int d : devices) {
    const auto bytes = cut.work_bytes(d);
    auto& pair = lane.work.emplace_back();
    for (std::size_t w = 0; w < 2; ++w)
      pair[w] = Buffer<std::byte>(machine.device(d).local, static_cast<std::size_t>(bytes[w]), Memory::shared);
  }
}

template <class BatchOf>
void Fft::Impl::add_lines(std::vector<Step>& steps, Stage stage, Array from, Array to, const BatchOf& batch) {
  Step step;
  step.from = from;
  step.to = to;
  step.lines = LinesOfDevices(devices.size());
  step.batches.resize(devices.size());
  on_all_ranks(comm, [&] {
    for (const std::int64_t id : grid(stage).local()) {
      const Block& block = grid(stage).block(id);
      const std::size_t i = place_of(block.device);
      step.batches[i] = {batch(block.box.extents()), block.box.extents()};
      step.lines[i] = fft::make_lines(local[i], step.batches[i].lines);
    }
  });
  if (!steps.empty() && steps.back().move && steps.back().move->awaits_lines()) {
    Move& move = *steps.back().move;
    on_all_ranks(comm, [&] { move.is_stored() ? take_permuted(move, step) : take_lines(move, step); });
  } else {
    steps.push_back(std::move(step));
  }
}

// Both lanes (sets of work arrays) make the same transposes, so the second lane reuses the tuning of the first.
ExchangeOptions Fft::Impl::options_of_move(const Lane& lane, const Grid& on, const ExchangeItem& item) {
  if (!options.tune) return options.exchange;
  std::size_t number = 0;
  for (const auto* steps : {&lane.forward, &lane.backward})
    number += static_cast<std::size_t>(std::count_if(
        steps->begin(), steps->end(), [](const Step& step) { return step.move && !step.move->is_stored(); }));
  if (number < tuned.size()) return tuned[number];
  const Tuning found = tune(comm, on, {item}, options.exchange, *options.tune);
  tuned.push_back(found.options);
  if (number == 0) tuning.options = found.options;
  if (found.source == "measured" || tuning.source == "rules") tuning.source = found.source;
  if (!found.file.empty()) tuning.file = found.file;
  tuning.seconds += found.seconds;
  tuning.notes.insert(tuning.notes.end(), found.notes.begin(), found.notes.end());
  return found.options;
}

bool Fft::Impl::lines_store(Stage from, Stage to) const {
  bool here = false;
  on_all_ranks(comm, [&] { here = may_store(machine, cut, options, from, to, comm.rank()); });
  return comm.all(here);
}

void Fft::Impl::add_move(const Lane& lane, std::vector<Step>& steps, Stage from, Stage to, Array source, bool clears,
                         bool whole) {
  const Array target = source == Array::first ? Array::second : Array::first;
  Move move;
  const auto field = [&](Stage stage, Array place, const char* name) {
    std::vector<OwnArray> arrays;
    for (const std::int64_t id : grid(stage).local())
      arrays.push_back({lane.work[place_of(grid(stage).block(id).device)][static_cast<std::size_t>(place)].data()});
    return std::make_unique<Field>(Field::adopt(comm, grid(stage), packed(name, cut.complex_type()), arrays));
  };
  move.source = field(from, source, "modes");
  move.target = field(to, target, "modes permuted");
  const Transpose pattern(grid(from), grid(to), {permutation(from, to), kept(cut, from, to)});
  ExchangeItem item{&pattern, move.source.get(), move.target.get(), false, options.coding};
  // If FFTs store results directly on other devices, messages need a route with direct stores: nothing is to tune.
  const bool stores = lines_store(from, to);
  ExchangeOptions how = stores ? options.exchange : options_of_move(lane, grid(from), item);
  item.produced = stores;
  const int parts = stores ? parts_along_x(from, to) : whole ? 1 : parts_of(std::min(from, to));
  if (parts > 1 && !stores) how.knobs.teams = teams_with_lines();
  make_parts(move, from, to, item, how, parts);
  const bool takes_lines = stores || (parts > 1 && from < to);
  if (stores) move.before = steps.back().from;
  on_all_ranks(comm, [&] {
    if (takes_lines && !stores) take_lines(move, steps.back());
    for (std::size_t n = 0; stores && n < move.parts.size(); ++n)
      for (std::size_t i = 0; i < devices.size(); ++i) {
        const fft::Batch& b = steps.back().batches[i];
        auto& stored = move.parts[n].stored.emplace_back();
        if (!b.lines.count) continue;
        stored = fft::make_stored_lines(local[i], options.gpu_lines, b.lines, b.block);
        stored->prepare(*move.parts[n].exchange);
      }
  });
  if (takes_lines) steps.pop_back();
  move.behind = parts > 1 && from > to;
  if (clears && cut.truncates(to)) move.clears = to;
  Step step;
  step.from = source;
  step.to = target;
  step.move = std::move(move);
  steps.push_back(std::move(step));
}

// With fewer thread blocks, messages take longer than the lines that run at the same time; with more, the lines wait.
// The best number depends on cuFFT's kernels (two H100s, docs/notes/performance.md), and all ranks get the same.
int Fft::Impl::teams_with_lines() const {
  int processors = 0;
  for (const Device device : local)
    if (device.backend != Backend::host) processors = std::max(processors, info(device).processors);
  processors = static_cast<int>(comm.max(processors));
  const bool powers_of_two =
      std::all_of(cut.cells.begin(), cut.cells.end(), [](std::int64_t n) { return (n & (n - 1)) == 0; });
  return powers_of_two && !cut.twice ? processors : 3 * processors / 4;
}

int Fft::Impl::parts_of(Stage stage) const {
  std::int64_t planes = 0, values = 0;
  for (const Block& block : cut.blocks(stage)) {
    planes = std::max(planes, block.box.extent(2));
    values = std::max(values, block.box.volume());
  }
  // A transpose is sent whole if it overlaps another component's transform, or if third-axis modes are truncated. So
  // are planes with an odd number of real values along x: parts would begin at addresses that cuFFT refuses.
  const bool odd = cut.real && stage == Stage::physical && cut.cells[0] % 2 != 0;
  if (cut.lanes > 1 || !cut.kept(stage)[2].empty() || odd) return 1;
  std::int64_t parts = options.parts;
  if (parts == 0) {
    const bool host = std::any_of(local.begin(), local.end(), [](Device d) { return d.backend == Backend::host; });
    if (comm.max(host ? 1 : 0) > 0) return 1;
    parts = std::min({most_parts, planes / planes_of_part, 2 * cut.word() * values / bytes_of_part});
  }
  return static_cast<int>(std::clamp<std::int64_t>(parts, 1, std::max<std::int64_t>(1, planes)));
}

void Fft::Impl::make_parts(Move& move, Stage from, Stage to, const ExchangeItem& item, const ExchangeOptions& how,
                           int parts) {
  const auto axes = permutation(from, to);
  const auto place_of_axis = [&](int axis) {
    return static_cast<std::size_t>(std::find(axes.begin(), axes.end(), axis) - axes.begin());
  };
  for (int n = 0; n < parts; ++n) {
    fft::Part& part = move.parts.emplace_back();
    Transpose::Options cells{axes, kept(cut, from, to)};
    if (parts > 1 && item.produced) {
      cells.kept[place_of_axis(1)] = {modes_of_part(n, parts)};
    } else if (parts > 1) {
      cells.kept[from < to ? 2 : place_of_axis(2)] = planes_of(cut, std::min(from, to), n, parts);
    }
    part.pattern = std::make_unique<Transpose>(grid(from), grid(to), cells);
    ExchangeItem some = item;
    some.pattern = part.pattern.get();
    part.exchange = std::make_unique<Exchange>(comm, grid(from), std::vector{some}, how);
  }
}

void Fft::Impl::take_lines(Move& move, Step& lines) {
  move.lines = {lines.from, lines.to};
  const int parts = static_cast<int>(move.parts.size());
  for (int n = 0; n < parts; ++n) {
    fft::Part& part = move.parts[static_cast<std::size_t>(n)];
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const fft::Batch& all = lines.batches[i];
      part.lines.emplace_back();
      part.begin.push_back({0, 0});
      if (!all.lines.count) continue;
      const std::int64_t planes = all.block[2], lines_of_plane = all.lines.count / planes;
      const std::int64_t first = plane_of(planes, n, parts), behind = plane_of(planes, n + 1, parts);
      if (first == behind) continue;
      fft::LineBatch batch = all.lines;
      batch.count = lines_of_plane * (behind - first);
      part.lines.back() = fft::make_lines(local[i], batch);
      const std::int64_t from = batch.kind == fft::Kind::real_to_complex ? 1 : 2,
                         to = batch.kind == fft::Kind::complex_to_real ? 1 : 2;
      part.begin.back() = {first * lines_of_plane * batch.from.distance * from * cut.word(),
                           first * lines_of_plane * batch.to.distance * to * cut.word()};
    }
  }
}

void Fft::Impl::plan_forward(Lane& lane) {
  std::vector<Step>& forward = lane.forward;
  if (cut.alone()) {
    add_lines(forward, Stage::physical, Array::from, Array::first,
              [&](const Extent& block) { return cut.first(block, true); });
    add_lines(forward, Stage::physical, Array::first, Array::to,
              [&](const Extent&) { return cut.alone_along_z(true); });
    return;
  }
  Array given = Array::from, place = Array::first;
  for (const auto& [from, to] : moves_of(machine, cut, options, true)) {
    add_lines(forward, from, given, place, [&](const Extent& block) { return lines_before(cut, from, to, block); });
    add_move(lane, forward, from, to, place);
    given = place = forward.back().to;
  }
  if (cut.transposed) {
    add_lines(forward, Stage::spectral, place, Array::to, [&](const Extent& block) { return cut.last(block, true); });
  } else {
    forward.push_back(copied(place, Array::to));
  }
}

void Fft::Impl::plan_backward(Lane& lane) {
  std::vector<Step>& backward = lane.backward;
  const auto first = [&](const Extent& block) { return cut.first(block, false); };
  if (cut.alone()) {
    add_lines(backward, Stage::physical, Array::from, Array::first,
              [&](const Extent&) { return cut.alone_along_z(false); });
    add_lines(backward, Stage::physical, Array::first, Array::to, first);
    const fft::LineBatch permuted = cut.alone_permuted();
    const auto reads = [&](Device device) {
      return (device.backend != Backend::host || options.gpu_lines) && fft::radix_holds(device.backend, permuted);
    };
    if (!cut.transposed || std::none_of(local.begin(), local.end(), reads)) return;
    lane.through = LinesOfDevices(devices.size());
    for (std::size_t i = 0; i < devices.size(); ++i)
      if (reads(local[i])) lane.through[i] = fft::make_lines(local[i], permuted);
    return;
  }
  const std::vector<std::pair<Stage, Stage>> moves = moves_of(machine, cut, options, true);
  Array place = moves.size() % 2 ? Array::second : Array::first;
  bool turns_here = false;
  on_all_ranks(comm, [&] { turns_here = goes_back_permuted(machine, cut, options, comm.rank()); });
  if (comm.all(turns_here)) {
    add_lines(backward, Stage::spectral, Array::from, place,
              [&](const Extent& block) { return lines_before(cut, Stage::spectral, Stage::middle, block); });
    add_move(lane, backward, Stage::spectral, Stage::middle, place);
    add_lines(backward, Stage::middle, backward.back().to, cut.real ? place : Array::to,
              [&](const Extent& block) { return cut.permuted(block); });
    if (cut.real)
      add_lines(backward, Stage::physical, place, Array::to,
                [&](const Extent& block) { return cut.back_along_x(block); });
    return;
  }
  Array given = Array::from;
  if (!cut.transposed) backward.push_back(copied(given, place));
  for (auto move = moves.rbegin(); move != moves.rend(); ++move) {
    const auto& [to, from] = *move;
    if (from != Stage::natural)
      add_lines(backward, from, given, place, [&](const Extent& block) { return lines_before(cut, from, to, block); });
    // Line transforms that store their results through the next transpose belong to that step, not to this one.
    const auto next = std::next(move);
    const bool next_stores = next != moves.rend() && lines_store(next->second, next->first);
    add_move(lane, backward, from, to, place, to < from, next_stores);
    given = place = backward.back().to;
  }
  add_lines(backward, Stage::physical, place, Array::to, first);
}

template <class F>
void Fft::Impl::each_lines(std::size_t device, const F& f) {
  for (Lane& lane : lanes)
    for (std::vector<Step>* steps : {&lane.forward, &lane.backward})
      for (Step& step : *steps) {
        if (!step.lines.empty() && step.lines[device]) f(*step.lines[device]);
        if (!step.move) continue;
        for (fft::Part& part : step.move->parts)
          if (!part.lines.empty() && part.lines[device]) f(*part.lines[device]);
      }
}

/// Gives all plans of a device the same workspace, as its stream runs them one after the other.
void Fft::Impl::share_workspace() {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    std::size_t most = 0;
    each_lines(i, [&](Lines& lines) { most = std::max(most, lines.workspace()); });
    workspace.emplace_back(local[i], most);
    each_lines(i, [&](Lines& lines) { lines.use_workspace(workspace[i].data()); });
  }
}

std::vector<MessageInfo> Fft::messages(const Machine& machine, const Extent& cells, const FftOptions& options,
                                       bool forward) {
  const Decomposition cut(machine, cells, options);
  std::vector<MessageInfo> all;
  for (const auto& [from, to] : moves_of(machine, cut, options, forward)) {
    const std::vector<MessageInfo> some = messages_of(machine, cut, options, from, to, false, {});
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::vector<FftMemory> Fft::memory(const Machine& machine, const Extent& cells, const FftOptions& options) {
  const Decomposition cut(machine, cells, options);
  const std::uint64_t packed = options.device_memory == 0 ? packed_moves(machine, cut, options, {}) : 0;
  return memory_of(machine, cut, options, packed, {});
}

}  // namespace slipstream
