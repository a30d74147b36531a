#include "solver/lbm/keys.hpp"

namespace slipstream::lbm {
namespace {

using namespace key_values;

}  // namespace

std::vector<CaseTable> case_tables() {
  const Options usual;
  const auto left_out = std::monostate{};
  CaseTable table{"lbm", "the method.", {}};
  table.keys = {
      {"lattice", {names_of(lattices)}, name_in(lattices, usual.lattice), "", "Set of velocities."},
      {"representation",
       {names_of(representations)},
       name_in(representations, usual.representation),
       "",
       "What a cell holds: its populations, or the ten moments that a regularised collision leaves of them (D3Q19, two "
       "arrays along x): about half of the memory and of the time of a step."},
      {"collision",
       {names_of(collisions)},
       name_in(collisions, usual.collision),
       "",
       "By populations: one relaxation time, two, one for each group of moments, or cumulant (D3Q27 only). By moments: "
       "regularised, of second order, or recursive, with terms of third; left out: recursive."},
      {"magic",
       {number_above(0)},
       usual.magic,
       "-",
       "TRT and MRT: (tau+ - 1/2)(tau- - 1/2); 3/16 puts walls exactly half-way between cells."},
      {"smagorinsky",
       {up_to(1, with_infinity(number_from(0)))},
       left_out,
       "-",
       "Large eddies only: Smagorinsky's constant, 0.1 to 0.2 as a rule; the filter is one cell wide. Left out: no "
       "model "
       "of eddies."},
      {"precision",
       {names_of(precisions)},
       name_in(precisions, usual.precision),
       "",
       "Number format of the populations, or moments; f16 is computed with in f32."},
      {"streaming",
       {names_of(streamings)},
       name_in(streamings, usual.streaming),
       "",
       "Two arrays of populations, or one that is updated in place: half the memory, the same bits."},
      {"solids",
       {names_of(ways_of_solids)},
       name_in(ways_of_solids, usual.solids),
       "",
       "Cells inside of bodies: stored and computed, stored and skipped, or left out; auto: by their share in each "
       "block, "
       "or the fastest where exchange.tune measures. The same bits."},
      {"layout",
       {names({"auto", to_string(Layout::soa), to_string(Layout::aos), to_string(Layout::soa_z)})},
       "auto",
       "",
       "Populations in arrays of their own with rows along x, side by side, or in arrays of their own with rows along "
       "z; "
       "auto: along x, on GPUs along z where devices share x and blocks are not cut in z."},
      {"alignment",
       {up_to(4096, integer_from(4)), names({"auto"})},
       "auto",
       "bytes",
       "Bytes to which the first interior cell of each row is aligned, a power of two; auto: 256 on GPUs, 64 on the "
       "host."},
      {"tile",
       {names({"auto", "64x4", "32x8", "64x8", "32x16"})},
       "auto",
       "",
       "By moments: cells along x and y that a team of threads takes, in f16 64x8 or 32x16, else 64x4 or 32x8; on the "
       "host whole rows, as many as the tile is high. auto: what suits the precision, or the fastest where "
       "exchange.tune "
       "measures. On GPUs blocks with a resting wall at a side take what suits the precision (64 cells wide, f64: 32) "
       "in "
       "any case. The same bits."},
      {"chunk",
       {integer_from(1), names({"auto"})},
       "auto",
       "planes",
       "By moments: planes along z that a team goes through at most; auto: as for tile. The same bits."},
  };
  return {table};
}

}  // namespace slipstream::lbm
