#pragma once
// Measures the best width of the boundary region, and whether to overlap it with the exchange.
#include <functional>
#include <string>
#include <vector>

#include <slipstream/lbm.hpp>

namespace slipstream::lbm {

/// Widths, worth measuring, of the region of a block that waits for halos, with and without overlap. Blocks have the
/// size `block` or more, and are cut along the axes `cut`. All leave an interior; the first one is the default. In some
/// the region uses only part of a GPU's `processors`; `asked`, if not 0, sets their number for all instead.
std::vector<Split> split_candidates(Overlap overlap, const Extent& block, const std::array<bool, 3>& cut,
                                    Layout layout = Layout::soa, int processors = 0, int asked = 0);

/// Whether to overlap without measurement. Boundary regions across rows access memory in pieces of 32 bytes, each in
/// another row. If blocks are cut there and the devices alone do the exchange (`by_devices`), hiding it costs more than
/// it saves. The same holds if a device sends few bytes.
Overlap usual_overlap(const Grid& grid, const Options& options, bool by_devices, double bytes);

/// Sizes of tiles and of chunks (planes per team) worth measuring for a step by moments. The default comes first, then
/// tiles no larger than `block`, the smallest block, with chunks that differ for it. On the host tiles are as high as
/// the rows of a team. `walls`: the step handles some walls, for which a GPU has one tile only.
std::vector<Teams> team_candidates(const Extent& block, DType precision, bool gpu, bool walls);

/// Returns the candidate with the least `seconds`. That function is called on all ranks in the same order, and gives
/// the same to all. Rank 0 caches the result on disk under the key. Collective.
Split tune_split(const Communicator& comm, const std::string& key, const std::vector<Split>& candidates,
                 const TuneOptions& how, const std::function<double(const Split&)>& seconds);

}  // namespace slipstream::lbm
