#include "api/python_common.hpp"

namespace slipstream::python {
namespace {

nb::list devices(const Machine& machine) {
  nb::list all;
  for (int d = 0; d < machine.devices(); ++d) {
    const MachineDevice& device = machine.device(d);
    nb::dict entry;
    entry["node"] = device.node;
    entry["rank"] = device.rank;
    entry["index"] = device.local.index;
    entry["backend"] = to_string(device.local.backend);
    entry["name"] = device.name;
    entry["uuid"] = device.uuid;
    entry["memory"] = device.memory;
    entry["memory_gb_per_s"] = device.memory_gb_per_s;
    all.append(entry);
  }
  return all;
}

nb::list links(const Machine& machine) {
  nb::list all;
  for (int a = 0; a < machine.devices(); ++a) {
    nb::list row;
    for (int b = 0; b < machine.devices(); ++b) {
      const Link& link = machine.link(a, b);
      nb::dict entry;
      entry["kind"] = to_string(link.kind);
      entry["gb_per_s"] = link.gb_per_s;
      entry["peer"] = link.peer;
      row.append(entry);
    }
    all.append(row);
  }
  return all;
}

nb::list bindings(const Machine& machine) {
  nb::list all;
  for (const Binding& binding : machine.bindings()) {
    nb::dict entry;
    entry["rank"] = binding.rank;
    entry["host"] = binding.host;
    entry["cores"] = binding.cores;
    entry["numa_node"] = binding.numa_node;
    entry["network_card"] = binding.network_card;
    entry["bound"] = binding.bound;
    all.append(entry);
  }
  return all;
}

Machine describe(const std::string& name, const nb::list& device_list, const nb::list& link_rows) {
  std::vector<MachineDevice> found;
  for (const nb::handle h : device_list) {
    const auto entry = nb::cast<nb::dict>(h);
    MachineDevice device;
    device.node = nb::cast<int>(entry["node"]);
    device.rank = nb::cast<int>(entry["rank"]);
    // A described device is a GPU by what routes may be planned on it; nothing ever runs there.
    device.local = {Backend::cuda, nb::cast<int>(entry["index"])};
    device.name = nb::cast<std::string>(entry["name"]);
    device.uuid = name + "-" + std::to_string(found.size());
    device.memory = nb::cast<std::int64_t>(entry["memory"]);
    device.memory_gb_per_s = nb::cast<double>(entry["memory_gb_per_s"]);
    found.push_back(device);
  }
  std::vector<Link> all;
  for (const nb::handle row : link_rows)
    for (const nb::handle h : nb::cast<nb::list>(row)) {
      const auto entry = nb::cast<nb::dict>(h);
      all.push_back({link_kind_from_string(nb::cast<std::string>(entry["kind"])), nb::cast<double>(entry["gb_per_s"]),
                     nb::cast<bool>(entry["peer"])});
    }
  return Machine(name, std::move(found), std::move(all));
}

}  // namespace

void bind_machine(nb::module_& m) {
  nb::class_<Machine>(m, "Machine", "Nodes, ranks and devices and the links between them.")
      .def_static(
          "discover",
          [](const std::string& backend, int devices_per_rank, int ranks_per_node, bool cyclic, bool bind,
             const Communicator* comm) {
            return Machine::discover(comm ? *comm : world(),
                                     {backend_from_string(backend), devices_per_rank, ranks_per_node, cyclic, bind});
          },
          nb::arg("backend"), nb::arg("devices_per_rank") = 0, nb::arg("ranks_per_node") = 0, nb::arg("cyclic") = false,
          nb::arg("bind") = true, nb::arg("comm").none() = nb::none())
      .def_static("describe", &describe, nb::arg("name"), nb::arg("devices"), nb::arg("links"))
      .def_prop_ro("name", &Machine::name)
      .def_prop_ro("nodes", &Machine::nodes)
      .def_prop_ro("ranks", &Machine::ranks)
      .def_prop_ro("discovered", &Machine::discovered)
      .def("devices", &devices)
      .def("links", &links)
      .def("bindings", &bindings);
}

}  // namespace slipstream::python
