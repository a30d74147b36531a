#include <algorithm>

#include <slipstream/error.hpp>
#include <slipstream/mesh.hpp>

#include "io/mesh_vectors.hpp"

namespace slipstream {
namespace {

constexpr std::array<char, 3> axis_names{'x', 'y', 'z'};

void check_options(const Bounds& body, const MeshDomainOptions& options) {
  require(finite(body.lo) && finite(body.hi), "a domain from a mesh needs a mesh with triangles");
  require(std::isfinite(options.spacing) && options.spacing > 0,
          "the spacing of a domain from a mesh is " + to_text(options.spacing) + ": it must be a length in metres");
  for (int a = 0; a < 3; ++a) {
    const std::string axis(1, axis_names[a]);
    require(options.block[a] > 0, "blocks of a domain from a mesh have " + std::to_string(options.block[a]) +
                                      " cells along " + axis + ": give at least 1");
    require(std::isfinite(options.margin_low[a]) && std::isfinite(options.margin_high[a]),
            "the margins of a domain from a mesh along " + axis + " must be finite");
    require(body.hi[a] - body.lo[a] + options.margin_low[a] + options.margin_high[a] > 0,
            "the margins of a domain from a mesh leave nothing along " + axis + ": the body is " +
                to_text(body.hi[a] - body.lo[a]) + " long, the margins are " + to_text(options.margin_low[a]) +
                " and " + to_text(options.margin_high[a]));
  }
}

// A name of a unit that turns the body's size, now `size`, into a hundredth to a whole of the domain's.
std::string fitting_unit(double size, double domain) {
  struct Unit {
    const char* name;
    double metres;
  };
  for (const Unit& unit :
       {Unit{"mm", 1e-3}, Unit{"cm", 1e-2}, Unit{"in", 0.0254}, Unit{"ft", 0.3048}, Unit{"km", 1e3}}) {
    const double part = size * unit.metres / domain;
    if (part >= 0.01 && part <= 1) return unit.name;
  }
  return "";
}

}  // namespace

MeshDomain fit_domain(const Bounds& body, const MeshDomainOptions& options) {
  check_options(body, options);
  MeshDomain domain;
  domain.spacing = options.spacing;
  for (int a = 0; a < 3; ++a) {
    const double low = body.lo[a] - options.margin_low[a], high = body.hi[a] + options.margin_high[a];
    const double wanted = (high - low) / options.spacing;
    require(wanted < 1e9, "a domain from a mesh would have " + to_text(wanted) + " cells along " +
                              std::string(1, axis_names[a]) + ": the spacing of " + to_text(options.spacing) +
                              " m is far too small for it; check the units of the mesh");
    // An extent that is a whole number of cells but for rounding needs no cell more.
    const auto needed = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(wanted * (1 - 1e-12) - 1e-9)));
    domain.blocks[a] = (needed + options.block[a] - 1) / options.block[a];
    domain.cells[a] = domain.blocks[a] * options.block[a];
    const std::int64_t below = options.keep_low[a] ? 0 : (domain.cells[a] - needed) / 2;
    domain.origin[a] = low - static_cast<double>(below) * options.spacing;
  }
  return domain;
}

void require_inside(const Bounds& body, const std::string& name, const MeshDomain& domain) {
  require(finite(body.lo) && finite(body.hi), "body '" + name + "' has no triangles");
  Bounds box;
  box.include(domain.origin);
  Point high;
  for (int a = 0; a < 3; ++a) high[a] = domain.origin[a] + static_cast<double>(domain.cells[a]) * domain.spacing;
  box.include(high);

  const Point size = body.extents(), room = box.extents();
  const double body_size = std::max({size[0], size[1], size[2]}), room_size = std::max({room[0], room[1], room[2]});
  const std::string where = "body '" + name + "' reaches from " + to_text(body.lo) + " to " + to_text(body.hi) +
                            " m, the domain from " + to_text(box.lo) + " to " + to_text(box.hi) + " m";
  if (body_size > 10 * room_size || body_size < domain.spacing) {
    const std::string unit = fitting_unit(body_size, room_size);
    throw Error(where + ": it is " +
                (body_size < domain.spacing ? "smaller than a cell (" + to_text(domain.spacing) + " m)"
                                            : "far larger than the domain") +
                "; check the units of its mesh" +
                (unit.empty() ? "" : ": it would fit if the lengths now taken for metres were in " + unit));
  }
  for (int a = 0; a < 3; ++a)
    require(body.hi[a] > box.lo[a] && body.lo[a] < box.hi[a],
            where + ": it lies outside along " + std::string(1, axis_names[a]) + "; translate it, or check its units");
}

}  // namespace slipstream
