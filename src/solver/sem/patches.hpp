#pragma once
// Patches: faces on the sides of a box, grouped by boundary condition.
#include <vector>

#include <slipstream/sem_solver.hpp>

namespace slipstream::sem {

inline constexpr const char* side_names[3][2] = {{"x-", "x+"}, {"y-", "y+"}, {"z-", "z+"}};

/// A patch: the faces of a side to which one condition applies.
struct Patch {
  std::size_t axis = 0, end = 0;
  Side side;
  std::vector<bool> faces;  ///< whether a face of the side belongs to the patch; index: ElementBox::face_of()
};
using Patches = std::vector<Patch>;

/// All patches of a box from x- to z+, for each side in the order of its conditions. Periodic axes and patches without
/// faces are left out. Throws Error if no condition holds on a face.
Patches patches_of(const ElementBox& box, const Sides& sides);
/// Flags of the element faces on which a boundary condition gives the unknown's value (Dirichlet's condition).
DirichletFaces dirichlet_faces(const ElementBox& box, const Patches& patches);

/// Points of a patch (part of a side with one boundary condition) in elements [first, last), and quadrature weights.
struct PatchPoints {
  std::vector<std::int64_t> points;
  std::vector<double> weights;
};
PatchPoints points_of(const Patch& patch, const ElementBox& box, const Rule& rule, std::int64_t first,
                      std::int64_t last);

}  // namespace slipstream::sem
