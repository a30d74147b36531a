// Storage that omits the cells inside bodies, or steps that skip them.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include <slipstream/device/bits.hpp>
#include <slipstream/guard.hpp>

#include "device/upload.hpp"
#include "solver/lbm/step/stored_cells.hpp"
#include "support/expect_error.hpp"
#include "support/lbm_run.hpp"

namespace slipstream::lbm {
namespace {

Options channel(Solids solids, Streaming streaming = Streaming::in_place) {
  Options o;
  o.cells = {24, 20, 18};
  o.periodic = {true, false, true};
  o.viscosity = 0.03;
  o.force = {1e-5, 0, 0};
  o.solids = solids;
  o.streaming = streaming;
  return o;
}

/// Spheres on a cubic lattice that touch and overlap. With radius 0.525 edges, 60 % of the cells are solid.
Surfaces pack(double edge, double radius) {
  Surfaces s;
  s.names = {"pack"};
  s.solid = [=](const Box& box) {
    std::vector<std::uint16_t> all;
    for_each_cell(box, [&](const Extent& c) {
      double sum = 0;
      for (int a = 0; a < 3; ++a) {
        const double x = static_cast<double>(c[a]) + 0.5, near = std::remainder(x, edge);
        sum += near * near;
      }
      all.push_back(sum < radius * radius ? 1 : 0);
    });
    return all;
  };
  return s;
}

const Round ball{{10.3, 8.2, 9.1}, 5.4, true};

TEST(BytesThatDiffer, AreMarkedOneByOne) {
  EXPECT_EQ(bytes_that_differ(0x01020304u, 0x01020304u), 0u);
  EXPECT_EQ(bytes_that_differ(0x01020304u, 0x01820305u), 0x00010001u);
  EXPECT_EQ(bytes_that_differ(0u, 0xffffffffu), 0x01010101u);
  EXPECT_EQ(bytes_that_differ(0x00800001u, 0u), 0x00010001u);
}

class StoredCellsBy : public testing::TestWithParam<Streaming> {};

INSTANTIATE_TEST_SUITE_P(Streaming, StoredCellsBy, testing::Values(Streaming::two, Streaming::in_place),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(StoredCellsBy, AreFluidCellsAndTheirNeighboursInTheOrderOfMemory) {
  const bool in_place = GetParam() == Streaming::in_place;
  Options o = channel(Solids::sparse, GetParam());
  o.cells = {70, 9, 7};
  GridOptions options;
  options.periodic = o.periodic;
  options.partition.blocks_per_device = {2, 1, 1};
  const Grid grid(o.cells, machine_here(Backend::host, 1), 0, options);
  std::mt19937 random(7);
  std::vector<std::uint16_t> mask(volume(o.cells));
  for (auto& cell : mask) cell = random() % 4 != 0;
  Surfaces surfaces;
  surfaces.solid = [&](const Box& box) {
    std::vector<std::uint16_t> all;
    for_each_cell(box, [&](const Extent& p) { all.push_back(mask[index_in(grid.box(), p)]); });
    return all;
  };
  for (const Block& block : grid.blocks()) {
    const Surroundings s = surroundings_of(grid, block, o, ghost_layers(grid, o), surfaces);
    const StoredCells stored(grid, block, o, s);
    std::int64_t next = 0;
    for_each_cell(s.around, [&](const Extent& p) {
      bool wanted = false;
      const bool inside = s.flags[index_in(s.around, p)] == solid;
      for (int i = 0; i < D3Q19::q; ++i) {
        // In-place streaming stores only the sources of even populations inside a body.
        if (in_place && inside && i % 2 == 1) continue;
        const auto& c = D3Q19::velocity[i];
        Extent reader{p[0] + c[0], p[1] + c[1], p[2] + c[2]};
        // The block of the grid spans the periodic axis z, so z coordinates beyond its ends wrap around.
        reader[2] = (reader[2] + o.cells[2]) % o.cells[2];
        wanted |= block.box.contains(reader) && s.flags[index_in(s.around, reader)] == fluid;
      }
      const Extent local{p[0] - block.box.lo[0], p[1] - block.box.lo[1], p[2] - block.box.lo[2]};
      EXPECT_EQ(stored.number(local), wanted ? next : -1);
      next += wanted;
    });
    EXPECT_EQ(stored.count(), next);
  }
}

/// LBM kernels on one block that wraps around on all axes, including x as on GPUs. Solid cells are stored or omitted.
class Wrapped {
 public:
  Wrapped(Streaming streaming, bool forced) : in_place_(streaming == Streaming::in_place) {
    options_ = channel(Solids::sparse, streaming);
    options_.cells = {37, 6, 5};
    options_.periodic = {true, true, true};
    if (!forced) options_.force = {0, 0, 0};
    GridOptions grid_options;
    grid_options.periodic = options_.periodic;
    grid_.emplace(options_.cells, machine_here(Backend::host, 1), 0, grid_options);
    Surfaces surfaces;
    surfaces.solid = [](const Box& box) {
      std::vector<std::uint16_t> all;
      for_each_cell(box, [&](const Extent& p) { all.push_back(p[0] > 20 && p[0] < 36 && p[1] < 5 ? 1 : 0); });
      return all;
    };
    const Block& block = grid_->block(0);
    const Surroundings s = surroundings_of(*grid_, block, options_, {0, 0, 0}, surfaces);
    stored_.emplace(*grid_, block, options_, s);
    words_ = upload(device, stored_->words());
    const Links links = make_links(*grid_, block, options_, s);
    const auto fluid_cells = fluid_cells_of(block.box, {block.box}, s, resting_walls_of(block.box, links));
    cells_ = upload(device, listed_words(fluid_cells, Lattice::d3q19));
    walls_ = upload(device, links.local.resting);
    flags_ = upload(device, s.flags);
    FieldOptions field;
    field.components = 19;
    shape_ = block_shape(options_.cells, field);
    packed_shape_ = shape_;
    packed_shape_.stride[1] = packed_shape_.stride[2] = packed_shape_.origin = 0;
    packed_shape_.component_stride = stored_->count();
  }

  /// All populations after step `number`; those of solid cells are at rest. Walls come from links, or where solid cells
  /// are not stored (`packed`), from the list of fluid cells.
  std::vector<float> step(bool packed, int number) {
    std::vector<float> values(shape_.elements);
    std::mt19937 random(3);
    for (float& value : values) value = 0.02f * static_cast<float>(random() % 1000) / 1000;
    auto boxes = upload(device, values);
    const auto size = static_cast<std::size_t>(packed ? 19 * stored_->count() : shape_.elements);
    Buffer<float> from(device, size), to(device, size);
    Stream stream(device);
    fill(stream, from.data(), 0, from.bytes());
    fill(stream, to.data(), 0, to.bytes());
    const Kernels& kernel = kernels(options_);
    kernel.transcribe(stream, arrays(false, boxes, boxes), arrays(packed, from, to, form(number)));
    if (!packed) bounce(stream, kernel, arrays(packed, from, to, form(number)));
    kernel.stream_collide(stream, {{0, 0, 0}, options_.cells}, arrays(packed, from, to, form(number)), Layout::soa,
                          model_of(options_));
    Buffer<float>& left = in_place_ ? from : to;
    kernel.transcribe(stream, arrays(packed, left, left, form(number + 1)), arrays(false, boxes, boxes));
    stream.synchronize();
    std::copy_n(boxes.data(), boxes.size(), values.data());
    return values;
  }

 private:
  void bounce(Stream& stream, const Kernels& kernel, const BlockArrays& block) const {
    const Buffer<Bounce> places(device, walls_.size());
    EXPECT_GT(places.size(), 0u);
    kernel.place_links(stream, {walls_.data(), walls_.size()}, block, places.data());
    LinkSpans links;
    links.resting = {places.data(), places.size()};
    kernel.apply_links(stream, links, block, model_of(options_));
    stream.synchronize();
  }

  Form form(int number) const { return !in_place_ ? Form::apart : number % 2 == 0 ? Form::shared : Form::turned; }

  BlockArrays arrays(bool packed, Buffer<float>& from, Buffer<float>& to, Form form = Form::apart) {
    BlockArrays a;
    const auto place = [&](Buffer<float>& buffer) {
      return BlockData{reinterpret_cast<std::byte*>(buffer.data()), packed ? packed_shape_ : shape_, DType::f32};
    };
    a.populations = place(from);
    a.populations_out = place(to);
    FieldOptions flags;
    flags.type = DType::u8;
    flags.alignment = 1;
    a.flags = {reinterpret_cast<std::byte*>(flags_.data()), block_shape(options_.cells, flags), DType::u8};
    for (int axis = 0; axis < 3; ++axis) a.wrap.extent[axis] = static_cast<int>(options_.cells[axis]);
    a.form = form;
    a.has_solids = true;
    if (packed) {
      a.numbering = stored_->numbering();
      a.numbering.words = words_.data();
      a.cells = {cells_.data(), cells_.size()};
    }
    return a;
  }

  const Device device{Backend::host, 0};
  bool in_place_;
  Options options_;
  std::optional<Grid> grid_;
  std::optional<StoredCells> stored_;
  Buffer<CellWord> words_;
  Buffer<std::uint32_t> cells_;
  Buffer<Link> walls_;
  Buffer<std::uint8_t> flags_;
  BlockShape shape_, packed_shape_;
};

TEST(PackedStep, WrapsRoundInXAsThatOfABoxDoes) {
  for (const Streaming streaming : {Streaming::two, Streaming::in_place})
    for (const bool forced : {false, true})
      for (const int number : {0, 1}) {
        Wrapped wrapped(streaming, forced);
        const auto packed = wrapped.step(true, number);
        EXPECT_NE(packed, std::vector<float>(packed.size(), 0));
        EXPECT_EQ(packed, wrapped.step(false, number)) << to_string(streaming) << forced << number;
      }
}

TEST(Solids, ChangeNeitherLoadsNorMassNorVelocities) {
  for (const Streaming streaming : {Streaming::two, Streaming::in_place}) {
    HostRun dense(channel(Solids::dense, streaming));
    dense.lbm.set_bodies(ball.surfaces("ball", true));
    dense.lbm.advance(31);
    for (const Solids solids : {Solids::flags, Solids::sparse, Solids::automatic}) {
      SCOPED_TRACE(to_string(solids) + " " + to_string(streaming));
      HostRun run(channel(solids, streaming));
      run.lbm.set_bodies(ball.surfaces("ball", true));
      run.lbm.advance(31);
      const auto loads = run.lbm.loads(), wanted = dense.lbm.loads();
      ASSERT_EQ(loads.size(), wanted.size());
      for (std::size_t n = 0; n < loads.size(); ++n) {
        EXPECT_EQ(loads[n].force, wanted[n].force);
        EXPECT_EQ(loads[n].moment, wanted[n].moment);
      }
      EXPECT_NE(loads.back().force[0], 0);
      EXPECT_EQ(run.lbm.excess_mass(), dense.lbm.excess_mass());
      EXPECT_EQ(run.lbm.fluid_cells(), dense.lbm.fluid_cells());
      EXPECT_EQ(run.numbers("velocity"), dense.numbers("velocity"));
    }
  }
}

TEST(Solids, MayBeKeptInAnotherWayAfterARestart) {
  for (const Streaming streaming : {Streaming::two, Streaming::in_place}) {
    HostRun sparse(channel(Solids::sparse, streaming)), dense(channel(Solids::dense, streaming));
    for (HostRun* run : {&sparse, &dense}) run->lbm.set_bodies(ball.surfaces("ball", true));
    sparse.lbm.advance(7);
    const auto populations = gather(Communicator::world(), sparse.lbm.field("populations"), sparse.lbm.grid().box());
    dense.lbm.state()["populations"].write(dense.lbm.grid().box(), populations.data());
    dense.lbm.state().step = 7;
    ++dense.lbm.state().restarts;
    sparse.lbm.advance(8);
    dense.lbm.advance(8);
    EXPECT_EQ(sparse.numbers("velocity"), dense.numbers("velocity"));
    // Copies the populations back to the storage without solid cells.
    const auto later = gather(Communicator::world(), dense.lbm.field("populations"), dense.lbm.grid().box());
    sparse.lbm.state()["populations"].write(sparse.lbm.grid().box(), later.data());
    EXPECT_EQ(sparse.numbers("velocity"), dense.numbers("velocity"));
    sparse.lbm.advance(4);
    dense.lbm.advance(4);
    EXPECT_EQ(sparse.numbers("velocity"), dense.numbers("velocity"));
  }
}

TEST(Solids, GivenFromTheStartAreThoseThatAreSetLater) {
  const Machine machine = machine_here(Backend::host, 1);
  Lbm early(Communicator::world(), machine, channel(Solids::sparse), ball.surfaces("ball", true));
  Lbm late(Communicator::world(), machine, channel(Solids::sparse));
  late.set_bodies(ball.surfaces("ball", true));
  EXPECT_EQ(early.bytes_of_cells(), late.bytes_of_cells());
  early.advance(5);
  late.advance(5);
  const auto all = [](Lbm& lbm) { return gather(Communicator::world(), lbm.field("velocity"), lbm.grid().box()); };
  EXPECT_EQ(all(early), all(late));
}

TEST(Solids, OfAPackOfBallsAreNearlyAllLeftOutOfMemory) {
  const auto bytes = [](Solids solids) {
    Options o = channel(solids);
    o.cells = {80, 80, 80};
    o.periodic = {true, true, true};
    const Machine machine = machine_here(Backend::host, 1);
    const Lbm lbm(Communicator::world(), machine, o, pack(80, 42));
    EXPECT_NEAR(static_cast<double>(lbm.fluid_cells()), 0.4 * 80 * 80 * 80, 0.01 * 80 * 80 * 80);
    return static_cast<double>(lbm.bytes_of_cells());
  };
  EXPECT_LT(bytes(Solids::sparse), 0.5 * bytes(Solids::dense));
}

TEST(Solids, AreLeftOutOfThePlanOfMemory) {
  Options o = channel(Solids::sparse);
  o.cells = {80, 80, 80};
  o.periodic = {true, true, true};
  const Machine machine = machine_here(Backend::host, 1);
  const Lbm lbm(Communicator::world(), machine, o, pack(80, 42));
  double planned = 0;
  for (const ArrayBytes& array : memory_needed(lbm.grid(), o, pack(80, 42)))
    if (array.array.starts_with("populations") || array.array == "flags") planned += static_cast<double>(array.bytes);
  const auto taken = static_cast<double>(lbm.bytes_of_cells());
  EXPECT_GE(planned, taken);
  EXPECT_LT(planned, 1.05 * taken);
}

std::int64_t links_planned(const Grid& grid, const Options& o, const Surfaces& surfaces) {
  std::int64_t bytes = 0;
  for (const ArrayBytes& array : memory_needed(grid, o, surfaces))
    if (array.array == "links of bodies") bytes += array.bytes;
  return bytes;
}

TEST(Solids, HaveTheirLinksAndByMomentsTheCellsBesideThemInThePlanOfMemory) {
  const Machine machine = machine_here(Backend::host, 1);
  for (const bool cut : {false, true}) {
    const Surfaces body = ball.surfaces("ball", cut);
    Options o = channel(Solids::dense, Streaming::two);
    o.periodic = {true, true, true};
    o.grid.partition.blocks_per_device = {2, 1, 1};
    const Lbm populations(Communicator::world(), machine, o, body);
    const Grid& grid = populations.grid();
    std::size_t links = 0, cells = 0;
    for (const Block& block : grid.blocks()) {
      const Surroundings s = surroundings_of(grid, block, o, ghost_layers(grid, o), body);
      const Links made = make_links(grid, block, o, s);
      links += made.loads.at(first_body).size();
      cells += made.local.interpolated.size() + made.exchanged.interpolated.size();
    }
    EXPECT_EQ(links_planned(grid, o, body),
              static_cast<std::int64_t>(links * (sizeof(LoadLink) + (cut ? sizeof(double) : sizeof(Bounce))) +
                                        cells * sizeof(InterpolatedCell)));
    for (const DType precision : {DType::f32, DType::f64}) {
      o.representation = Representation::moments;
      o.collision = Collision::regularised;
      o.precision = precision;
      const Lbm with(Communicator::world(), machine, o, body), without(Communicator::world(), machine, o);
      const auto held = static_cast<double>(with.bytes_of_cells() - without.bytes_of_cells());
      const auto of_links = static_cast<double>(links * (sizeof(LoadLink) + (cut ? sizeof(double) : 0)) +
                                                cells * sizeof(InterpolatedCell));
      const double planned = static_cast<double>(links_planned(with.grid(), o, body)) - of_links;
      EXPECT_GE(planned, held);
      EXPECT_LT(planned, 1.02 * held);
    }
  }
}

TEST(Solids, FillBlocksThatTakeNoMemoryForPopulations) {
  Options o = channel(Solids::automatic);
  o.grid.partition.blocks_per_device = {2, 1, 1};
  Surfaces half;
  half.names = {"half"};
  half.solid = [](const Box& box) {
    std::vector<std::uint16_t> all;
    for_each_cell(box, [&](const Extent& p) { all.push_back(p[0] < 12 ? 1 : 0); });
    return all;
  };
  Options whole = o;
  whole.solids = Solids::dense;
  const Machine machine = machine_here(Backend::host, 1);
  Lbm with(Communicator::world(), machine, o, half), without(Communicator::world(), machine, whole, half);
  EXPECT_LT(static_cast<double>(with.bytes_of_cells()), 0.52 * static_cast<double>(without.bytes_of_cells()));
  with.advance(9);
  without.advance(9);
  const auto all = [](Lbm& lbm) { return gather(Communicator::world(), lbm.field("velocity"), lbm.grid().box()); };
  EXPECT_EQ(all(with), all(without));
}

TEST(Solids, AreKeptAsSuitsTheirShare) {
  Options o;
  o.cells = {64, 10, 8};
  const Grid grid(o.cells, machine_here(Backend::host, 1), 0);
  const auto solidity = [&](int row_axis, const auto& solid) {
    Surfaces some;
    some.names = {"some"};
    some.solid = [&](const Box& box) {
      std::vector<std::uint16_t> all;
      for_each_cell(box, [&](const Extent& p) { all.push_back(solid(p) ? 1 : 0); });
      return all;
    };
    return solidity_of(grid.block(0), surroundings_of(grid, grid.block(0), o, {1, 1, 1}, some), row_axis);
  };
  const auto bar = [](const Extent& p) { return p[0] >= 32 && p[1] < 2; };
  const auto beads = [](const Extent& p) { return p[0] % 16 < 3; };
  EXPECT_DOUBLE_EQ(solidity(0, bar).share, 0.1);
  EXPECT_DOUBLE_EQ(solidity(0, bar).long_share, 1);
  EXPECT_DOUBLE_EQ(solidity(2, bar).long_share, 0);
  EXPECT_DOUBLE_EQ(solidity(0, beads).share, 3.0 / 16);
  EXPECT_DOUBLE_EQ(solidity(0, beads).long_share, 0);
  const auto kept = [&](bool gpu, Streaming streaming, const Solidity& of) {
    o.streaming = streaming;
    return kept_by(o, gpu, of);
  };
  EXPECT_EQ(kept(true, Streaming::two, {0, 0}), Kept::all);
  EXPECT_EQ(kept(true, Streaming::two, {0.1, 1}), Kept::fluid);
  EXPECT_EQ(kept(true, Streaming::two, {0.25, 0.1}), Kept::fluid);
  EXPECT_EQ(kept(true, Streaming::in_place, {0.1, 0.1}), Kept::fluid);
  EXPECT_EQ(kept(true, Streaming::two, {0.35, 1}), Kept::packed);
  EXPECT_EQ(kept(true, Streaming::in_place, {0.35, 0}), Kept::packed);
  EXPECT_EQ(kept(false, Streaming::in_place, {0.6, 1}), Kept::all);
  EXPECT_EQ(kept(false, Streaming::two, {0.9, 1}), Kept::packed);
}

TEST(Solids, MayBeLeftOutOfSomeBlocksOnly) {
  // A plate with a slit, as thick as the middle block, which is 90 % solid.
  Surfaces plate;
  plate.names = {"plate"};
  plate.solid = [](const Box& box) {
    std::vector<std::uint16_t> all;
    for_each_cell(box,
                  [&](const Extent& p) { all.push_back(p[0] >= 8 && p[0] < 16 && (p[1] < 9 || p[1] >= 11) ? 1 : 0); });
    return all;
  };
  for (const Streaming streaming : {Streaming::two, Streaming::in_place}) {
    Options o = channel(Solids::automatic, streaming), all_cells = channel(Solids::dense, streaming);
    o.grid.partition.blocks_per_device = {3, 1, 1};
    const Machine machine = machine_here(Backend::host, 1);
    Lbm some(Communicator::world(), machine, o, plate), none(Communicator::world(), machine, all_cells, plate);
    some.advance(23);
    none.advance(23);
    const auto velocities = [](Lbm& lbm) {
      return gather(Communicator::world(), lbm.field("velocity"), lbm.grid().box());
    };
    EXPECT_EQ(velocities(some), velocities(none));
    Options boxes = o;
    boxes.solids = Solids::dense;
    const Lbm dense(Communicator::world(), machine, boxes, plate);
    EXPECT_LT(static_cast<double>(some.bytes_of_cells()), 0.9 * static_cast<double>(dense.bytes_of_cells()));
  }
}

TEST(Solids, ShareOutBlocksByTheirFluidCells) {
  Options o = channel(Solids::automatic);
  o.cells = {48, 20, 18};
  o.grid.partition.blocks_per_device = {4, 2, 1};
  Surfaces most;
  most.names = {"most"};
  most.solid = [](const Box& box) {
    std::vector<std::uint16_t> all;
    for_each_cell(box, [&](const Extent& p) { all.push_back(p[0] < 24 && p[1] < 14 ? 1 : 0); });
    return all;
  };
  const Machine machine = machine_here(Backend::host, 2);
  const Lbm lbm(Communicator::world(), machine, o, most);
  std::array<std::int64_t, 2> fluid{};
  for (const Block& block : lbm.grid().blocks())
    for (const std::uint16_t body : most.solid(block.box)) fluid[block.device] += body == 0;
  EXPECT_NEAR(static_cast<double>(fluid[0]) / static_cast<double>(fluid[1]), 1, 0.25);
}

TEST(Guard, NamesTheCellOfAPackedBlock) {
  HostRun run(channel(Solids::sparse));
  run.lbm.set_bodies(ball.surfaces("ball", false));
  const Extent where{19, 4, 12};
  auto bytes = gather(Communicator::world(), run.lbm.field("populations"), run.lbm.grid().box());
  float* const values = reinterpret_cast<float*>(bytes.data());
  for (int i = 0; i < 19; ++i) values[index_in(run.lbm.grid().box(), where) * 19 + i] = 1;
  run.lbm.state()["populations"].write(run.lbm.grid().box(), bytes.data());
  GuardOptions options;
  options.every = 100;
  options.ranges["density"] = {0.2, 5};
  run.lbm.time_loop().guard(Communicator::world(), options);
  expect_error([&] { run.lbm.time_loop().inspect(); }, ErrorCode::diverged, {{"cell", "(19, 4, 12)"}});
}

// Compressed lists of fluid cells keep adjacent and distant cells, with walls on all sides and on none.
TEST(CellGroups, HoldTheCellsOfAListForEveryLattice) {
  for (const Lattice lattice : {Lattice::d2q9, Lattice::d3q19, Lattice::d3q27}) {
    with_lattice(lattice, [&]<class L>(L) {
      using Groups = CellGroups<L::q>;
      std::mt19937 random(5);
      const std::uint32_t all = (1u << L::q) - 2;
      std::vector<ListedCell> cells;
      for (std::uint32_t n = 0, number = 7; n < 3000 && number < 4'000'000'000u; ++n) {
        cells.push_back({number, n % 5 == 0 ? all : static_cast<std::uint32_t>(random()) & all});
        const std::uint32_t apart[] = {1, 1, 3, 40, Groups::reach - 1, Groups::reach, Groups::reach + 1};
        number += apart[random() % (n < 1500 ? 3 : 7)];
      }
      const auto words = listed_words(cells, lattice);
      const std::int64_t most = Groups::cells(static_cast<std::int64_t>(words.size()));
      std::vector<ListedCell> found;
      ListedCell cell;
      for (std::int64_t n = 0; n < most; ++n)
        if (Groups::find(words.data(), n, cell)) found.push_back(cell);
      ASSERT_EQ(found.size(), cells.size()) << L::q;
      for (std::size_t n = 0; n < cells.size(); ++n) {
        ASSERT_EQ(found[n].number, cells[n].number) << L::q;
        ASSERT_EQ(found[n].walls & all, cells[n].walls) << L::q;
      }
      cells.resize(1500);  // cells close together fill all groups of the compressed cell list except the last
      EXPECT_EQ(listed_words(cells, lattice).size(), (1500u + Groups::size - 1) / Groups::size * (Groups::size + 1))
          << L::q;
    });
  }
}

}  // namespace
}  // namespace slipstream::lbm
