#pragma once
// Measures the best width of the boundary region, and whether to overlap it with the exchange.
#include <functional>
#include <string>
#include <vector>

#include <slipstream/lbm.hpp>

namespace slipstream::lbm {

/// Splits worth measuring for blocks of at least the size `block` with neighbours along the axes of `cut`. They leave
/// an interior, and all differ; the first is the default without measurement. On devices with `processors` > 0 they
/// include rims that leave some processors to the interior. If `asked` is not 0, all have that rim_processors.
std::vector<Split> split_candidates(Overlap overlap, const Extent& block, const std::array<bool, 3>& cut,
                                    Layout layout = Layout::soa, int processors = 0, int asked = 0);

/// Whether to overlap without measurement. Boundary regions across rows access memory in pieces of 32 bytes, each in
/// another row. If blocks are cut there and the devices alone do the exchange (`by_devices`), hiding it costs more than
/// it saves. The same holds if a device sends few bytes.
Overlap usual_overlap(const Grid& grid, const Options& options, bool by_devices, double bytes);

/// Tiles and chunks of a step by moments worth measuring. The default comes first, then tiles no larger than `block`,
/// the smallest one, with chunks that differ for it. On the host tiles are as high as the rows of a team. `walls`: the
/// step handles some walls, for which a GPU has one tile only.
std::vector<Teams> team_candidates(const Extent& block, DType precision, bool gpu, bool walls);

/// Returns the candidate with the least `seconds`. That function is called on all ranks in the same order, and gives
/// the same to all. Rank 0 caches the result on disk under the key. Collective.
Split tune_split(const Communicator& comm, const std::string& key, const std::vector<Split>& candidates,
                 const TuneOptions& how, const std::function<double(const Split&)>& seconds);

}  // namespace slipstream::lbm
