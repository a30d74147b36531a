#pragma once
// Sides of a box cut into faces of elements by the condition that holds there.
#include <vector>

#include <slipstream/sem_solver.hpp>

namespace slipstream::sem {

inline constexpr const char* side_names[3][2] = {{"x-", "x+"}, {"y-", "y+"}, {"z-", "z+"}};

/// Faces of a side on which one condition holds.
struct Patch {
  std::size_t axis = 0, end = 0;
  Side side;
  std::vector<bool> faces;  ///< as ElementBox::face_of numbers them
};
using Patches = std::vector<Patch>;

/// From x- to z+, those of a side in its order; none of periodic axes, none without faces. Throws Error where no
/// condition holds.
Patches patches_of(const ElementBox& box, const Sides& sides);
/// The faces of all patches where values are given.
DirichletFaces dirichlet_faces(const ElementBox& box, const Patches& patches);

/// Points of a patch in elements [first, last), as ElementBox::points_on has them, and the weights of its quadrature.
struct PatchPoints {
  std::vector<std::int64_t> points;
  std::vector<double> weights;
};
PatchPoints points_of(const Patch& patch, const ElementBox& box, const Rule& rule, std::int64_t first,
                      std::int64_t last);

}  // namespace slipstream::sem
