#include "collective/reduction.hpp"

#include <sstream>

#include "node/transport.hpp"

namespace slipstream {

std::string ReduceTeam::name(int device) const { return end_of(device, machine.device(device).rank); }

Timeout ReduceTeam::missed(std::uint64_t number, const std::string& who, const std::string& whom,
                           double seconds) const {
  std::ostringstream text;
  text << "all-reduce " << number << ": " << who << " waited longer than " << seconds << " s for " << whom
       << ": did all ranks call run equally often, and is that rank still alive?";
  return Timeout(text.str(), {{"rank", rank}, {"sequence", number}, {"limit", seconds}, {"whom", whom}});
}

void Reduction::run_sums(std::vector<Stream>& streams, const std::vector<SumOnDevice>& sums,
                         const std::vector<const double*>& parts, const std::vector<double*>& results) {
  std::vector<void*> gathered;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i].lower.run(streams[i], parts[i], sums[i].gathered.data());
    gathered.push_back(sums[i].gathered.data());
  }
  run(streams, gathered);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i].upper.run(streams[i], sums[i].gathered.data(), results[i]);
}

}  // namespace slipstream
