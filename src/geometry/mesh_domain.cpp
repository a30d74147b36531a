#include <algorithm>

#include <slipstream/error.hpp>
#include <slipstream/mesh.hpp>

#include "geometry/mesh_vectors.hpp"

namespace slipstream {
namespace {

constexpr std::array<char, 3> axis_names{'x', 'y', 'z'};

void check_options(const Bounds& body, const MeshDomainOptions& options) {
  require(finite(body.lo) && finite(body.hi), "a domain from a mesh needs a mesh with triangles", {{"option", "mesh"}});
  require(
      std::isfinite(options.spacing) && options.spacing > 0,
      "the spacing of a domain from a mesh is " + to_text(options.spacing) + ": it must be a length in " + options.unit,
      {{"option", "spacing"}, {"given", options.spacing}});
  for (int a = 0; a < 3; ++a) {
    const std::string axis(1, axis_names[a]);
    require(options.block[a] > 0,
            "blocks of a domain from a mesh have " + std::to_string(options.block[a]) + " cells along " + axis +
                ": give at least 1",
            {{"option", "block"}, {"axis", axis}, {"given", options.block[a]}});
    require(std::isfinite(options.margin_low[a]) && std::isfinite(options.margin_high[a]),
            "the margins of a domain from a mesh along " + axis + " must be finite",
            {{"option", "margin"}, {"axis", axis}});
    require(body.hi[a] - body.lo[a] + options.margin_low[a] + options.margin_high[a] > 0, ErrorCode::unsupported,
            "the margins of a domain from a mesh leave nothing along " + axis + ": the body is " +
                to_text(body.hi[a] - body.lo[a]) + " long, the margins are " + to_text(options.margin_low[a]) +
                " and " + to_text(options.margin_high[a]),
            {{"option", "margin"}, {"axis", axis}});
  }
}

// Names a confusion of units that would explain the body's size: corrected, it fills 1 % to 100 % of the domain.
std::string check_units(double size, double domain, Facts& facts) {
  struct Confusion {
    double factor;
    const char* name;
  };
  for (const auto& [factor, name] :
       {Confusion{1e-3, "mm were taken for m"}, Confusion{1e-2, "cm were taken for m"},
        Confusion{0.0254, "in were taken for m"}, Confusion{1e3, "m were taken for mm"},
        Confusion{1e2, "m were taken for cm"}, Confusion{1 / 0.0254, "m were taken for in"}}) {
    const double part = size * factor / domain;
    if (part < 0.01 || part > 1) continue;
    facts.emplace_back("scale", factor);
    return "check the units of its mesh: it would fit if scaled by " + to_text(factor) + ", as where " + name;
  }
  return "check the units of its mesh";
}

// Suggests a factor, a power of ten, that makes the body 5 % to 50 % of the domain.
std::string another_scale(double size, double domain, Facts& facts) {
  if (size <= 0) return "its mesh is a point";
  const double factor = std::pow(10.0, std::floor(std::log10(0.5 * domain / size)));
  facts.emplace_back("scale", factor);
  return "give its mesh another scale: " + to_text(factor) + " times as large, it would fit";
}

}  // namespace

MeshDomain fit_domain(const Bounds& body, const MeshDomainOptions& options) {
  check_options(body, options);
  MeshDomain domain;
  domain.spacing = options.spacing;
  for (int a = 0; a < 3; ++a) {
    const double low = body.lo[a] - options.margin_low[a], high = body.hi[a] + options.margin_high[a];
    const double wanted = (high - low) / options.spacing;
    require(wanted < 1e9, ErrorCode::unsupported,
            "a domain from a mesh would have " + to_text(wanted) + " cells along " + std::string(1, axis_names[a]) +
                ": the spacing of " + to_text(options.spacing) + " " + options.unit +
                " is far too small for it; check the " + (options.unit == "m" ? "units" : "scale") + " of the mesh",
            {{"option", "spacing"}, {"axis", std::string(1, axis_names[a])}, {"cells", wanted}});
    // Rounding must not add a cell to an extent that is a whole number of cells.
    const auto needed = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(wanted * (1 - 1e-12) - 1e-9)));
    domain.blocks[a] = (needed + options.block[a] - 1) / options.block[a];
    domain.cells[a] = domain.blocks[a] * options.block[a];
    const std::int64_t below = options.keep_low[a] ? 0 : (domain.cells[a] - needed) / 2;
    domain.origin[a] = low - static_cast<double>(below) * options.spacing;
  }
  return domain;
}

void require_inside(const Bounds& body, const std::string& name, const MeshDomain& domain, const std::string& unit) {
  require(finite(body.lo) && finite(body.hi), "body '" + name + "' has no triangles",
          {{"body", name}, {"triangles", 0}});
  Bounds box;
  box.include(domain.origin);
  Point high;
  for (int a = 0; a < 3; ++a) high[a] = domain.origin[a] + static_cast<double>(domain.cells[a]) * domain.spacing;
  box.include(high);

  const Point size = body.extents(), room = box.extents();
  const double body_size = std::max({size[0], size[1], size[2]}), room_size = std::max({room[0], room[1], room[2]});
  const std::string where = "body '" + name + "' reaches from " + to_text(body.lo) + " to " + to_text(body.hi) + " " +
                            unit + ", the domain from " + to_text(box.lo) + " to " + to_text(box.hi) + " " + unit;
  const bool metres = unit == "m";
  if (body_size > 10 * room_size || body_size < domain.spacing) {
    const std::string cell = metres ? "a cell (" + to_text(domain.spacing) + " m)" : "a cell";
    Facts facts{{"body", name}, {"size", body_size}, {"domain", room_size}};
    const std::string advice =
        metres ? check_units(body_size, room_size, facts) : another_scale(body_size, room_size, facts);
    throw Error(ErrorCode::unsupported,
                where + ": it is " +
                    (body_size < domain.spacing ? "smaller than " + cell : "far larger than the domain") + "; " +
                    advice,
                std::move(facts));
  }
  for (int a = 0; a < 3; ++a)
    require(body.hi[a] > box.lo[a] && body.lo[a] < box.hi[a], ErrorCode::unsupported,
            where + ": it lies outside along " + std::string(1, axis_names[a]) + "; translate it, or check its " +
                (metres ? "units" : "scale"),
            {{"body", name}, {"axis", std::string(1, axis_names[a])}});
}

bool longer_than(const MeshDomain& domain, const Bounds& body, int axis) {
  // The tolerance covers rounding if the body is as long as the domain.
  return body.hi[axis] - body.lo[axis] > (static_cast<double>(domain.cells[axis]) + 1e-6) * domain.spacing;
}

std::vector<Extent> image_shifts(const Bounds& body, const MeshDomain& domain, std::int64_t reach) {
  std::array<std::vector<std::int64_t>, 3> along;
  for (int a = 0; a < 3; ++a) {
    along[a] = {0};
    if (!domain.periodic[a] || !finite(body.lo) || !finite(body.hi) || longer_than(domain, body, a)) continue;
    const double period = static_cast<double>(domain.cells[a]) * domain.spacing;
    const double margin = static_cast<double>(reach) * domain.spacing, low = domain.origin[a];
    // Images of a body are shifted by k periods, for all k where its bounds overlap the domain extended by a margin.
    const double first = std::clamp(std::ceil((low - margin - body.hi[a]) / period), -1e9, 1e9);
    const double last = std::clamp(std::floor((low + period + margin - body.lo[a]) / period), -1e9, 1e9);
    for (auto k = static_cast<std::int64_t>(first); k <= static_cast<std::int64_t>(last); ++k)
      if (k != 0) along[a].push_back(k);
  }
  std::vector<Extent> shifts;
  for (const std::int64_t z : along[2])
    for (const std::int64_t y : along[1])
      for (const std::int64_t x : along[0]) shifts.push_back({x, y, z});
  return shifts;
}

Mesh with_images(const Mesh& mesh, const MeshDomain& domain, std::int64_t reach) {
  Mesh all = mesh;
  const std::vector<Extent> shifts = image_shifts(bounds(mesh), domain, reach);
  for (auto shift = shifts.begin() + 1; shift != shifts.end(); ++shift) {
    MeshTransform transform;
    for (int a = 0; a < 3; ++a)
      transform.translate[a] = static_cast<double>((*shift)[a] * domain.cells[a]) * domain.spacing;
    all = join(all, transformed(mesh, transform));
  }
  return all;
}

}  // namespace slipstream
