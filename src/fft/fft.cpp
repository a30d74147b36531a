#include <slipstream/fft.hpp>

#include <algorithm>
#include <optional>

#include <slipstream/buffer.hpp>
#include <slipstream/transpose.hpp>

#include "fft/decomposition.hpp"
#include "fft/lines.hpp"
#include "fft/scale_kernels.hpp"
#include "machine/agree.hpp"

namespace slipstream {

using fft::Decomposition;
using fft::LineBatch;
using fft::Lines;
using fft::Stage;

namespace {

/// The arrays that a step reads or writes.
enum class Array : std::uint8_t { first, second, from, to };

GridOptions boxes(std::vector<Block> blocks) {
  GridOptions options;
  options.boxes = std::move(blocks);
  return options;
}

FieldOptions packed(const std::string& name, DType type) {
  FieldOptions options;
  options.name = name;
  options.type = type;
  options.alignment = 1;
  return options;
}

/// Where a stage's cells go in another's order of axes.
std::array<int, 3> turn(Stage from, Stage to) {
  std::array<int, 3> axes{};
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = 0; b < 3; ++b)
      if (Decomposition::axes(from)[a] == Decomposition::axes(to)[b]) axes[a] = static_cast<int>(b);
  return axes;
}

/// One entry for each device of the rank, null where it has nothing to do.
using LinesOfDevices = std::vector<std::unique_ptr<Lines>>;

/// Between two transforms: a transpose between the two work arrays.
struct Move {
  bool clears = false;  ///< what does not travel must be zero at the target
  std::unique_ptr<Transpose> pattern;
  std::unique_ptr<Field> source, target;
  std::unique_ptr<Exchange> exchange;
};

struct Step {
  Array from{}, to{};
  LinesOfDevices lines;
  std::optional<Move> move;  // neither: values are copied
};

}  // namespace

struct Fft::Impl {
  Communicator comm;
  Machine machine;
  FftOptions options;
  Decomposition cut;
  std::vector<int> devices;  // of this rank
  std::vector<Device> local;
  std::unique_ptr<Grid> physical;              // of cells
  std::array<std::unique_ptr<Grid>, 4> grids;  // of modes, by stage
  std::vector<std::array<Buffer<std::byte>, 2>> work;
  std::vector<Buffer<std::byte>> workspace;
  std::vector<Step> forward, backward;

  Impl(const Communicator& c, const Machine& m, const Extent& cells, FftOptions o)
      : comm(c), machine(m), options(std::move(o)), cut(machine, cells, options) {
    devices = machine.devices_of_rank(comm.rank());
    for (const int d : devices) local.push_back(machine.device(d).local);
    on_all_ranks(comm, [&] {
      for (const Device device : local)
        if (const std::string why = fft::missing(device.backend); !why.empty())
          throw Error("Fourier transforms on " + to_string(device) + ": " + why);
    });
    physical = std::make_unique<Grid>(cells, machine, comm.rank(), boxes(cut.blocks(Stage::physical, true)));
    for (const Stage stage : {Stage::physical, Stage::middle, Stage::spectral, Stage::natural})
      grids[static_cast<std::size_t>(stage)] =
          std::make_unique<Grid>(cut.extent(stage), machine, comm.rank(), boxes(cut.blocks(stage)));
    on_all_ranks(comm, [&] { allocate(); });
    plan_forward();
    plan_backward();
    on_all_ranks(comm, [&] { share_workspace(); });
  }

  ~Impl() {
    for (const Device device : local) synchronize(device);
  }

  const Grid& grid(Stage stage) const { return *grids[static_cast<std::size_t>(stage)]; }
  Stage last_stage() const { return cut.transposed ? Stage::spectral : Stage::natural; }

  void allocate() {
    for (const int d : devices) {
      const auto bytes = cut.work_bytes(d);
      auto& pair = work.emplace_back();
      for (std::size_t w = 0; w < 2; ++w)
        pair[w] = Buffer<std::byte>(machine.device(d).local, static_cast<std::size_t>(bytes[w]), Memory::shared);
    }
  }

  /// Lines of all devices of this rank, `batch(extent of the block)` each.
  template <class BatchOf>
  void add_lines(std::vector<Step>& steps, Stage stage, Array from, Array to, const BatchOf& batch) {
    Step step{from, to, LinesOfDevices(devices.size()), {}};
    on_all_ranks(comm, [&] {
      for (const std::int64_t id : grid(stage).local()) {
        const Block& block = grid(stage).block(id);
        const std::size_t i = place_of(block.device);
        step.lines[i] = fft::make_lines(local[i], batch(block.box.extents()));
      }
    });
    steps.push_back(std::move(step));
  }

  void add_move(std::vector<Step>& steps, Stage from, Stage to, Array source) {
    const Array target = source == Array::first ? Array::second : Array::first;
    Move move;
    const auto field = [&](Stage stage, Array place, const char* name) {
      std::vector<OwnArray> arrays;
      for (const std::int64_t id : grid(stage).local())
        arrays.push_back({work[place_of(grid(stage).block(id).device)][static_cast<std::size_t>(place)].data()});
      return std::make_unique<Field>(Field::adopt(comm, grid(stage), packed(name, cut.complex_type()), arrays));
    };
    move.source = field(from, source, "modes");
    move.target = field(to, target, "modes turned");
    move.pattern =
        std::make_unique<Transpose>(grid(from), grid(to), Transpose::Options{turn(from, to), kept(from, to)});
    move.exchange = std::make_unique<Exchange>(
        comm, grid(from), std::vector<ExchangeItem>{{move.pattern.get(), move.source.get(), move.target.get()}},
        options.exchange);
    move.clears = to < from && cut.truncates(to);
    steps.push_back({source, target, {}, std::move(move)});
  }

  /// Along the axes of the stage that values come from. A move towards the spectrum takes the modes that are used of
  /// its source; one away from it brings those of its target.
  std::array<std::vector<Transpose::Range>, 3> kept(Stage from, Stage to) const {
    if (from < to) return cut.kept(from);
    std::array<std::vector<Transpose::Range>, 3> ranges;
    const auto there = cut.kept(to);
    const auto axes = turn(from, to);
    for (std::size_t a = 0; a < 3; ++a) ranges[a] = there[static_cast<std::size_t>(axes[a])];
    return ranges;
  }

  void plan_forward() {
    const auto first = [&](const Extent& block) { return cut.first(block, true); };
    if (cut.alone()) {
      const Array half = cut.transposed ? Array::first : Array::to;
      add_lines(forward, Stage::physical, Array::from, half, first);
      add_lines(forward, Stage::physical, half, Array::to, [&](const Extent&) { return cut.alone_along_z(true); });
      return;
    }
    add_lines(forward, Stage::physical, Array::from, Array::first, first);
    Stage now = Stage::physical;
    Array place = Array::first;
    for (const Stage next : cut.path()) {
      add_move(forward, now, next, place);
      place = forward.back().to;
      now = next;
      if (next == Stage::spectral && cut.transposed) {
        add_lines(forward, next, place, Array::to, [&](const Extent& block) { return cut.last(block, true); });
      } else if (next != Stage::natural) {
        add_lines(forward, next, place, place, [&](const Extent& block) { return cut.in_place(block, true); });
      }
    }
    if (!cut.transposed) forward.push_back({place, Array::to, {}, {}});
  }

  void plan_backward() {
    const auto first = [&](const Extent& block) { return cut.first(block, false); };
    if (cut.alone()) {
      add_lines(backward, Stage::physical, Array::from, Array::first,
                [&](const Extent&) { return cut.alone_along_z(false); });
      add_lines(backward, Stage::physical, Array::first, Array::to, first);
      return;
    }
    std::vector<Stage> path = cut.path();
    Array place = path.size() % 2 ? Array::second : Array::first;
    if (cut.transposed) {
      add_lines(backward, Stage::spectral, Array::from, place,
                [&](const Extent& block) { return cut.last(block, false); });
    } else {
      backward.push_back({Array::from, place, {}, {}});
    }
    path.insert(path.begin(), Stage::physical);
    for (std::size_t i = path.size() - 1; i > 0; --i) {
      add_move(backward, path[i], path[i - 1], place);
      place = backward.back().to;
      if (path[i - 1] != Stage::physical)
        add_lines(backward, path[i - 1], place, place, [&](const Extent& block) { return cut.in_place(block, false); });
    }
    add_lines(backward, Stage::physical, place, Array::to, first);
  }

  /// All plans of a device work in the same memory, one after the other.
  void share_workspace() {
    for (std::size_t i = 0; i < devices.size(); ++i) {
      std::size_t most = 0;
      each_lines(i, [&](Lines& lines) { most = std::max(most, lines.workspace()); });
      workspace.emplace_back(local[i], most);
      each_lines(i, [&](Lines& lines) { lines.use_workspace(workspace[i].data()); });
    }
  }

  template <class F>
  void each_lines(std::size_t device, const F& f) {
    for (std::vector<Step>* steps : {&forward, &backward})
      for (Step& step : *steps)
        if (!step.lines.empty() && step.lines[device]) f(*step.lines[device]);
  }

  std::size_t place_of(int device) const {
    return static_cast<std::size_t>(std::find(devices.begin(), devices.end(), device) - devices.begin());
  }

  /// Arrays by the devices of this rank, null where one has no block.
  template <class Pointer>
  std::vector<Pointer> by_device(const Grid& of, const std::vector<Pointer>& arrays, const char* what) const {
    require(arrays.size() == of.local().size(),
            std::string("a Fourier transform was given ") + std::to_string(arrays.size()) + " arrays of the " + what +
                " grid, which has " + std::to_string(of.local().size()) + " blocks on this rank: give one for each");
    std::vector<Pointer> found(devices.size(), nullptr);
    for (std::size_t n = 0; n < arrays.size(); ++n) {
      require(arrays[n] != nullptr, "a Fourier transform was given an array without an address");
      found[place_of(of.block(of.local()[n]).device)] = arrays[n];
    }
    return found;
  }

  void run(std::vector<Step>& steps, const std::vector<const void*>& from, const std::vector<void*>& to,
           std::vector<Stream>& streams) {
    require(streams.size() == devices.size(), "a Fourier transform was given " + std::to_string(streams.size()) +
                                                  " streams for the " + std::to_string(devices.size()) +
                                                  " devices of this rank: give one for each");
    for (Step& step : steps) {
      if (step.move) {
        if (step.move->clears) clear(step.to, streams);
        step.move->exchange->run(streams);
        continue;
      }
      for (std::size_t i = 0; i < devices.size(); ++i) {
        const auto array = [&](Array place) -> const void* {
          if (place == Array::from) return from[i];
          if (place == Array::to) return to[i];
          return work[i][static_cast<std::size_t>(place)].data();
        };
        void* const target = const_cast<void*>(array(step.to));  // none of them is what the caller gave to be read
        if (!step.lines.empty()) {
          if (step.lines[i]) step.lines[i]->run(streams[i], array(step.from), target);
        } else if (const std::int64_t values = cut.volume_on(devices[i], last_stage())) {
          copy(streams[i], target, array(step.from), static_cast<std::size_t>(2 * cut.word() * values));
        }
      }
    }
  }

  void clear(Array array, std::vector<Stream>& streams) const {
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const Buffer<std::byte>& buffer = work[i][static_cast<std::size_t>(array)];
      if (buffer.bytes()) fill(streams[i], buffer.data(), 0, buffer.bytes());
    }
  }

  void scale(const std::vector<void*>& arrays, std::vector<Stream>& streams) const {
    const double factor = 1 / static_cast<double>(volume(cut.cells));
    for (std::size_t i = 0; i < devices.size(); ++i)
      if (const std::int64_t cells = cut.volume_on(devices[i], Stage::physical, true))
        fft::scale(streams[i], arrays[i], cut.real ? cells : 2 * cells, cut.twice, factor);
  }

  /// The arrays of one component of a field.
  std::vector<void*> arrays_of(const Field& field, const Grid& on, DType type, int component) const {
    const std::string name = "field " + field.options().name;
    require(field.options().type == type, name + " holds " + to_string(field.options().type) + ", the transform " +
                                              to_string(type) + " on this side");
    require(field.grid().extent() == on.extent() && field.grid().local().size() == on.local().size(),
            name + " does not lie on the transform's grid: make it on physical() or spectral()");
    std::vector<void*> arrays;
    for (const std::int64_t id : on.local()) {
      const BlockShape& shape = field.shape(id);
      require(field.grid().block(id).box == on.block(id).box &&
                  field.device(id) == machine.device(on.block(id).device).local,
              name + " does not lie on the transform's grid: make it on physical() or spectral()");
      require(shape.ghost == Extent{0, 0, 0} && shape.stride[0] == 1 && shape.stride[1] == shape.extent[0] &&
                  shape.stride[2] == shape.extent[0] * shape.extent[1],
              name + " has ghosts or gaps between rows: make it with physical_field() or spectral_field()");
      arrays.push_back(field.data(id) +
                       static_cast<std::int64_t>(size_of(type)) * (shape.origin + component * shape.component_stride));
    }
    return arrays;
  }
};

namespace {

void require_components(const Field& from, const Field& to) {
  require(from.options().components == to.options().components,
          "fields " + from.options().name + " and " + to.options().name + " of a Fourier transform have " +
              std::to_string(from.options().components) + " and " + std::to_string(to.options().components) +
              " components: give both the same");
}

}  // namespace

Fft::Fft(const Communicator& comm, const Machine& machine, const Extent& cells, FftOptions options)
    : impl_(std::make_unique<Impl>(comm, machine, cells, std::move(options))) {}
Fft::~Fft() = default;
Fft::Fft(Fft&&) noexcept = default;

const Extent& Fft::cells() const { return impl_->cut.cells; }
const std::array<int, 2>& Fft::process_grid() const { return impl_->cut.process; }
const Grid& Fft::physical() const { return *impl_->physical; }
const Grid& Fft::spectral() const { return impl_->grid(impl_->last_stage()); }
const std::array<int, 3>& Fft::spectral_axes() const { return Decomposition::axes(impl_->last_stage()); }
FieldOptions Fft::physical_field(const std::string& name) const { return packed(name, impl_->options.type); }
FieldOptions Fft::spectral_field(const std::string& name) const { return packed(name, impl_->cut.complex_type()); }

void Fft::forward(const std::vector<const void*>& from, const std::vector<void*>& to, std::vector<Stream>& streams) {
  const auto source = impl_->by_device(physical(), from, "physical");
  impl_->run(impl_->forward, source, impl_->by_device(spectral(), to, "spectral"), streams);
}

void Fft::backward(const std::vector<const void*>& from, const std::vector<void*>& to, std::vector<Stream>& streams) {
  const auto source = impl_->by_device(spectral(), from, "spectral");
  const auto into = impl_->by_device(physical(), to, "physical");
  impl_->run(impl_->backward, source, into, streams);
  if (impl_->options.scaled) impl_->scale(into, streams);
}

void Fft::forward(const Field& from, Field& to, std::vector<Stream>& streams) {
  require_components(from, to);
  for (int c = 0; c < from.options().components; ++c) {
    const auto source = impl_->arrays_of(from, physical(), impl_->options.type, c);
    forward({source.begin(), source.end()}, impl_->arrays_of(to, spectral(), impl_->cut.complex_type(), c), streams);
  }
}

void Fft::backward(const Field& from, Field& to, std::vector<Stream>& streams) {
  require_components(from, to);
  for (int c = 0; c < from.options().components; ++c) {
    const auto source = impl_->arrays_of(from, spectral(), impl_->cut.complex_type(), c);
    backward({source.begin(), source.end()}, impl_->arrays_of(to, physical(), impl_->options.type, c), streams);
  }
}

void Fft::check() {
  for (std::vector<Step>* steps : {&impl_->forward, &impl_->backward})
    for (Step& step : *steps)
      if (step.move) step.move->exchange->check();
}

bool Fft::capturable() const {
  const auto may = [](const Step& step) { return !step.move || step.move->exchange->capturable(); };
  return std::all_of(impl_->forward.begin(), impl_->forward.end(), may) &&
         std::all_of(impl_->backward.begin(), impl_->backward.end(), may);
}

std::int64_t Fft::bytes_on(Device device) const {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < impl_->local.size(); ++i)
    if (impl_->local[i] == device)
      bytes += static_cast<std::int64_t>(impl_->work[i][0].bytes() + impl_->work[i][1].bytes() +
                                         impl_->workspace[i].bytes());
  for (const std::vector<Step>* steps : {&impl_->forward, &impl_->backward})
    for (const Step& step : *steps)
      if (step.move) bytes += step.move->exchange->bytes_on(device);
  return bytes;
}

std::vector<MessageInfo> Fft::messages() const {
  std::vector<MessageInfo> all;
  for (const Step& step : impl_->forward)
    if (step.move) {
      const std::vector<MessageInfo>& some = step.move->exchange->messages();
      all.insert(all.end(), some.begin(), some.end());
    }
  return all;
}

// What is in flight is at most twice what leaves and reaches a device, for the ring and for packed values; forward and
// backward moves have slots of their own.
std::vector<FftMemory> Fft::memory(const Machine& machine, const Extent& cells, const FftOptions& options) {
  const Decomposition cut(machine, cells, options);
  const Stage last = cut.transposed ? Stage::spectral : Stage::natural;
  std::vector<FftMemory> found;
  for (int d = 0; d < machine.devices(); ++d) {
    FftMemory& m = found.emplace_back();
    m.physical = cut.word() * (cut.real ? 1 : 2) * cut.volume_on(d, Stage::physical, true);
    m.spectral = 2 * cut.word() * cut.volume_on(d, last);
    const auto work = cut.work_bytes(d);
    m.work = work[0] + work[1];
    Stage now = Stage::physical;
    for (const Stage next : cut.path()) {
      m.messages += 2 * 2 * cut.word() * (cut.volume_on(d, now) + cut.volume_on(d, next)) + (1 << 20);
      now = next;
    }
    for (const Block& block : cut.blocks(Stage::physical))
      if (block.device == d)
        m.library = static_cast<std::int64_t>(
            fft::workspace_estimate(machine.device(d).local.backend, cut.first(block.box.extents(), true)));
  }
  return found;
}

}  // namespace slipstream
