#include "machine/affinity.hpp"

#include <hwloc.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <numeric>

#include <slipstream/error.hpp>

namespace slipstream::detail {
namespace {

/// A set of hardware threads or of NUMA nodes.
class Set {
 public:
  Set() : bits_(hwloc_bitmap_alloc()) {}
  explicit Set(hwloc_const_bitmap_t other) : bits_(other ? hwloc_bitmap_dup(other) : hwloc_bitmap_alloc()) {}
  Set(const Set& other) : Set(other.bits_) {}
  Set& operator=(const Set& other) {
    hwloc_bitmap_copy(bits_, other.bits_);
    return *this;
  }
  ~Set() { hwloc_bitmap_free(bits_); }
  hwloc_bitmap_t get() const { return bits_; }
  bool empty() const { return hwloc_bitmap_iszero(bits_); }
  int count() const { return hwloc_bitmap_weight(bits_); }
  bool operator==(const Set& other) const { return hwloc_bitmap_isequal(bits_, other.bits_); }
  void add(const Set& other) { hwloc_bitmap_or(bits_, bits_, other.bits_); }
  std::string text() const {
    char* list = nullptr;
    if (hwloc_bitmap_list_asprintf(&list, bits_) < 0) return "";
    std::string result = list;
    std::free(list);
    return result;
  }

 private:
  hwloc_bitmap_t bits_;
};

/// The cores to which this library bound the process, and the cores before. A later Affinity must not mistake the
/// library's own binding for the launcher's.
struct OwnBinding {
  bool made = false;
  Set before, after;
};
OwnBinding& own_binding() {
  static OwnBinding binding;
  return binding;
}

/// Online hardware threads of the host, inside and outside of this process's container.
Set online_threads(hwloc_topology_t topology) {
  Set result(hwloc_topology_get_complete_cpuset(topology));
  std::string list;
  if (std::getline(std::ifstream("/sys/devices/system/cpu/online"), list) && !list.empty())
    hwloc_bitmap_list_sscanf(result.get(), list.c_str());
  return result;
}

/// The topology of the host, read once per process, because probing its PCI devices takes milliseconds.
struct Host {
  Host() {
    require(hwloc_topology_init(&topology) == 0, ErrorCode::unavailable, "hwloc cannot be used on this host");
    // hwloc plug-ins that open displays or compute libraries are disabled: they take time and nothing here needs them.
    for (const char* plug_in : {"gl", "opencl"})
      hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, plug_in);
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(topology) == 0) return;
    hwloc_topology_destroy(topology);
    throw Error(ErrorCode::unavailable, "hwloc cannot read the topology of this host: look at what lstopo says");
  }
  ~Host() { hwloc_topology_destroy(topology); }

  Set allowed() const {
    Set set;
    if (hwloc_get_cpubind(topology, set.get(), HWLOC_CPUBIND_PROCESS) != 0 || set.empty())
      return Set(hwloc_topology_get_topology_cpuset(topology));
    hwloc_bitmap_and(set.get(), set.get(), hwloc_topology_get_topology_cpuset(topology));
    return set;
  }

  /// Type of the hwloc objects that count as cores: hardware threads if the host does not report cores.
  hwloc_obj_type_t core_type() const {
    return hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  }
  int core_count() const { return hwloc_get_nbobjs_by_type(topology, core_type()); }
  hwloc_obj_t core(int index) const { return hwloc_get_obj_by_type(topology, core_type(), index); }

  hwloc_obj_t beside(const std::string& bus_id) const {
    if (bus_id.empty()) return nullptr;
    const hwloc_obj_t found = hwloc_get_pcidev_by_busidstring(topology, bus_id.c_str());
    return found ? hwloc_get_non_io_ancestor_obj(topology, found) : nullptr;
  }

  hwloc_topology_t topology = nullptr;
};

const Host& host() {
  static const Host host;
  return host;
}

}  // namespace

Affinity::Affinity(bool rebind) {
  OwnBinding& own = own_binding();
  if (!rebind || !own.made || host().allowed() != own.after) return;
  hwloc_set_cpubind(host().topology, own.before.get(), HWLOC_CPUBIND_PROCESS);
  own.made = false;
}

bool Affinity::restricted() const { return host().allowed().count() < online_threads(host().topology).count(); }

std::vector<int> Affinity::cores() const {
  std::vector<int> all(host().core_count());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<int> Affinity::cores_near(const std::vector<std::string>& bus_ids) const {
  Set near;
  for (const std::string& bus_id : bus_ids)
    if (const hwloc_obj_t place = host().beside(bus_id)) near.add(Set(place->cpuset));
  if (near.empty()) return cores();
  std::vector<int> result;
  for (int i = 0; i < host().core_count(); ++i)
    if (hwloc_bitmap_intersects(host().core(i)->cpuset, near.get())) result.push_back(i);
  return result.empty() ? cores() : result;
}

int Affinity::distance(const std::string& bus_id) const {
  const hwloc_obj_t place = host().beside(bus_id);
  const Set mine = host().allowed();
  if (!place || hwloc_bitmap_intersects(place->cpuset, mine.get())) return 0;
  const hwloc_obj_t here = hwloc_get_obj_covering_cpuset(host().topology, mine.get());
  if (!here) return std::numeric_limits<int>::max();
  const hwloc_obj_t meet = hwloc_get_common_ancestor_obj(host().topology, place, here);
  int steps = 0;
  for (hwloc_obj_t end : {place, here})
    for (; end != meet; end = end->parent) ++steps;
  return steps;
}

bool Affinity::bind(const std::vector<int>& cores) {
  Set threads;
  for (const int index : cores) threads.add(Set(host().core(index)->cpuset));
  const Set before = host().allowed();
  if (threads.empty() || hwloc_set_cpubind(host().topology, threads.get(), HWLOC_CPUBIND_PROCESS) != 0) return false;
  own_binding() = {true, before, threads};

  // Memory is bound to the NUMA node. hwloc treats this as a preference, because the STRICT flag is missing: a full
  // node is no error. Threads created later inherit it.
  const int node = numa_node({});
  if (node >= 0 && hwloc_get_nbobjs_by_type(host().topology, HWLOC_OBJ_NUMANODE) > 1) {
    Set nodes;
    hwloc_bitmap_set(nodes.get(), node);
    hwloc_set_membind(host().topology, nodes.get(), HWLOC_MEMBIND_BIND, HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET);
  }
  return true;
}

std::string Affinity::allowed() const { return host().allowed().text(); }

int Affinity::allowed_count() const { return host().allowed().count(); }

int Affinity::numa_node(const std::vector<std::string>& bus_ids) const {
  Set nodes;
  for (const std::string& bus_id : bus_ids)
    if (const hwloc_obj_t place = host().beside(bus_id)) nodes.add(Set(place->nodeset));
  if (nodes.empty()) hwloc_cpuset_to_nodeset(host().topology, host().allowed().get(), nodes.get());
  return nodes.count() == 1 ? hwloc_bitmap_first(nodes.get()) : -1;
}

}  // namespace slipstream::detail
