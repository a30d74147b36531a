// Runs every route in the same scenarios, compared with a formula of the global cell.
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include <slipstream/exchange.hpp>

#include "support/exchange_rig.hpp"

namespace slipstream {
namespace {

struct Scenario {
  std::string name;
  std::vector<RouteKind> routes;
  int devices_per_rank = 1;
  Extent blocks{1, 1, 1};
  Extent cells{24, 20, 18};
  std::array<bool, 3> periodic{true, true, true};
  Reach reach = Reach::all;
  Extent ghost{1, 1, 1};
  Layout layout = Layout::soa;
  DType type = DType::f32;
  int components = 2;
  Coding coding = {};
  Knobs knobs = {};
  int ranks_per_node = 0;
  std::optional<RouteKind> subject = {};  ///< the test is skipped if no message uses this route
};

using R = RouteKind;

/// All values are integers that f32 represents, so a cast leaves them unchanged.
const Coding cast{Coding::Kind::cast};

/// Covers all options of packing, streams per direction and waiting, on both routes that the host drives.
void add_host_routes(std::vector<Scenario>& list) {
  for (const R route : {R::staged, R::gpu_mpi})
    for (const Pack pack : {Pack::fused, Pack::per_direction, Pack::memcpy3d, Pack::zero_copy})
      for (const Lanes lanes : {Lanes::one, Lanes::per_direction})
        for (const bool sync : {false, true}) {
          if (route == R::gpu_mpi && pack == Pack::zero_copy) continue;
          Scenario s{to_string(route) + "_" + to_string(pack) + "_" + to_string(lanes) + (sync ? "_sync" : ""),
                     {route},
                     2,
                     {1, 2, 1},
                     {19, 17, 15}};
          s.knobs.pack = pack;
          s.knobs.streams = lanes;
          s.knobs.sync = sync;
          list.push_back(s);
          if (sync) continue;
          s.name += "_between_nodes_in_pieces";
          s.cells = {40, 36, 32};
          s.knobs.chunk = 4096;
          s.ranks_per_node = 1;
          list.push_back(s);
          if (route == R::gpu_mpi) continue;
          s.name = "staged_" + to_string(pack) + "_" + to_string(lanes) + "_by_node_in_pieces";
          s.knobs.grouping = Grouping::nodes;
          s.ranks_per_node = 2;
          list.push_back(s);
        }
  for (const char* scheme : {"gpu_pack_info", "gpu_pack_info_async", "gpu_buffered"}) {
    const Scheme named = named_scheme(scheme);
    Scenario s{std::string("scheme_") + scheme, {R::kernel, named.route}};
    s.knobs = named.knobs;
    list.push_back(s);
  }
}

/// Covers the route node: one message per pair of nodes, with two ranks per node, and with one rank with many devices.
void add_grouped(std::vector<Scenario>& list) {
  Scenario s{"by_node", {R::kernel, R::staged}};
  s.knobs.grouping = Grouping::nodes;
  s.ranks_per_node = 2;
  list.push_back(s);
  Scenario all = s;
  all.name = "by_node_all_routes";
  all.routes = all_routes();
  all.devices_per_rank = 2;
  list.push_back(all);
  Scenario alone = s;
  alone.name = "by_node_of_one_rank";
  alone.ranks_per_node = 1;
  alone.devices_per_rank = 3;
  list.push_back(alone);
  Scenario open = s;
  open.name = "by_node_open_uneven";
  open.blocks = {1, 2, 1};
  open.cells = {19, 17, 23};
  open.periodic = {false, false, true};
  open.devices_per_rank = 2;
  list.push_back(open);
  Scenario coded = s;
  coded.name = "by_node_cast";
  coded.coding = cast;
  coded.type = DType::f64;
  coded.knobs.chunk = 2048;
  list.push_back(coded);
  Scenario faces = s;
  faces.name = "by_node_faces_of_f64_cells_with_components";
  faces.reach = Reach::faces;
  faces.layout = Layout::aos;
  faces.type = DType::f64;
  faces.components = 3;
  list.push_back(faces);
}

std::vector<Scenario> scenarios() {
  const std::vector<R> all = all_routes();
  std::vector<Scenario> list{
      {"all_routes", all},
      {"staged_only_between_devices", {R::kernel, R::staged}},
      {"staged_even_on_one_device", {R::staged}},
      {"direct", {R::kernel, R::direct}},
      {"direct_two_devices", {R::kernel, R::direct}, 2},
      {"peer_and_staged", {R::kernel, R::peer, R::staged}, 2},
      {"peer_and_colocated", {R::kernel, R::peer, R::colocated}, 2},
      {"colocated", {R::kernel, R::colocated, R::staged}},
      {"blocks_27", all, 1, {3, 3, 3}},
      {"blocks_staged", {R::kernel, R::staged}, 2, {2, 1, 3}},
      {"open", all, 2, {1, 2, 1}, {19, 17, 23}, {false, false, false}},
      {"mixed_periodic_uneven", all, 1, {2, 3, 1}, {19, 17, 23}, {true, false, true}},
      {"radius_3",
       {R::kernel, R::direct, R::staged},
       1,
       {1, 1, 1},
       {24, 24, 24},
       {true, true, true},
       Reach::all,
       {3, 3, 3}},
      {"radius_per_axis", all, 2, {1, 1, 1}, {24, 24, 24}, {true, true, true}, Reach::all, {1, 3, 2}},
      {"faces", all, 1, {2, 2, 1}, {16, 16, 16}, {true, true, true}, Reach::faces},
      {"edges",
       {R::kernel, R::colocated, R::staged},
       2,
       {1, 1, 1},
       {16, 16, 16},
       {true, true, true},
       Reach::faces_and_edges},
      {"aos", all, 2, {1, 2, 1}, {24, 20, 18}, {true, true, true}, Reach::all, {2, 2, 2}, Layout::aos, DType::f64, 5},
      {"bytes",
       {R::kernel, R::staged},
       1,
       {1, 1, 2},
       {24, 20, 18},
       {true, true, true},
       Reach::all,
       {1, 1, 1},
       Layout::soa,
       DType::u8,
       1},
      {"f64_direct",
       {R::kernel, R::direct},
       1,
       {1, 1, 1},
       {24, 20, 18},
       {true, true, true},
       Reach::all,
       {1, 1, 1},
       Layout::soa,
       DType::f64,
       3},
      {"two_dimensional", all, 2, {2, 1, 1}, {32, 24, 1}, {true, true, false}, Reach::all, {2, 2, 0}},
  };
  for (const int devices : {1, 2}) {
    Scenario slots{"direct_through_slots_" + std::to_string(devices), {R::kernel, R::direct}, devices};
    slots.cells = {49, 20, 18};
    slots.ghost = {3, 3, 3};
    slots.knobs.packet_limit = 0;
    slots.knobs.chunk = 2048;
    list.push_back(slots);
    slots.name = "direct_in_place_" + std::to_string(devices);
    slots.knobs.in_place = 64;
    list.push_back(slots);
    slots.name = "direct_through_slots_f64_" + std::to_string(devices);
    slots.type = DType::f64;
    slots.knobs = {};
    slots.knobs.packet_limit = 0;
    list.push_back(slots);
  }
  Scenario coded{"cast_colocated_peer", {R::kernel, R::peer, R::colocated}, 2};
  coded.coding = cast;
  coded.type = DType::f64;
  list.push_back(coded);
  coded.name = "cast_direct";
  coded.routes = {R::kernel, R::direct};
  list.push_back(coded);
  coded.name = "cast_staged";
  coded.routes = {R::kernel, R::staged};
  list.push_back(coded);
  coded.name = "cast_staged_between_nodes";
  coded.ranks_per_node = 1;
  coded.knobs.chunk = 4096;
  list.push_back(coded);
  coded.name = "cast_gpu_mpi";
  coded.routes = {R::gpu_mpi};
  list.push_back(coded);
  for (const Pack pack : {Pack::per_direction, Pack::zero_copy}) {
    coded.name = "cast_staged_" + to_string(pack) + "_on_one_stream";
    coded.routes = {R::staged};
    coded.knobs.pack = pack;
    coded.knobs.streams = Lanes::one;
    list.push_back(coded);
  }
  Scenario strided{"staged_memcpy3d_of_cells_with_components", {R::staged}, 1, {1, 1, 1}, {24, 20, 18}};
  strided.layout = Layout::aos;
  strided.components = 3;
  strided.knobs.pack = Pack::memcpy3d;
  list.push_back(strided);
  Scenario pieces{"staged_in_pieces", {R::staged}, 2, {1, 1, 1}, {48, 40, 36}};
  pieces.knobs.chunk = 4096;
  list.push_back(pieces);
  list.push_back({"all_routes_between_nodes", all, 2});
  list.back().ranks_per_node = 1;
  add_host_routes(list);
  add_grouped(list);
  for (const auto& [name, kind, devices] : {std::tuple{"nccl", R::nccl, 1}, std::tuple{"nccl_two_devices", R::nccl, 2},
                                            std::tuple{"nvshmem", R::nvshmem, 1}}) {
    Scenario library{name, {R::kernel, kind, R::staged}, devices};
    library.subject = kind;
    list.push_back(library);
  }
  Scenario alone{"nccl_even_on_one_device", {R::nccl, R::staged}};
  alone.subject = R::nccl;
  list.push_back(alone);
  alone.name = "nccl_cast";
  alone.coding = cast;
  alone.type = DType::f64;
  list.push_back(alone);
  alone.name = "nvshmem_cast";
  alone.routes = {R::nvshmem, R::staged};
  alone.subject = R::nvshmem;
  list.push_back(alone);
  alone.name = "nvshmem_even_on_one_device";
  alone.coding = {};
  alone.type = DType::f32;
  list.push_back(alone);
  return list;
}

double value_of(const Extent& p, int c, int round, DType type) {
  const std::int64_t v = ((p[2] * 131 + p[1]) * 37 + p[0]) * 7 + c + 1000 * round;
  return type == DType::u8 ? static_cast<double>(v % 200) : static_cast<double>(v);
}

double load(const std::byte* at, DType type) {
  switch (type) {
    case DType::u8:
      return *reinterpret_cast<const std::uint8_t*>(at);
    case DType::f32:
      return *reinterpret_cast<const float*>(at);
    default:
      return *reinterpret_cast<const double*>(at);
  }
}

void store(std::byte* at, DType type, double value) {
  switch (type) {
    case DType::u8:
      *reinterpret_cast<std::uint8_t*>(at) = static_cast<std::uint8_t>(value);
      break;
    case DType::f32:
      *reinterpret_cast<float*>(at) = static_cast<float>(value);
      break;
    default:
      *reinterpret_cast<double*>(at) = value;
  }
}

constexpr double never_written = 201;

class ExchangeScenario : public testing::TestWithParam<std::tuple<Backend, int>> {
 protected:
  static inline const std::vector<Scenario> table = scenarios();
  const Scenario& s = table[std::get<1>(GetParam())];
  Communicator comm = Communicator::world();

  /// Calls f(local cell, component, element) for all cells of a block, including ghosts.
  template <class F>
  void each(const Field& field, std::int64_t id, F f) const {
    const BlockShape& shape = field.shape(id);
    const Extent &e = shape.extent, &g = shape.ghost;
    for (int c = 0; c < s.components; ++c)
      for (std::int64_t z = -g[2]; z < e[2] + g[2]; ++z)
        for (std::int64_t y = -g[1]; y < e[1] + g[1]; ++y)
          for (std::int64_t x = -g[0]; x < e[0] + g[0]; ++x)
            f(Extent{x, y, z}, c,
              shape.origin + c * shape.component_stride + x * shape.stride[0] + y * shape.stride[1] +
                  z * shape.stride[2]);
  }

  static bool inside(const Extent& p, const Extent& e) {
    for (int a = 0; a < 3; ++a)
      if (p[a] < 0 || p[a] >= e[a]) return false;
    return true;
  }

  /// Value that a cell or ghost cell must hold after the exchange, computed from its position in the whole domain.
  double expected(const Grid& grid, const Block& block, const Extent& local, int c, int round) const {
    const Extent e = block.box.extents();
    int away = 0;
    Extent global;
    for (int a = 0; a < 3; ++a) {
      away += local[a] < 0 || local[a] >= e[a];
      global[a] = block.box.lo[a] + local[a];
      if (global[a] >= 0 && global[a] < grid.extent()[a]) continue;
      if (!grid.periodic()[a]) return never_written;
      global[a] = (global[a] + grid.extent()[a]) % grid.extent()[a];
    }
    const int reach = s.reach == Reach::faces ? 1 : s.reach == Reach::faces_and_edges ? 2 : 3;
    return away <= reach ? value_of(global, c, round, s.type) : never_written;
  }

  void set(Field& field, int round) {
    for (const std::int64_t id : grid_->local()) {
      const Block& block = grid_->block(id);
      Buffer<std::byte> host(field.device(id), field.shape(id).elements * size_of(s.type), Memory::pinned);
      each(field, id, [&](const Extent& p, int c, std::int64_t at) {
        const Extent global{block.box.lo[0] + p[0], block.box.lo[1] + p[1], block.box.lo[2] + p[2]};
        store(host.data() + at * size_of(s.type), s.type,
              inside(p, field.shape(id).extent) ? value_of(global, c, round, s.type) : never_written);
      });
      Stream stream(field.device(id));
      copy(stream, field.data(id), host.data(), host.bytes());
      stream.synchronize();
    }
  }

  void check(const Field& field, int round) {
    for (const std::int64_t id : grid_->local()) {
      Buffer<std::byte> host(field.device(id), field.shape(id).elements * size_of(s.type), Memory::pinned);
      Stream stream(field.device(id));
      copy(stream, host.data(), field.data(id), host.bytes());
      stream.synchronize();
      int wrong = 0;
      each(field, id, [&](const Extent& p, int c, std::int64_t at) {
        const double want = expected(*grid_, grid_->block(id), p, c, round);
        const double have = load(host.data() + at * size_of(s.type), s.type);
        if (want != have && wrong++ < 5)
          ADD_FAILURE() << "block " << id << " cell " << p[0] << ' ' << p[1] << ' ' << p[2] << " component " << c
                        << ": " << have << ", not " << want << ", in round " << round;
      });
    }
  }

  /// Says why no message of this rank uses the scenario's route; empty if one does or none is set.
  std::string unused(const Exchange& exchange) const {
    if (!s.subject) return "";
    std::string why = "this rank's blocks lie on one device";
    for (const MessageInfo& m : exchange.messages()) {
      if (m.route == *s.subject) return "";
      if (m.route == R::staged) why = m.reason;
    }
    return why;
  }

  std::optional<Grid> grid_;
};

TEST_P(ExchangeScenario, FillsTheGhostsAndNothingElse) {
  const Backend backend = std::get<0>(GetParam());
  if (const auto why = unavailable(backend, s.devices_per_rank); !why.empty()) GTEST_SKIP() << why;
  if (s.ranks_per_node && comm.size() % s.ranks_per_node)
    GTEST_SKIP() << "needs ranks in groups of " << s.ranks_per_node;
  const Machine machine = machine_here(backend, s.devices_per_rank, s.ranks_per_node);
  GridOptions options;
  options.periodic = s.periodic;
  options.partition.blocks_per_device = s.blocks;
  grid_.emplace(s.cells, machine, comm.rank(), options);
  FieldOptions field_options;
  field_options.name = "values";
  field_options.type = s.type;
  field_options.components = s.components;
  field_options.ghost = s.ghost;
  field_options.layout = s.layout;
  field_options.copies = 2;
  field_options.shared = true;
  Field field(*grid_, field_options);
  Halo::Options halo_options;
  halo_options.reach = s.reach;
  halo_options.low = halo_options.high = s.ghost;
  const Halo halo(halo_options);
  ExchangeOptions exchange_options;
  exchange_options.routes = s.routes;
  exchange_options.knobs = s.knobs;
  std::optional<Exchange> made;
  try {
    made.emplace(comm, *grid_, std::vector<ExchangeItem>{{.pattern = &halo, .source = &field, .coding = s.coding}},
                 exchange_options);
  } catch (const Error& error) {
    if (error.fact("problem") != "no_route" || error.fact("refused").find("without CUDA") == std::string::npos) throw;
    GTEST_SKIP() << error.what();
  }
  Exchange& exchange = *made;
  if (const std::string why = unused(exchange); !comm.all(why.empty())) GTEST_SKIP() << why;
  std::vector<Stream> streams = streams_of(*grid_);
  for (int round = 1; round <= 5; ++round) {
    set(field, round);
    exchange.run(streams);
    for (Stream& stream : streams) stream.synchronize();
    exchange.check();
    check(field, round);
    field.swap();
  }
}

std::string name_of(const testing::TestParamInfo<std::tuple<Backend, int>>& info) {
  return to_string(std::get<0>(info.param)) + "_" + scenarios()[std::get<1>(info.param)].name;
}

INSTANTIATE_TEST_SUITE_P(Routes, ExchangeScenario,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Range(0, static_cast<int>(scenarios().size()))),
                         name_of);

}  // namespace
}  // namespace slipstream
