#include <slipstream/lbm.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "device/upload.hpp"
#include "exchange/tuner_cache.hpp"
#include "solver/lbm/fields.hpp"
#include "solver/lbm/kernels.hpp"
#include "solver/lbm/links.hpp"
#include "solver/lbm/packed_halo.hpp"
#include "solver/lbm/split_tuner.hpp"
#include "solver/lbm/stored_cells.hpp"

namespace slipstream::lbm {

const Kernels& kernels(Lattice lattice, DType precision) {
  using Get = const Kernels& (*)();
  constexpr Get all[3][3] = {{kernels_d2q9_f16, kernels_d2q9_f32, kernels_d2q9_f64},
                             {kernels_d3q19_f16, kernels_d3q19_f32, kernels_d3q19_f64},
                             {kernels_d3q27_f16, kernels_d3q27_f32, kernels_d3q27_f64}};
  const int format = precision == DType::f16 ? 0 : precision == DType::f32 ? 1 : 2;
  return all[static_cast<int>(lattice)][format]();
}

namespace {

GridOptions with_periodic(GridOptions grid, const std::array<bool, 3>& periodic) {
  grid.periodic = periodic;
  return grid;
}

/// Links on a device.
struct LinkBuffers {
  LinkBuffers() = default;
  LinkBuffers(Device device, const LinkLists& lists)
      : added(upload(device, lists.added)),
        half_way(upload(device, lists.half_way)),
        weighted(upload(device, lists.weighted)),
        pressure(upload(device, lists.pressure)),
        convective(upload(device, lists.convective)) {}
  LinkSpans spans() const {
    return {{added.data(), added.size()},
            {half_way.data(), half_way.size()},
            {weighted.data(), weighted.size()},
            {pressure.data(), pressure.size()},
            {convective.data(), convective.size()}};
  }
  Buffer<Link> added;
  Buffer<Link> half_way;
  Buffer<WeightedLink> weighted;
  Buffer<PressureCell> pressure;
  Buffer<ConvectiveLink> convective;
};

/// A block's links, on its device, and how it is split around the exchange.
struct BlockWork {
  std::int64_t id = 0;
  std::size_t device = 0;  // among this rank's
  Box cells;               // local
  InteriorAndRim split;
  LinkBuffers local, exchanged;
  std::map<int, Buffer<LoadLink>> loads;  // by bearer
  Kept kept = Kept::all;
  Numbering numbering;  // its words are those below
  Buffer<CellWord> words;
  Buffer<std::uint32_t> fluid;  // of a packed block: cells of the interior, then of the rim
  std::size_t interior_cells = 0;
  bool has_solids = false;
  std::int64_t fluid_cells = 0;
};

/// What a convective side remembers, on blocks of its own beside those of the flow.
struct Outlet {
  Outlet(const Grid& flow, const Options& options, const GridOptions& blocks)
      : grid(flow.extent(), flow.machine(), flow.rank(), blocks), field(grid, outlet_field(options)) {}
  /// Nothing where no side is convective.
  static std::unique_ptr<Outlet> make(const Grid& flow, const Options& options) {
    GridOptions blocks;
    blocks.covered = false;
    for (Block block : flow.blocks()) {
      block.box = beside_outlet(flow, options, block.box);
      if (!block.box.empty()) blocks.boxes.push_back(block);
    }
    return blocks.boxes.empty() ? nullptr : std::make_unique<Outlet>(flow, options, blocks);
  }
  Grid grid;
  Field field;
};

/// What one block adds to a sum.
struct Partial {
  std::int64_t block = 0, quantity = 0;
  std::array<double, 6> values{};
};

/// Those of all ranks by block, so that the bits of their sum do not depend on who holds what.
std::vector<Partial> by_block(const Communicator& comm, const std::vector<Partial>& mine) {
  std::vector<Partial> all;
  const std::string bytes(reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(Partial));
  for (const std::string& text : comm.all_gather(bytes)) {
    const std::size_t before = all.size();
    all.resize(before + text.size() / sizeof(Partial));
    std::memcpy(all.data() + before, text.data(), text.size());
  }
  std::sort(all.begin(), all.end(), [](const Partial& a, const Partial& b) {
    return std::pair(a.block, a.quantity) < std::pair(b.block, b.quantity);
  });
  return all;
}

}  // namespace

struct Lbm::Impl {
  Impl(const Communicator& comm, const Machine& machine, Options wanted, Surfaces bodies)
      : comm(comm),
        options((lbm::check(wanted), std::move(wanted))),
        surfaces(std::move(bodies)),
        grid(options.cells, machine, comm.rank(),
             balanced(comm, machine, options.cells, with_periodic(options.grid, options.periodic), surfaces)),
        model(model_of(options)),
        kernel(kernels(options.lattice, options.precision)),
        flags(grid, flag_field(grid, options)),
        outlet(Outlet::make(grid, options)) {
    for (const int device : machine.devices_of_rank(comm.rank())) devices.push_back(machine.device(device).local);
    state.fields["flags"] = &flags;
    state.fixed.insert("flags");
    if (outlet) state.fields["outlet"] = &outlet->field;
    state.arrange["populations"] = [this] { rearrange(true); };
    for (const char* name : {"velocity", "density"})
      state.made_when_asked[name] = [this] {
        if (!velocity) make_macroscopic();
      };
    make_populations();
    make_blocks();
    if (model.forced()) start();
    forget_bodies();
    Stage stage;
    stage.name = "step";
    stage.exchange = &exchange();
    stage.prepare = [this](Stream& stream, std::size_t device) { bounce(stream, device, &BlockWork::local); };
    stage.compute = [this](Stream& stream, std::size_t device, Part part) { compute(stream, device, part); };
    stages.push_back(std::move(stage));
  }

  /// The arrays and what exchanges them, once it is known how the cells are kept.
  void make_populations() {
    exchanges.clear();
    populations.reset();
    whole.reset();
    keeping = std::make_shared<Keeping>(grid, options, surfaces);
    FieldOptions field = population_field(grid, options, comm.size() > 1);
    if (const auto packed = keeping->packed(comm)) {
      whole.emplace(grid, whole_field(grid, options));
      field.packed = packed;
    }
    populations.emplace(grid, field);
    patterns = population_patterns(grid, options);
    if (field.packed)
      for (auto& pattern : patterns) pattern = std::make_unique<PackedHalo>(std::move(pattern), keeping, field);
    tuning = {};
    tuning.options = options.exchange;
    tuning.source = "rules";
    if (options.tune)
      tuning = tune(comm, grid, {{patterns.front().get(), &*populations}}, options.exchange, *options.tune);
    for (const auto& pattern : patterns)
      exchanges.push_back(std::make_unique<Exchange>(
          comm, grid, std::vector{ExchangeItem{pattern.get(), &*populations}}, tuning.options));
    state.fields["populations"] = whole ? &*whole : &*populations;
    keeping->settle();
  }

  void make_blocks() {
    blocks.clear();
    for (const std::int64_t id : grid.local()) {
      const Block& block = grid.block(id);
      BlockWork work;
      work.id = id;
      const Device device = populations->device(id);
      work.device = std::find(devices.begin(), devices.end(), device) - devices.begin();
      work.cells = {{0, 0, 0}, block.box.extents()};
      work.split = split_rim(work.cells, margins(block));
      const Surroundings s = surroundings_of(grid, block, options, flags.options().ghost, surfaces);
      flags_of(id, s.around, s.flags);
      work.fluid_cells = 0;
      for_each_cell(block.box, [&](const Extent& p) { work.fluid_cells += s.flags[index_in(s.around, p)] == fluid; });
      work.has_solids = work.fluid_cells < block.box.volume();
      const Links links = make_links(grid, block, options, s);
      work.local = LinkBuffers(device, links.local);
      work.exchanged = LinkBuffers(device, links.exchanged);
      for (const auto& [bearer, list] : links.loads) work.loads.emplace(bearer, upload(device, list));
      work.kept = keeping->of(id);
      if (work.kept == Kept::packed) list_cells(work, s);
      blocks.push_back(std::move(work));
    }
  }

  void list_cells(BlockWork& work, const Surroundings& s) {
    const StoredCells& stored = keeping->stored(work.id);
    const Device device = devices[work.device];
    const Box& cells = grid.block(work.id).box;
    work.words = upload(device, stored.words());
    work.numbering = stored.numbering();
    work.numbering.words = work.words.data();
    auto listed = fluid_cells_of(cells, {work.split.interior}, s);
    work.interior_cells = listed.size();
    const auto rim = fluid_cells_of(cells, work.split.rim, s);
    listed.insert(listed.end(), rim.begin(), rim.end());
    work.fluid = upload(device, listed);
  }

  void set(Surfaces bodies) {
    require(state.step == 0, "bodies and solid cells are set before the first step");
    surfaces = std::move(bodies);
    if (options.solids != Solids::dense) {
      make_populations();
      make_blocks();
      if (model.forced()) start();
    } else {
      make_blocks();
    }
    ++serial;
    forget_bodies();
    macroscopic_step.first = -1;
  }

  /// What the blocks were made of may go.
  void forget_bodies() {
    surfaces.solid = {};
    surfaces.cuts = {};
  }

  bool in_place() const { return options.streaming == Streaming::in_place; }
  /// The form that the step to come reads, unless the populations lie as others see them.
  Form form() const {
    if (!in_place()) return Form::apart;
    return state.step % 2 == 0 ? Form::shared : Form::turned;
  }
  /// The exchange before the step to come.
  Exchange& exchange() const { return *exchanges[static_cast<std::size_t>(state.step) % exchanges.size()]; }
  /// The one that the step to come does; none where exchanges are left out.
  Exchange* due() const { return left_out ? nullptr : &exchange(); }

  /// Brings the populations into the form of two arrays of boxes with solid cells at rest, or back.
  void rearrange(bool to_apart) {
    if (apart == to_apart) return;
    if (whole && to_apart) whole->make_arrays();
    for (const BlockWork& work : blocks) {
      Stream stream(devices[work.device]);
      const BlockArrays own = own_arrays(work);
      if (whole) {
        to_apart ? kernel.transcribe(stream, own, whole_arrays(work))
                 : kernel.transcribe(stream, whole_arrays(work), own);
      } else {
        rearrange_in_place(stream, work, own, to_apart);
      }
      stream.synchronize();
    }
    if (whole && !to_apart) whole->drop_arrays();
    apart = to_apart;
  }

  void rearrange_in_place(Stream& stream, const BlockWork& work, BlockArrays block, bool to_apart) {
    const Form own = block.form;
    if (in_place()) {
      Buffer<std::byte> spare(stream.device(),
                              static_cast<std::size_t>(spare_bytes(work.cells.extents(), options.precision)));
      block.form = to_apart ? own : Form::apart;
      kernel.rearrange(stream, block, to_apart ? Form::apart : own, spare.data());
      stream.synchronize();
    }
    block.form = Form::apart;
    if (to_apart && work.has_solids && block.leave_solids) kernel.rest_solids(stream, block);
  }

  void begin_steps() {
    rearrange(false);
    stages.front().exchange = due();
  }

  /// New arrays hold zeros, which is rest where no force acts.
  void start() {
    for (const BlockWork& work : blocks) {
      Stream stream(devices[work.device]);
      kernel.start(stream, work.cells, arrays(work), model);
      stream.synchronize();
    }
  }

  /// Slab by slab, so that little memory is needed.
  void start_from(const BlockWork& work, const FlowOfBox& flow) {
    const Extent& low = grid.block(work.id).box.lo;
    const std::int64_t planes = std::max<std::int64_t>(1, (1 << 20) / (work.cells.extent(0) * work.cells.extent(1)));
    for (std::int64_t z = 0; z < work.cells.hi[2]; z += planes) {
      Box slab = work.cells;
      slab.lo[2] = z;
      slab.hi[2] = std::min(z + planes, work.cells.hi[2]);
      Box around = shifted(grown(slab, {1, 1, grid.dimensions() == 3 ? 1 : 0}), low);
      for (int a = 0; a < 3; ++a) {
        if (grid.periodic()[a]) continue;
        around.lo[a] = std::max<std::int64_t>(around.lo[a], 0);
        around.hi[a] = std::min(around.hi[a], grid.extent()[a]);
      }
      const auto values = flow(around);
      require(static_cast<std::int64_t>(values.size()) == around.volume(),
              "a flow to start from has " + std::to_string(values.size()) + " values for a box of " +
                  std::to_string(around.volume()) + " cells");
      const auto there = upload(devices[work.device], values);
      Stream stream(devices[work.device]);
      kernel.start_from(stream, slab, arrays(work), model,
                        {there.data()->data(), shifted(around, {-low[0], -low[1], -low[2]})});
      stream.synchronize();
    }
  }

  /// Layers that wait for the exchange whatever the options say. In place, an outlet or a cut that waits for it reads
  /// what its cell sent inwards, which the cell behind must not have replaced yet.
  std::int64_t least_rim() const { return in_place() && (surfaces.cuts || !options.boundaries.empty()) ? 2 : 1; }

  std::int64_t usual_rim(int axis) const {
    if (axis != 0 || options.layout != Layout::soa || devices.front().backend == Backend::host) return 1;
    return 32 / static_cast<std::int64_t>(size_of(options.precision));
  }

  /// Rim layers where the halo brings values from another block (or this one, periodic).
  Margins margins(const Block& block) const {
    Margins m;
    for (int a = 0; a < 3; ++a) {
      if (populations->options().ghost[a] == 0) continue;
      const std::int64_t width = std::max(least_rim(), options.rim[a] > 0 ? options.rim[a] : usual_rim(a));
      if (grid.periodic()[a] || block.box.lo[a] > 0) m.low[a] = width;
      if (grid.periodic()[a] || block.box.hi[a] < grid.extent()[a]) m.high[a] = width;
    }
    return m;
  }

  void flags_of(std::int64_t id, const Box& around, const std::vector<std::uint8_t>& values) {
    const BlockShape& shape = flags.shape(id);
    Buffer<std::uint8_t> host(flags.device(id), shape.elements, Memory::pinned);
    std::fill_n(host.data(), host.size(), fluid);
    std::size_t n = 0;
    const Extent& g = flags.options().ghost;
    for (std::int64_t z = 0; z < around.extent(2); ++z)
      for (std::int64_t y = 0; y < around.extent(1); ++y)
        for (std::int64_t x = 0; x < around.extent(0); ++x)
          host.data()[shape.origin + (x - g[0]) * shape.stride[0] + (y - g[1]) * shape.stride[1] +
                      (z - g[2]) * shape.stride[2]] = values[n++];
    Stream stream(flags.device(id));
    copy(stream, flags.data(id), host.data(), host.bytes());
    stream.synchronize();
  }

  Place place(const Field& field, std::int64_t block, int copy = 0) const {
    const BlockShape& shape = field.shape(block);
    return {field.data(block, copy) + shape.origin * static_cast<std::int64_t>(size_of(field.options().type)), shape,
            field.options().type};
  }

  const BlockWork& work(std::int64_t block) const {
    return *std::find_if(blocks.begin(), blocks.end(), [&](const BlockWork& work) { return work.id == block; });
  }

  /// As kernels find the populations now.
  BlockArrays arrays(const BlockWork& work) const {
    if (!apart) return own_arrays(work);
    if (whole) return whole_arrays(work);
    BlockArrays a = own_arrays(work);
    a.form = Form::apart;
    return a;
  }

  BlockArrays own_arrays(const BlockWork& work) const {
    BlockArrays a = other_arrays(work);
    a.populations = place(*populations, work.id, 0);
    a.populations_out = place(*populations, work.id, in_place() ? 0 : 1);
    a.form = form();
    a.numbering = work.numbering;
    return a;
  }

  BlockArrays whole_arrays(const BlockWork& work) const {
    BlockArrays a = other_arrays(work);
    a.populations = place(*whole, work.id);
    return a;
  }

  /// All but the populations.
  BlockArrays other_arrays(const BlockWork& work) const {
    BlockArrays a;
    a.flags = place(flags, work.id);
    if (velocity) a.velocity = place(*velocity, work.id);
    if (density) a.density = place(*density, work.id);
    if (outlet) a.outlet = outlet_arrays(grid.block(work.id).box);
    const auto wrapped = wrapped_axes(grid, options);
    for (int axis = 0; axis < 3; ++axis)
      if (wrapped[axis]) a.wrap.extent[axis] = static_cast<int>(work.cells.extent(axis));
    a.has_solids = work.has_solids;
    a.leave_solids = work.kept == Kept::fluid;
    a.flags_by_word = options.flags_by_word;
    return a;
  }

  /// Of a block of the flow; null where it does not lie along the side.
  OutletArrays outlet_arrays(const Box& block) const {
    const Box beside = beside_outlet(grid, options, block);
    if (beside.empty()) return {};
    const std::int64_t id = outlet->grid.overlapping(beside).front();
    return {place(outlet->field, id, 0), place(outlet->field, id, 1), convective_side(options) / 2, state.step == 0};
  }

  void bounce(Stream& stream, std::size_t device, LinkBuffers BlockWork::*links) {
    for (const BlockWork& work : blocks)
      if (work.device == device) kernel.apply_links(stream, (work.*links).spans(), arrays(work), model);
  }

  void collide(Stream& stream, const BlockWork& work, const Box& box) {
    if (!box.empty()) kernel.stream_collide(stream, box, arrays(work), options.layout, model);
  }

  void collide_listed(Stream& stream, const BlockWork& work, Part part) {
    BlockArrays block = arrays(work);
    const std::size_t first = part == Part::rim ? work.interior_cells : 0,
                      last = part == Part::interior ? work.interior_cells : work.fluid.size();
    block.cells = {work.fluid.data() + first, last - first};
    kernel.stream_collide(stream, work.cells, block, options.layout, model);
  }

  void compute(Stream& stream, std::size_t device, Part part) {
    if (part != Part::interior) bounce(stream, device, &BlockWork::exchanged);
    for (const BlockWork& work : blocks) {
      if (work.device != device) continue;
      if (work.kept == Kept::packed) {
        collide_listed(stream, work, part);
        continue;
      }
      if (part == Part::all) collide(stream, work, work.cells);
      if (part == Part::interior) collide(stream, work, work.split.interior);
      if (part == Part::rim)
        for (const Box& slab : work.split.rim) collide(stream, work, slab);
    }
  }

  // How steps are split -------------------------------------------------------------------------------------------

  void take(const Split& chosen) {
    options.overlap = chosen.overlap ? Overlap::on : Overlap::off;
    options.rim = chosen.rim;
    // Packed blocks keep the lists that they have.
    for (BlockWork& work : blocks)
      if (work.fluid.size() == 0) work.split = split_rim(work.cells, margins(grid.block(work.id)));
  }

  /// Everything that the time of a step depends on.
  std::string split_key() const {
    const std::string step = " | " + to_string(options.lattice) + ' ' + to_string(options.collision) + ' ' +
                             to_string(options.streaming) + (model.plain() ? "" : " model") + " walls " +
                             std::to_string(options.walls.size()) + " sides " +
                             std::to_string(options.boundaries.size()) + " overlap " +
                             std::to_string(static_cast<int>(options.overlap)) + (options.tune ? " tuned" : "");
    return tuner_key(grid, {{patterns.front().get(), populations->options()}}, options.exchange) + step;
  }

  /// Measures how to split the step, on steps of a fluid that is put to rest again.
  void tune_rim(Lbm& owner) {
    const Split asked{options.overlap == Overlap::on, options.rim, "options", {}, 0, {}};
    Extent smallest = grid.extent();
    for (const Block& block : grid.blocks())
      for (int a = 0; a < 3; ++a) smallest[a] = std::min(smallest[a], block.box.extent(a));
    std::array<bool, 3> cut{};
    for (int a = 0; a < 3; ++a)
      cut[a] = populations->options().ghost[a] > 0 && (grid.periodic()[a] || smallest[a] < grid.extent()[a]);
    if (options.exchange.trace) {
      split.notes.push_back("the rim is not measured while a trace is recorded: it would be full of that");
      return;
    }
    const bool messages = comm.max(static_cast<double>(exchange().messages().size())) > 0;
    const TuneOptions how = options.tune.value_or(TuneOptions{});
    const Overlap wanted = options.overlap;
    const std::string key = split_key();
    bool ran = false;
    split = tune_split(comm, key, messages ? split_candidates(wanted, smallest, cut) : std::vector{asked}, how,
                       [&](const Split& candidate) {
                         ran = true;
                         take(candidate);
                         TimeLoop steps(owner, options.overlap);
                         return seconds_a_step(comm, how, [&](std::int64_t n) { steps.run(n); });
                       });
    if (messages) take(split);
    if (ran) rest();
  }

  /// As it was before the first step.
  void rest() {
    comm.barrier();
    for (const BlockWork& work : blocks) {
      Stream stream(devices[work.device]);
      const auto bytes = populations->shape(work.id).elements * static_cast<std::int64_t>(size_of(options.precision));
      for (int copy = 0; copy < populations->options().copies; ++copy)
        fill(stream, populations->data(work.id, copy), 0, static_cast<std::size_t>(bytes));
      stream.synchronize();
    }
    comm.barrier();
    state.step = 0;
    state.time = 0;
    if (model.forced()) start();
    stages.front().exchange = due();
  }

  std::pair<std::int64_t, std::int64_t> now() const { return {state.step, state.restarts}; }

  void make_macroscopic() {
    velocity.emplace(grid, velocity_field(options));
    density.emplace(grid, density_field(options));
    state.fields["velocity"] = &*velocity;
    state.fields["density"] = &*density;
  }

  /// Runs a kernel that leaves so many doubles per row of each block, and brings them to the host, per block.
  template <class Run>
  std::vector<std::vector<double>> per_row(Run run, std::size_t each = 1) {
    std::vector<std::vector<double>> all;
    for (const BlockWork& work : blocks) {
      const Device device = devices[work.device];
      const std::size_t count = each * rows(work.cells);
      Buffer<double> there(device, count), host(device, count, Memory::pinned);
      Stream stream(device);
      run(stream, work, there.data());
      copy(stream, host.data(), there.data(), host.bytes());
      stream.synchronize();
      all.emplace_back(host.data(), host.data() + count);
    }
    return all;
  }

  /// Puts in place all that the coming step reads.
  void bring() {
    begin_steps();
    std::vector<Stream>& streams = loop->streams();
    for (std::size_t d = 0; d < streams.size(); ++d) bounce(streams[d], d, &BlockWork::local);
    exchange().begin(streams);
    exchange().end(streams);
    for (std::size_t d = 0; d < streams.size(); ++d) bounce(streams[d], d, &BlockWork::exchanged);
  }

  /// Force and moment of one block's links.
  std::array<double, 6> load(const BlockWork& work, const Buffer<LoadLink>& links, const std::array<double, 3>& about) {
    std::array<double, 3> corner;
    for (int a = 0; a < 3; ++a) corner[a] = static_cast<double>(grid.block(work.id).box.lo[a]) + 0.5 - about[a];
    const Device device = devices[work.device];
    Stream& stream = loop->streams()[work.device];
    const std::int64_t teams = load_teams(links.size());
    Buffer<double> there(device, 6 * teams), host(device, 6 * teams, Memory::pinned);
    kernel.loads(stream, {links.data(), links.size()}, corner, arrays(work), there.data());
    copy(stream, host.data(), there.data(), host.bytes());
    stream.synchronize();
    std::array<double, 6> sum{};
    for (std::int64_t n = 0; n < 6 * teams; ++n) sum[n % 6] += host.data()[n];
    return sum;
  }

  Communicator comm;
  Options options;
  Surfaces surfaces;
  Grid grid;
  Model model;
  const Kernels& kernel;
  std::shared_ptr<Keeping> keeping;
  std::vector<std::unique_ptr<Pattern>> patterns;
  Field flags;
  std::optional<Field> populations;
  // Where some blocks are packed: the populations as others see them, without arrays while steps are done.
  std::optional<Field> whole;
  std::unique_ptr<Outlet> outlet;
  std::optional<Field> velocity, density;
  std::vector<Device> devices;
  Tuning tuning;
  Split split;
  std::vector<std::unique_ptr<Exchange>> exchanges;
  std::vector<BlockWork> blocks;
  std::vector<Stage> stages;
  State state;
  std::uint64_t serial = 0;  // of what recorded steps hold
  bool left_out = false;     // exchanges, for measuring
  bool apart = false;        // the populations lie as others see them
  // That velocity and density belong to: the step, and how often the state had been restored.
  std::pair<std::int64_t, std::int64_t> macroscopic_step{-1, 0};
  std::optional<TimeLoop> loop;
};

Lbm::Lbm(const Communicator& comm, const Machine& machine, Options options, Surfaces bodies)
    : impl_(std::make_unique<Impl>(comm, machine, std::move(options), std::move(bodies))) {
  if (impl_->options.tune_rim) impl_->tune_rim(*this);
  impl_->loop.emplace(*this, impl_->options.overlap, impl_->options.exchange.trace);
  impl_->split.overlap = impl_->loop->overlapped();
  impl_->split.rim = impl_->options.rim;
}

Lbm::~Lbm() = default;

State& Lbm::state() { return impl_->state; }
const std::vector<Device>& Lbm::devices() const { return impl_->devices; }
const std::vector<Stage>& Lbm::stages() const { return impl_->stages; }
std::int64_t Lbm::bytes_of_cells() const {
  std::int64_t bytes = 0;
  for (const auto& work : impl_->blocks) bytes += static_cast<std::int64_t>(work.words.bytes() + work.fluid.bytes());
  // Several of a rank's devices may be one and the same.
  const std::set<Device> devices(impl_->devices.begin(), impl_->devices.end());
  for (const Device device : devices) bytes += impl_->populations->bytes_on(device) + impl_->flags.bytes_on(device);
  return bytes;
}

const Grid& Lbm::grid() const { return impl_->grid; }
const Options& Lbm::options() const { return impl_->options; }
const Communicator& Lbm::communicator() const { return impl_->comm; }
Exchange& Lbm::exchange() { return *impl_->exchanges.front(); }
const Tuning& Lbm::tuning() const { return impl_->tuning; }
const Split& Lbm::split() const { return impl_->split; }
TimeLoop& Lbm::time_loop() { return *impl_->loop; }
void Lbm::advance(std::int64_t steps) { impl_->loop->run(steps); }

void Lbm::leave_out_exchange(bool left_out) {
  impl_->left_out = left_out;
  ++impl_->serial;
  impl_->stages.front().exchange = impl_->due();
}

void Lbm::begin_steps() { impl_->begin_steps(); }

void Lbm::finish_step() {
  impl_->populations->swap();
  if (impl_->outlet) impl_->outlet->field.swap();
  ++impl_->state.step;
  impl_->stages.front().exchange = impl_->due();
  impl_->state.time += 1;
}

Recording Lbm::recording() const {
  // Arrays that are swapped turn with the steps, but a restart may have let one of them stand still.
  const int step = static_cast<int>(impl_->state.step % 2), turn = impl_->populations->physical(0) ^ step,
            side = impl_->outlet ? impl_->outlet->field.physical(0) ^ step : 0;
  const auto relation = static_cast<std::uint64_t>(2 * (impl_->in_place() ? 0 : turn) + side);
  return {2, step, 4 * impl_->serial + relation};
}

std::vector<Watched> Lbm::watched() {
  return {{"density", &*impl_->populations,
           [this](Stream& stream, std::int64_t block, double lowest, double highest, RowFinding* rows) {
             impl_->kernel.inspect_density(stream, impl_->arrays(impl_->work(block)), lowest, highest, rows);
           }}};
}

void Lbm::set_solid(const std::vector<std::uint8_t>& mask) {
  const Box domain = impl_->grid.box();
  require(static_cast<std::int64_t>(mask.size()) == domain.volume(),
          "the mask of solid cells has " + std::to_string(mask.size()) + " values for a grid of " +
              std::to_string(domain.volume()) + " cells");
  impl_->set({{"solid"},
              [&](const Box& box) {
                std::vector<std::uint16_t> solid;
                for_each_cell(box, [&](const Extent& p) { solid.push_back(mask[index_in(domain, p)] != 0); });
                return solid;
              },
              {}});
}

void Lbm::set_bodies(Surfaces bodies) { impl_->set(std::move(bodies)); }

std::vector<Load> Lbm::loads(const std::array<double, 3>& about) {
  std::vector<Load> loads;
  std::map<int, std::size_t> place;
  for (int side = 0; side < 2 * impl_->grid.dimensions(); ++side)
    if (is_wall(impl_->options, side)) {
      place[side] = loads.size();
      loads.push_back({to_string(static_cast<Side>(side)), {}, {}});
    }
  for (const std::string& name : impl_->surfaces.names) {
    const int number = static_cast<int>(&name - impl_->surfaces.names.data());
    place[first_body + number] = loads.size();
    loads.push_back({name, {}, {}});
  }
  impl_->bring();
  std::vector<Partial> mine;
  for (const BlockWork& work : impl_->blocks)
    for (const auto& [bearer, links] : work.loads) mine.push_back({work.id, bearer, impl_->load(work, links, about)});
  for (const Partial& part : by_block(impl_->comm, mine)) {
    Load& load = loads[place.at(static_cast<int>(part.quantity))];
    for (int a = 0; a < 3; ++a) {
      load.force[a] += part.values[a];
      load.moment[a] += part.values[3 + a];
    }
  }
  return loads;
}

Field& Lbm::field(const std::string& name) {
  const bool derived = name == "velocity" || name == "density";
  if (derived && impl_->macroscopic_step != impl_->now()) update_macroscopic();
  return impl_->state[name];
}

double Lbm::update_macroscopic() {
  const bool first = !impl_->velocity;
  if (first) impl_->make_macroscopic();
  impl_->macroscopic_step = impl_->now();
  double change = 0;
  for (const auto& block : impl_->per_row([&](Stream&stream, const BlockWork&work, double*out) {
         impl_->kernel.macroscopic(stream, work.cells, impl_->arrays(work), impl_->model, out);
       }))
    for (const double row : block) change = row > change || row != row ? row : change;
  // A NaN anywhere is a NaN everywhere.
  const bool sound = impl_->comm.all(change == change);
  const double all = impl_->comm.max(sound ? change : 0);
  if (!sound) return std::numeric_limits<double>::quiet_NaN();
  return first ? std::numeric_limits<double>::infinity() : all;
}

double Lbm::excess_mass() {
  const auto sums = impl_->per_row([&](Stream& stream, const BlockWork& work, double* out) {
    impl_->kernel.excess_mass(stream, work.cells, impl_->arrays(work), out);
  });
  std::vector<Partial> mine;
  for (std::size_t b = 0; b < sums.size(); ++b) {
    mine.push_back({impl_->blocks[b].id});
    for (const double row : sums[b]) mine.back().values[0] += row;
  }
  double total = 0;
  for (const Partial& part : by_block(impl_->comm, mine)) total += part.values[0];
  return total;
}

void Lbm::start_from(const FlowOfBox& flow) {
  require(impl_->state.step == 0, "the flow to start from is set before the first step");
  for (const BlockWork& work : impl_->blocks) impl_->start_from(work, flow);
  impl_->macroscopic_step.first = -1;
}

Energy Lbm::energy() {
  impl_->bring();
  for (Stream& stream : impl_->loop->streams()) stream.synchronize();
  const auto sums = impl_->per_row(
      [&](Stream& stream, const BlockWork& work, double* out) {
        impl_->kernel.energy(stream, work.cells, impl_->arrays(work), impl_->model, out);
      },
      2);
  std::vector<Partial> mine;
  for (std::size_t b = 0; b < sums.size(); ++b) {
    mine.push_back({impl_->blocks[b].id});
    for (std::size_t n = 0; n < sums[b].size(); ++n) mine.back().values[n % 2] += sums[b][n];
  }
  Energy total;
  for (const Partial& part : by_block(impl_->comm, mine)) {
    total.kinetic += part.values[0];
    total.dissipation += part.values[1];
  }
  return total;
}

std::int64_t Lbm::fluid_cells() const {
  std::int64_t mine = 0, all = 0;
  for (const auto& work : impl_->blocks) mine += work.fluid_cells;
  for (const std::int64_t count : impl_->comm.all_gather(mine)) all += count;
  return all;
}

}  // namespace slipstream::lbm
