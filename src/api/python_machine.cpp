#include <algorithm>

#include "api/python_core.hpp"

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

nb::dict link_dict(const Link& link) {
  nb::dict entry;
  entry["kind"] = to_string(link.kind);
  entry["gb_per_s"] = link.gb_per_s;
  entry["peer"] = link.peer;
  return entry;
}

nb::list links(const Machine& machine) {
  nb::list all;
  for (int a = 0; a < machine.devices(); ++a) {
    nb::list row;
    for (int b = 0; b < machine.devices(); ++b) row.append(link_dict(machine.link(a, b)));
    all.append(row);
  }
  return all;
}

/// Lists each distinct link between devices once. Tables refer to these: one of devices for each kind of node, and one
/// of groups of devices on different nodes. Thousands of devices have too many pairs for a full table.
nb::dict link_classes(const Machine& machine) {
  std::vector<Link> found;
  const auto numbered = [&](const LinkTable& table) {
    nb::list rows;
    for (int from = 0; from < table.size; ++from) {
      nb::list row;
      for (int to = 0; to < table.size; ++to) {
        const auto at = std::find(found.begin(), found.end(), table.at(from, to));
        row.append(at - found.begin());
        if (at == found.end()) found.push_back(table.at(from, to));
      }
      rows.append(row);
    }
    return rows;
  };
  nb::dict all;
  nb::list within, links;
  for (const LinkTable& table : machine.links().within) within.append(numbered(table));
  all["within"] = within;
  all["between"] = numbered(machine.links().between);
  all["kind"] = machine.links().kind;
  all["group"] = machine.links().group;
  for (const Link& link : found) links.append(link_dict(link));
  all["links"] = links;
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

Link link_from(const nb::dict& entry) {
  return {link_kind_from_string(nb::cast<std::string>(entry["kind"])), nb::cast<double>(entry["gb_per_s"]),
          nb::cast<bool>(entry["peer"])};
}

using Matrix = std::vector<std::vector<std::size_t>>;

LinkTable table_from(const std::vector<Link>& links, const Matrix& which) {
  LinkTable table{static_cast<int>(which.size()), {}};
  for (const auto& row : which)
    for (const std::size_t number : row) table.links.push_back(links.at(number));
  return table;
}

/// Makes a described machine of equal nodes. `within` and `between` say which of the links joins a device of a node
/// with one of the same node, and of another one.
Machine describe(const std::string& name, const nb::list& device_list, const nb::list& link_list, const Matrix& within,
                 const Matrix& between) {
  std::vector<MachineDevice> found;
  for (const nb::handle h : device_list) {
    const auto entry = nb::cast<nb::dict>(h);
    MachineDevice device;
    device.node = nb::cast<int>(entry["node"]);
    device.rank = nb::cast<int>(entry["rank"]);
    // A described machine need not exist. Its message routes are planned as if its devices were CUDA GPUs.
    device.local = {Backend::cuda, nb::cast<int>(entry["index"])};
    device.name = nb::cast<std::string>(entry["name"]);
    device.uuid = name + "-" + std::to_string(found.size());
    device.memory = nb::cast<std::int64_t>(entry["memory"]);
    device.memory_gb_per_s = nb::cast<double>(entry["memory_gb_per_s"]);
    found.push_back(device);
  }
  std::vector<Link> different;
  for (const nb::handle h : link_list) different.push_back(link_from(nb::cast<nb::dict>(h)));
  Links links;
  links.within = {table_from(different, within)};
  links.between = table_from(different, between);
  links.kind.assign(found.size() / within.size(), 0);
  for (std::size_t d = 0; d < found.size(); ++d) links.group.push_back(static_cast<int>(d % between.size()));
  return Machine(name, std::move(found), std::move(links));
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
          nb::arg("bind") = true, nb::arg("comm").none() = nb::none(), nb::call_guard<Released>())
      .def_static(
          "network_cards",
          [](const std::string& backend, int devices_per_rank, int place, int ranks) {
            return Machine::network_cards({backend_from_string(backend), devices_per_rank}, place, ranks);
          },
          nb::arg("backend"), nb::arg("devices_per_rank"), nb::arg("place"), nb::arg("ranks"))
      .def_static("describe", &describe, nb::arg("name"), nb::arg("devices"), nb::arg("links"), nb::arg("within"),
                  nb::arg("between"))
      .def_prop_ro("name", &Machine::name)
      .def_prop_ro("nodes", &Machine::nodes)
      .def_prop_ro("ranks", &Machine::ranks)
      .def_prop_ro("discovered", &Machine::discovered)
      .def("devices", &devices)
      .def("links", &links)
      .def("link_classes", &link_classes)
      .def(
          "link", [](const Machine& machine, int from, int to) { return link_dict(machine.link(from, to)); },
          nb::arg("source"), nb::arg("target"))
      .def("bindings", &bindings)
      .def("__repr__", [](const Machine& machine) {
        return "<slipstream.Machine: " + machine.name() + "; nodes " + std::to_string(machine.nodes()) + ", ranks " +
               std::to_string(machine.ranks()) + ", devices " + std::to_string(machine.devices()) + ">";
      });
}

}  // namespace slipstream::python
