// Checks of `slipstream doctor` that need compiled code: MPI, the drivers, and mapping of a neighbour's memory.
#include <dlfcn.h>

#include <cstring>

#include <slipstream/buffer.hpp>
#include <slipstream/stream.hpp>

#include "api/python_core.hpp"
#include "machine/gpu_mpi.hpp"

namespace slipstream::python {
namespace {

/// Whether MPI says that it supports device memory; None if it cannot be asked.
nb::object says_gpu_aware() {
  const auto query = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
  return query ? nb::cast(query() != 0) : nb::none();
}

nb::dict mpi_facts() {
  world();
  nb::dict facts;
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0, version = 0, subversion = 0, level = 0;
  MPI_Get_library_version(text, &length);
  MPI_Get_version(&version, &subversion);
  MPI_Query_thread(&level);
  const std::pair<int, const char*> names[] = {{MPI_THREAD_SINGLE, "single"},
                                               {MPI_THREAD_FUNNELED, "funneled"},
                                               {MPI_THREAD_SERIALIZED, "serialized"},
                                               {MPI_THREAD_MULTIPLE, "multiple"}};
  facts["library"] = std::string(text, length);
  facts["standard"] = std::to_string(version) + "." + std::to_string(subversion);
  for (const auto& [value, name] : names)
    if (value == level) facts["threads"] = name;
  facts["gpu_aware"] = says_gpu_aware();
  return facts;
}

nb::list device_facts(const std::string& backend_name) {
  const Backend backend = backend_from_string(backend_name);
  nb::list all;
  for (int index = 0; index < device_count(backend); ++index) {
    const DeviceInfo found = info({backend, index});
    nb::dict entry;
    entry["index"] = index;
    entry["name"] = found.name;
    entry["uuid"] = found.uuid;
    entry["bus_id"] = found.bus_id;
    entry["memory_total"] = found.memory_total;
    entry["memory_free"] = found.memory_free;
    all.append(entry);
  }
  return all;
}

Communicator node_of(const Communicator& comm) {
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(comm.mpi(), MPI_COMM_TYPE_SHARED, comm.rank(), MPI_INFO_NULL, &node),
            "split a communicator by node");
  Communicator duplicate(node);
  MPI_Comm_free(&node);
  return duplicate;
}

/// Reads what a neighbour wrote through a mapping of its memory; throws if that fails.
void read_neighbour(Device device, const std::string& handle_bytes, int neighbour) {
  MemoryHandle handle;
  std::memcpy(&handle, handle_bytes.data(), sizeof handle);
  const std::shared_ptr<void> mapped = import_memory(device, handle);
  Stream stream(device);
  const Buffer<int> seen(device, 1, Memory::pinned);
  copy(stream, seen.data(), mapped.get(), sizeof(int));
  stream.synchronize();
  require(seen.data()[0] == neighbour, ErrorCode::unavailable,
          "mapped memory of rank " + std::to_string(neighbour) + " of the node holds " +
              std::to_string(seen.data()[0]) + " instead of what was written there");
}

/// Maps memory that the next rank exports from its device. Returns the text of the error, which is empty on success.
/// Collective on the node.
std::string map_on(Device device, const Communicator& node) {
  std::string problem;
  const auto note = [&](const Error& error) { problem = to_string(device) + ": " + error.what(); };
  Buffer<int> mine;
  std::string handle_bytes;
  try {
    mine = Buffer<int>(device, 1, Memory::shared);
    const Buffer<int> value(device, 1, Memory::pinned);
    value.data()[0] = node.rank();
    Stream stream(device);
    copy(stream, mine.data(), value.data(), sizeof(int));
    stream.synchronize();
    const MemoryHandle handle = export_memory(device, mine.data());
    handle_bytes.assign(reinterpret_cast<const char*>(&handle), sizeof handle);
  } catch (const Error& error) {
    note(error);
  }
  const std::vector<std::string> handles = node.all_gather(handle_bytes);
  const int neighbour = (node.rank() + 1) % node.size();
  try {
    if (!handles[neighbour].empty()) read_neighbour(device, handles[neighbour], neighbour);
  } catch (const Error& error) {
    note(error);
  }
  node.barrier();  // memory must exist until no other rank maps it
  return problem;
}

/// Every rank maps memory of the next rank of its node, and covers all devices of both at least once. Returns None if a
/// rank is alone on its node, else the text of the error, which is empty on success. Collective.
nb::object map_neighbour(const std::string& backend_name, const std::vector<int>& indices) {
  std::string problem;
  bool alone = false;
  {
    Released release;
    require(!indices.empty(), ErrorCode::unsupported, "a rank without devices cannot map memory of another");
    const Communicator node = node_of(world());
    alone = node.size() == 1;
    const auto turns = alone ? 0 : static_cast<std::size_t>(node.max(static_cast<double>(indices.size())));
    for (std::size_t turn = 0; turn < turns; ++turn) {
      const std::string found = map_on({backend_from_string(backend_name), indices[turn % indices.size()]}, node);
      if (problem.empty()) problem = found;
    }
  }
  return alone ? nb::none() : nb::cast(problem);
}

/// Reason why MPI cannot use device memory of this machine; empty if test messages succeed. Collective.
std::string gpu_mpi_problem(const Machine& machine) {
  std::vector<Device> mine;
  for (const int device : machine.devices_of_rank(world().rank())) mine.push_back(machine.device(device).local);
  if (!world().all(!mine.empty())) return "a rank has no device to prove it with";
  return prove_gpu_mpi(world(), mine);
}

}  // namespace

void bind_doctor(nb::module_& m) {
  m.def("mpi_facts", &mpi_facts);
  m.def("device_facts", &device_facts, nb::arg("backend"));
  m.def("driver_versions", [](const std::string& name) { return driver_versions(backend_from_string(name)); });
  m.def("map_neighbour", &map_neighbour, nb::arg("backend"), nb::arg("indices"));
  m.def("gpu_mpi_problem", &gpu_mpi_problem, nb::arg("machine"), nb::call_guard<Released>());
}

}  // namespace slipstream::python
