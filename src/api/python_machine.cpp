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

bool alike(const Link& a, const Link& b) { return a.kind == b.kind && a.gb_per_s == b.gb_per_s && a.peer == b.peer; }

/// The links without repeats, and a matrix that says which of them joins two devices: of thousands of devices Python
/// could not hold each pair's.
nb::tuple different_links(const Machine& machine) {
  const int devices = machine.devices();
  std::vector<Link> found;
  auto* const which = new std::vector<std::uint16_t>;
  const nb::capsule owner(which, [](void* p) noexcept { delete static_cast<std::vector<std::uint16_t>*>(p); });
  which->reserve(static_cast<std::size_t>(devices) * devices);
  for (int a = 0; a < devices; ++a)
    for (int b = 0; b < devices; ++b) {
      const Link& link = machine.link(a, b);
      const auto at = std::find_if(found.begin(), found.end(), [&](const Link& known) { return alike(known, link); });
      which->push_back(static_cast<std::uint16_t>(at - found.begin()));
      if (at == found.end()) found.push_back(link);
    }
  require(found.size() <= 65536, ErrorCode::unsupported,
          "machine '" + machine.name() + "' has more than 65536 sorts of links");
  nb::list list;
  for (const Link& link : found) list.append(link_dict(link));
  const std::size_t shape[2] = {static_cast<std::size_t>(devices), static_cast<std::size_t>(devices)};
  return nb::make_tuple(list, nb::ndarray<nb::numpy, std::uint16_t>(which->data(), 2, shape, owner));
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

using LinkMatrix = nb::ndarray<const std::uint16_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// `link_list` holds the different links, and `which[a, b]` says which of them joins a and b: millions of pairs have a
/// few kinds of link.
Machine describe(const std::string& name, const nb::list& device_list, const nb::list& link_list,
                 const LinkMatrix& which) {
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
  std::vector<Link> different, all;
  for (const nb::handle h : link_list) different.push_back(link_from(nb::cast<nb::dict>(h)));
  all.reserve(which.size());
  for (std::size_t i = 0; i < which.size(); ++i) all.push_back(different.at(which.data()[i]));
  return Machine(name, std::move(found), all);
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
      .def_static("describe", &describe, nb::arg("name"), nb::arg("devices"), nb::arg("links"), nb::arg("which"))
      .def_prop_ro("name", &Machine::name)
      .def_prop_ro("nodes", &Machine::nodes)
      .def_prop_ro("ranks", &Machine::ranks)
      .def_prop_ro("discovered", &Machine::discovered)
      .def("devices", &devices)
      .def("links", &links)
      .def("different_links", &different_links)
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
