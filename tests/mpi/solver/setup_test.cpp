// MPI resources that constructing each kind of object takes: duplicated communicators, and bytes of gathered texts.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <set>

#include <slipstream/collective.hpp>
#include <slipstream/dns.hpp>
#include <slipstream/lbm.hpp>
#include <slipstream/sem_solver.hpp>
#include <slipstream/transpose.hpp>

#include "route/nvshmem.hpp"

#include "support/exchange_rig.hpp"
#include "support/fft_rig.hpp"
#include "support/gather_scatter_rig.hpp"
#include "support/stencil_rig.hpp"

#include "machine/private_communicator.hpp"

namespace {

// These functions replace MPI's own through its profiling interface.
int communicators_made = 0, communicators_freed = 0;
long long text_gathered = 0;  // bytes of texts (char arrays) that ranks have gathered

}  // namespace

extern "C" int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  ++communicators_made;
  return PMPI_Comm_dup(comm, made);
}

extern "C" int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* request) {
  ++communicators_made;
  return PMPI_Comm_idup(comm, made, request);
}

extern "C" int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  communicators_made += color != MPI_UNDEFINED;
  return PMPI_Comm_split(comm, color, key, made);
}

extern "C" int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made) {
  communicators_made += type != MPI_UNDEFINED;
  return PMPI_Comm_split_type(comm, type, key, info, made);
}

extern "C" int MPI_Comm_free(MPI_Comm* comm) {
  ++communicators_freed;
  return PMPI_Comm_free(comm);
}

extern "C" int MPI_Iallgatherv(const void* mine, int count, MPI_Datatype from, void* all, const int* counts,
                               const int* starts, MPI_Datatype to, MPI_Comm comm, MPI_Request* request) {
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  text_gathered = std::accumulate(counts, counts + ranks, text_gathered);
  return PMPI_Iallgatherv(mine, count, from, all, counts, starts, to, comm, request);
}

namespace slipstream {
namespace {

struct Made {
  std::string name;
  std::function<void(const std::function<void()>&)> make;  ///< constructs the tested object, then calls a given check
  int communicators = 2;                                   ///< most MPI communicators that `make` may duplicate
};

template <class Object>
Made made(const std::string& name, const std::function<Object()>& make, int communicators = 2) {
  return {name,
          [make](const std::function<void()>& look) {
            const Object object = make();
            look();
          },
          communicators};
}

/// Fields of a halo and a transpose, which outlive their exchanges.
struct Fields {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1, comm.size() > 2 ? 2 : 1);
  const Grid grid{{24, 24, 24}, machine, comm.rank(), periodic()};
  const Grid slabs{{24, 24, 24}, machine, comm.rank(), along_z(machine.devices())};
  Field u{grid, values()}, v{slabs, values()};
  const Halo halo{Halo::Options{}};
  const Transpose transpose{grid, slabs};

  static GridOptions periodic() {
    GridOptions options;
    options.periodic = {true, true, true};
    return options;
  }
  static GridOptions along_z(int devices) {
    GridOptions options;
    for (int d = 0; d < devices; ++d)
      options.boxes.push_back({.box = piece({{0, 0, 0}, {24, 24, 24}}, {1, 1, devices}, {0, 0, d}), .device = d});
    return options;
  }
  static FieldOptions values() {
    FieldOptions options;
    options.name = "values";
    options.ghost = {1, 1, 1};
    options.shared = true;
    return options;
  }

  Exchange exchange(const ExchangeOptions& options, const Coding& coding = {}) {
    return {comm, grid, {{.pattern = &halo, .source = &u, .coding = coding}}, options};
  }
  Exchange transposed(const ExchangeOptions& options) { return {comm, grid, {{&transpose, &u, &v}}, options}; }
};

ExchangeOptions by_host(Grouping grouping = Grouping::devices, MpiCalls calls = MpiCalls::sends) {
  ExchangeOptions options;
  options.routes = {RouteKind::kernel, RouteKind::staged};
  options.knobs.grouping = grouping;
  options.knobs.mpi = calls;
  return options;
}

std::vector<Made> exchanges(Fields& fields) {
  const Coding cast{Coding::Kind::cast};
  return {
      made<Exchange>(
          "a halo", [&] { return fields.exchange({}); }, 1),
      made<Exchange>("a coded halo", [&, cast] { return fields.exchange({}, cast); }),
      made<Exchange>("a coded halo by the host", [&, cast] { return fields.exchange(by_host(), cast); }),
      made<Exchange>(
          "a halo of nodes", [&] { return fields.exchange(by_host(Grouping::nodes)); }, 1),
      made<Exchange>(
          "a transpose", [&] { return fields.transposed({}); }, 1),
      made<Exchange>("a transpose in one call",
                     [&] { return fields.transposed(by_host(Grouping::devices, MpiCalls::ialltoallv)); }),
  };
}

std::vector<Made> transforms(const Communicator& comm, const Machine& machine) {
  const auto fft = [&](const std::string& name, const std::function<void(FftOptions&)>& change) {
    FftOptions options;
    change(options);
    return made<Fft>("a transform " + name, [=] { return Fft(comm, machine, {16, 16, 16}, options); });
  };
  return {
      fft("of slabs", [](FftOptions&) {}),
      fft("in parts", [](FftOptions& o) { o.parts = 4, o.store = false; }),
      fft("of overlapped components", [](FftOptions& o) { o.overlap = true, o.transposed = false; }),
      fft("of coded pencils",
          [&](FftOptions& o) {
            o.process_grid = {2, machine.devices() / 2};
            o.coding = Coding{Coding::Kind::cast};
            o.exchange = by_host();
          }),
      fft("that is verified", [](FftOptions& o) { o.verify = true; }),
  };
}

std::vector<Made> gather_scatters(const Communicator& comm, const Machine& machine,
                                  const std::vector<SharedPoints>& points) {
  const auto one = [&](const std::string& name, const std::function<void(GatherScatterOptions&)>& change) {
    GatherScatterOptions options;
    change(options);
    return made<GatherScatter>("a gather-scatter " + name,
                               [=] { return GatherScatter(comm, machine, points, options); });
  };
  return {
      one("of copies", [](GatherScatterOptions&) {}),
      one("of unique values", [](GatherScatterOptions& o) { o.unique = true; }),
      one("of coded values", [](GatherScatterOptions& o) { o.coding = Coding{Coding::Kind::cast}; }),
      one("packed by the host", [](GatherScatterOptions& o) { o.host_packed = true; }),
  };
}

std::vector<Made> solvers(const Communicator& comm, const Machine& machine) {
  stencil::Options explicit_steps = stencil::heat({16, 16, 16}, {true, false, true}), implicit_steps = explicit_steps;
  explicit_steps.time_step = stencil::stable_time_step(explicit_steps);
  implicit_steps.scheme = stencil::Scheme::backward_euler;
  implicit_steps.time_step = explicit_steps.time_step;
  dns::Options turbulence;
  turbulence.cells = {16, 16, 16};
  turbulence.overlap = true;
  sem::Options elements;
  elements.elements = {4, 4, 4};
  elements.order = 3;
  lbm::Options fluid;
  fluid.cells = {16, 16, 16};
  fluid.viscosity = 0.1;
  return {
      made<stencil::Stencil>("a stencil", [=] { return stencil::Stencil(comm, machine, explicit_steps); }),
      made<stencil::Stencil>("an implicit stencil", [=] { return stencil::Stencil(comm, machine, implicit_steps); }),
      made<dns::Dns>("a pseudo-spectral flow", [=] { return dns::Dns(comm, machine, turbulence); }),
      made<sem::Sem>("spectral elements", [=] { return sem::Sem(comm, machine, elements); }),
      made<lbm::Lbm>("a lattice", [=] { return lbm::Lbm(comm, machine, fluid); }),
  };
}

void expect_few_communicators(const std::vector<Made>& objects) {
  for (const Made& object : objects) {
    SCOPED_TRACE(object.name);
    communicators_made = communicators_freed = 0;
    object.make([&] { EXPECT_LE(communicators_made - communicators_freed, object.communicators); });
    EXPECT_EQ(communicators_freed, communicators_made);
    if (Communicator::world().size() > 1) EXPECT_GE(communicators_made, 1);
  }
}

TEST(SetUp, OfAnExchangeTakesAtMostTwoCommunicators) {
  Fields fields;
  fields.exchange({});  // a first exchange, which asks whether MPI takes device memory
  expect_few_communicators(exchanges(fields));
}

TEST(SetUp, OfATransformTakesAtMostTwoCommunicators) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 2);
  expect_few_communicators(transforms(comm, machine));
}

TEST(SetUp, OfAGatherScatterTakesAtMostTwoCommunicators) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 2);
  const auto domain = shared_points::Domain::random(8, 1);
  const shared_points::Dealt dealt(domain, machine, comm.rank());
  expect_few_communicators(gather_scatters(comm, machine, dealt.points()));
}

TEST(SetUp, OfAnAllReduceTakesAtMostTwoCommunicators) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 2);
  const auto reduce = [&](ReduceMethod method) {
    return made<AllReduce>(
        to_string(method), [=] { return AllReduce(comm, machine, 3, DType::f64, Op::add, {.method = method}); }, 1);
  };
  expect_few_communicators({reduce(ReduceMethod::peer), reduce(ReduceMethod::mpi)});
}

TEST(SetUp, OfASolverTakesAtMostTwoCommunicators) {
  const Communicator comm = Communicator::world();
  expect_few_communicators(solvers(comm, machine_here(Backend::host, 1)));
}

/// Constructing an exchange gathers numbers from all ranks, but texts (error messages) only after an error.
TEST(SetUp, OfAnExchangeGathersNoTexts) {
  Fields fields;
  for (const Made& object : exchanges(fields)) {
    SCOPED_TRACE(object.name);
    text_gathered = 0;
    object.make([] { EXPECT_EQ(text_gathered, 0); });
  }
}

/// Each rank places its messages in its part of symmetric memory; sender and receiver must agree on their positions.
TEST(SetUp, OfSymmetricMemoryIsToldToNeighbours) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1);
  PrivateCommunicator own(comm, "a test");
  RouteSetup setup{comm, machine, {}};
  setup.own = &own;
  const int ranks = comm.size();
  for (int source = 0; source < ranks; ++source)
    for (int target = 0; target < ranks; ++target)
      if ((source == comm.rank() || target == comm.rank()) && (source + 2 * target) % 5 != 1)
        setup.letters.push_back({source, target, static_cast<std::size_t>(100 * source + target + 1)});
  const SymmetricLayout layout = agreed_layout(setup);
  ASSERT_EQ(layout.places.size(), setup.letters.size());
  std::string mine;
  for (const auto& [devices, place] : layout.places) {
    EXPECT_GE(place.bytes, static_cast<std::size_t>(100 * devices.first + devices.second + 1));
    mine += std::to_string(devices.first) + "-" + std::to_string(devices.second) + ":" + std::to_string(place.full) +
            "," + std::to_string(place.free) + "," + std::to_string(place.slot) + ";";
  }
  std::map<std::string, std::set<std::string>> told;  // each message's offsets at sender and receiver, to be equal
  for (const std::string& theirs : comm.all_gather(mine))
    for (std::size_t at = 0, end = 0; (end = theirs.find(';', at)) != std::string::npos; at = end + 1) {
      const std::size_t colon = theirs.find(':', at);
      told[theirs.substr(at, colon - at)].insert(theirs.substr(colon, end - colon));
    }
  for (const auto& [message, places] : told) EXPECT_EQ(places.size(), 1u) << message;
  EXPECT_EQ(comm.max(static_cast<double>(layout.bytes)), static_cast<double>(layout.bytes));
}

}  // namespace
}  // namespace slipstream
