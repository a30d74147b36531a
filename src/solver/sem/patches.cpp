#include "solver/sem/patches.hpp"

#include <slipstream/error.hpp>

#include "solver/sem/impl.hpp"
#include "solver/sem/places.hpp"

namespace slipstream::sem {
namespace {

/// Makes a patch of the faces of a side to which a boundary condition applies, and removes them from `left`, the rest.
void take_faces(Patches& patches, const Side& side, std::size_t axis, std::size_t end, std::span<const Point> centres,
                std::vector<bool>& left) {
  Patch patch{axis, end, side, left};
  patch.side.otherwise.clear();
  if (side.where) {
    const std::vector<double> holds = asked(side.where, centres, 0);
    for (std::size_t n = 0; n < holds.size(); ++n) patch.faces[n] = left[n] && holds[n] > 0;
  }
  bool any = false;
  for (std::size_t n = 0; n < left.size(); ++n) {
    any = any || patch.faces[n];
    left[n] = left[n] && !patch.faces[n];
  }
  if (any) patches.push_back(std::move(patch));
}

}  // namespace

Patches patches_of(const ElementBox& box, const Sides& sides) {
  Patches patches;
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t end = 0; end < 2; ++end) {
      const Side& side = sides[axis][end];
      if (side.condition == Condition::periodic) continue;
      std::vector<Point> centres;
      if (side.where) centres = box.face_centres(static_cast<int>(axis), static_cast<int>(end));
      const std::int64_t faces = box.elements[(axis + 1) % 3] * box.elements[(axis + 2) % 3];
      std::vector<bool> left(static_cast<std::size_t>(faces), true);
      take_faces(patches, side, axis, end, centres, left);
      for (const Side& next : side.otherwise) take_faces(patches, next, axis, end, centres, left);
      for (std::size_t n = 0; n < left.size(); ++n)
        require(!left[n],
                std::string("the side ") + side_names[axis][end] + " has no condition at the face round " +
                    text(centres.empty() ? Point{} : centres[n]) + ": end its list with one that holds everywhere",
                {{"option", "sides"},
                 {"side", side_names[axis][end]},
                 {"problem", "no_condition"},
                 {"place", text(centres.empty() ? Point{} : centres[n])}});
    }
  return patches;
}

DirichletFaces dirichlet_faces(const ElementBox& box, const Patches& patches) {
  DirichletFaces faces = box.dirichlet(SideFlags{});
  for (const Patch& patch : patches)
    for (std::size_t n = 0; patch.side.condition == Condition::value && n < patch.faces.size(); ++n)
      if (patch.faces[n]) faces.of[patch.axis][patch.end][n] = true;
  return faces;
}

PatchPoints points_of(const Patch& patch, const ElementBox& box, const Rule& rule, std::int64_t first,
                      std::int64_t last) {
  const auto axis = static_cast<int>(patch.axis), end = static_cast<int>(patch.end);
  const std::int64_t n = rule.order + 1, cube = n * n * n;
  const std::vector<std::int64_t> points = box.points_on(axis, end, first, last, rule.order);
  const std::vector<double> weights = side_weights(box, rule, axis, end, first, last);
  PatchPoints found;
  for (std::size_t p = 0; p < points.size(); ++p) {
    if (!patch.faces[static_cast<std::size_t>(box.face_of(axis, first + points[p] / cube))]) continue;
    found.points.push_back(points[p]);
    found.weights.push_back(weights[p]);
  }
  return found;
}

}  // namespace slipstream::sem
