#include <array>

#include <slipstream/mesh.hpp>

#include "geometry/mesh_edges.hpp"

namespace slipstream {
namespace {

struct Neighbour {
  std::int32_t triangle = -1;
  bool opposed = false;  ///< whether the neighbouring triangle has the opposite orientation
};

// Lists the neighbours of triangles across edges of exactly two triangles; at others the continuation is ambiguous.
std::vector<std::array<Neighbour, 3>> neighbours_of(const Mesh& mesh) {
  std::vector<std::array<Neighbour, 3>> result(mesh.triangles.size());
  const auto link = [&](std::int32_t from, std::int32_t to, bool opposed) {
    for (Neighbour& free : result[from])
      if (free.triangle < 0) {
        free = {to, opposed};
        return;
      }
  };
  const auto uses = edge_uses(mesh);
  for_each_edge(uses, [&](std::size_t first, std::size_t last) {
    if (last - first != 2) return;
    const EdgeUse &a = uses[first], &b = uses[first + 1];
    link(a.triangle, b.triangle, a.forward == b.forward);
    link(b.triangle, a.triangle, a.forward == b.forward);
  });
  return result;
}

}  // namespace

Mesh oriented(const Mesh& mesh) {
  const auto neighbours = neighbours_of(mesh);
  enum : signed char { unseen = -1, kept = 0, turned = 1 };
  std::vector<signed char> state(mesh.triangles.size(), unseen);
  std::vector<std::int32_t> shell;
  for (std::size_t start = 0; start < mesh.triangles.size(); ++start) {
    if (state[start] != unseen) continue;
    state[start] = kept;
    shell.assign(1, static_cast<std::int32_t>(start));
    std::size_t turns = 0;
    for (std::size_t next = 0; next < shell.size(); ++next)
      for (const Neighbour& n : neighbours[shell[next]]) {
        if (n.triangle < 0 || state[n.triangle] != unseen) continue;
        state[n.triangle] = static_cast<signed char>(state[shell[next]] ^ static_cast<int>(n.opposed));
        turns += state[n.triangle] == turned;
        shell.push_back(n.triangle);
      }
    if (2 * turns > shell.size())
      for (const auto t : shell) state[t] = static_cast<signed char>(1 - state[t]);
  }
  Mesh result = mesh;
  for (std::size_t t = 0; t < state.size(); ++t)
    if (state[t] == turned) std::swap(result.triangles[t][1], result.triangles[t][2]);
  return result;
}

}  // namespace slipstream
