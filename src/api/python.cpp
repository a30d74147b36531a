// The module slipstream._core, the engine: machine, grids, exchanges, bodies, files. Other modules stand on it.
#include <slipstream/build_info.hpp>
#include <slipstream/copy_rate.hpp>
#include <slipstream/process.hpp>

#include "api/python_core.hpp"
#include "api/python_errors.hpp"
#include "machine/agree.hpp"
#include "machine/end.hpp"
#include "machine/gpu_mpi.hpp"
#include "route/route.hpp"

namespace slipstream::python {
namespace {

nb::dict build_info() {
  nb::dict info;
  info["version"] = build_version();
  info["commit"] = build_commit();
  info["compiler"] = build_compiler();
  info["type"] = build_type();
  info["cuda"] = !build_cuda().empty();
  info["cuda_version"] = build_cuda();
  info["hdf5"] = build_hdf5();
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  info["mpi"] = std::string(text, length).substr(0, std::string(text, length).find(','));
  return info;
}

/// A pair of devices with the properties that a route requires, as far as this machine may have them.
Pair best_pair(RouteKind kind, Backend backend) {
  Pair pair;
  const RouteTraits traits = traits_of(kind);
  pair.same_device = traits.within_device;
  pair.same_process = traits.within_process;
  pair.same_node = pair.peer = true;
  pair.host = backend == Backend::host;
  if (traits.device_memory) pair.gpu_mpi = gpu_mpi_claim(backend);
  return pair;
}

/// Whether a route between two devices of a node, in one process or in two, needs peer access.
bool needs_peer_access(RouteKind kind, bool same_process) {
  Pair pair;
  pair.same_process = same_process;
  pair.same_node = pair.host = true;
  const bool without = route(kind).refusal(pair).empty();
  pair.peer = true;
  return !without && route(kind).refusal(pair).empty();
}

/// Lists all routes. `missing`: why no devices of the backend can use a route on this machine; empty if some can.
nb::list routes(const std::string& backend) {
  nb::list all;
  for (const RouteKind kind : all_routes()) {
    const auto facts = [](const Route::Table& table) {
      nb::dict d;
      for (const auto& [question, answer] : table) d[question.c_str()] = answer;
      return d;
    };
    nb::dict entry;
    entry["name"] = to_string(kind);
    entry["needs_host"] = traits_of(kind).needs_host;
    entry["device_memory"] = traits_of(kind).device_memory;
    entry["peer_within_process"] = needs_peer_access(kind, true);
    entry["peer_between_processes"] = needs_peer_access(kind, false);
    entry["capability"] = facts(route(kind).capability());
    entry["execution"] = facts(route(kind).execution());
    entry["missing"] = route(kind).refusal(best_pair(kind, backend_from_string(backend)));
    const std::optional<RouteLibrary> library = route(kind).library();
    entry["library"] = library ? nb::cast(library->file) : nb::none();
    entry["library_missing"] = library ? library->missing : "";
    all.append(entry);
  }
  return all;
}

/// Returns this process's rank in the job and the number of ranks. It makes no communicator, which would wait for other
/// ranks: callers may ask when those no longer answer.
nb::tuple job() {
  int rank = 0, size = 1;
  if (mpi_started()) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
  return nb::make_tuple(rank, size);
}

}  // namespace
}  // namespace slipstream::python

NB_MODULE(_core, m) {
  using namespace slipstream;
  using namespace slipstream::python;
  nb::set_leak_warnings(false);
  translate_errors();

  // The first call of `rank` or `size` starts MPI, and then waits for the other ranks.
  m.def(
      "rank", [] { return world().rank(); }, nb::call_guard<Released>());
  m.def(
      "size", [] { return world().size(); }, nb::call_guard<Released>());
  m.def("set_process_environment", &set_process_environment, "For programs that have the process to themselves.");
  m.def("mpi_started", &mpi_started);
  m.def("mpi_started_here", &mpi_started_here);
  m.def("job", &job);
  m.def(
      "agree", [](const std::string& failure) { return first_failure(world(), failure); }, nb::arg("failure"),
      nb::call_guard<Released>());
  m.def("all_ranks_end", &all_ranks_end, nb::arg("seconds"), nb::call_guard<Released>());
  m.def("expect_common_end", &expect_common_end);
  m.def(
      "abort", [](int exit_code) { end_job(MPI_COMM_WORLD, exit_code); }, nb::arg("exit_code"));
  m.def(
      "barrier", [] { world().barrier(); }, nb::call_guard<Released>());
  m.def(
      "broadcast", [](const std::string& text, int root) { return world().broadcast(text, root); }, nb::arg("text"),
      nb::arg("root") = 0);
  m.def("available", [](const std::string& name) { return available(backend_from_string(name)); });
  m.def("device_count", [](const std::string& name) { return device_count(backend_from_string(name)); });
  m.def("set_host_threads", &set_host_threads);
  m.def("host_threads", &host_threads);
  m.def("build_info", &build_info);
  m.def("routes", &routes, nb::arg("backend"));
  m.def(
      "copy_bandwidth",
      [](const std::string& backend, std::size_t bytes, double seconds, int index) {
        return copy_rate({backend_from_string(backend), index}, bytes, seconds);
      },
      nb::arg("backend"), nb::arg("bytes"), nb::arg("seconds") = 0.5, nb::arg("index") = 0, nb::call_guard<Released>());
  bind_machine(m);
  bind_checkpoint(m);
  bind_solver(m);
  bind_bodies(m);
  bind_placement(m);
  bind_exchange(m);
  bind_doctor(m);
}
