#pragma once
// How wide the rim of a step is, and whether it is overlapped at all: by measurement, once.
#include <functional>
#include <string>
#include <vector>

#include <slipstream/lbm.hpp>

namespace slipstream::lbm {

/// Splits worth measuring for blocks that are no smaller than `block` and have neighbours along the axes of `cut`: none
/// that leaves no interior, and no two that are the same. The first is what is taken unmeasured. On devices of so many
/// `processors` rims that leave some to the interior are among them; 0: none. All have the rim_processors that were
/// `asked` for; 0: nobody asked.
std::vector<Split> split_candidates(Overlap overlap, const Extent& block, const std::array<bool, 3>& cut,
                                    Layout layout = Layout::soa, int processors = 0, int asked = 0);

/// Whether to overlap where nobody measures it. Rims across rows touch memory in pieces of 32 bytes, each in a row of
/// its own: where blocks are cut there and the devices alone do the exchange (`by_devices`), hiding it costs more than
/// it takes. So it does where a device sends few bytes.
Overlap usual_overlap(const Grid& grid, const Options& options, bool by_devices, double bytes);

/// Tiles and chunks of a step by moments worth measuring: the usual one first, then tiles no larger than `block`, the
/// smallest, with chunks that differ for it. On the host tiles are as high as the rows of a team. `walls`: the step
/// knows some, beside which a GPU has one tile only.
std::vector<Teams> team_candidates(const Extent& block, DType precision, bool gpu, bool walls);

/// The candidate with the least `seconds`, which is asked on all ranks in the same order and tells the same to all.
/// Remembered on disk under the key, by rank 0. Collective.
Split tune_split(const Communicator& comm, const std::string& key, const std::vector<Split>& candidates,
                 const TuneOptions& how, const std::function<double(const Split&)>& seconds);

}  // namespace slipstream::lbm
