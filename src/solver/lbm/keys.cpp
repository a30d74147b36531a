#include "solver/lbm/keys.hpp"

namespace slipstream::lbm {
namespace {

using namespace key_values;

}  // namespace

std::vector<CaseTable> case_tables() {
  const Options usual;
  const auto left_out = std::monostate{};
  CaseTable table{"lbm", "the lattice Boltzmann method.", {}};
  table.keys = {
      {"lattice", {names_of(lattices)}, name_in(lattices, usual.lattice), "", "Set of discrete velocities."},
      {"representation",
       {names_of(representations)},
       name_in(representations, usual.representation),
       "",
       "Stored state of a cell: populations, or ten moments with a regularised collision. Moments need D3Q19 and "
       "two arrays with rows along x. They take about half of the memory and of the time of a step."},
      {"collision",
       {names_of(collisions)},
       name_in(collisions, usual.collision),
       "",
       "Collision operator: SRT, TRT, MRT or cumulant for populations; regularised or recursive for moments. "
       "Populations relax with one time (SRT), two (TRT), one per group of moments (MRT), or as cumulants (D3Q27 "
       "only). For moments, regularised has second order, and recursive, the default, third-order terms."},
      {"magic",
       {number_above(0)},
       usual.magic,
       "-",
       "TRT and MRT: magic number (tau+ - 1/2)(tau- - 1/2); 3/16 puts walls exactly half-way between cells."},
      {"smagorinsky",
       {up_to(1, with_infinity(number_from(0)))},
       left_out,
       "-",
       "Smagorinsky's constant of the LES model, usually 0.1 to 0.2; the filter is one cell wide. Left out: no LES "
       "model."},
      {"precision",
       {names_of(precisions)},
       name_in(precisions, usual.precision),
       "",
       "Number format of the stored populations or moments; f16 is computed in f32."},
      {"streaming",
       {names_of(streamings)},
       name_in(streamings, usual.streaming),
       "",
       "Two arrays of populations, or one that is updated in place with half of the memory. Both give the same bits."},
      {"solids",
       {names_of(ways_of_solids)},
       name_in(ways_of_solids, usual.solids),
       "",
       "Cells inside bodies: stored and computed (dense), stored and skipped (flags), or not stored (sparse). auto: "
       "by their share in each block, or the fastest with exchange.tune = \"measure\". All give the same bits."},
      {"layout",
       {names({"auto", to_string(Layout::soa), to_string(Layout::aos), to_string(Layout::soa_z)})},
       "auto",
       "",
       "An array per population with rows along x (soa) or z (soa_z), or populations of a cell side by side (aos). "
       "auto: rows along x; on GPUs along z if devices share x and blocks are not cut in z."},
      {"alignment",
       {up_to(4096, integer_from(4)), names({"auto"})},
       "auto",
       "bytes",
       "Alignment of the first interior cell of each row in bytes, a power of two; auto: 256 on GPUs, 64 on the "
       "host."},
      {"tile",
       {names({"auto", "64x4", "32x8", "64x8", "32x16"})},
       "auto",
       "",
       "Moments: cells along x and y that a team of threads computes; f16 allows 64x8 and 32x16, others 64x4 and "
       "32x8. On the host a tile has whole rows, as many as its height. auto: the usual tile of the precision, or "
       "the fastest with exchange.tune = \"measure\". On GPUs blocks with a resting wall at a side always use the "
       "usual tile, 64 cells wide (f64: 32). All give the same bits."},
      {"chunk",
       {integer_from(1), names({"auto"})},
       "auto",
       "planes",
       "Moments: largest number of planes along z that a team computes; auto: as for tile. All give the same bits."},
  };
  return {table};
}

}  // namespace slipstream::lbm
