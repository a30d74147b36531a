#pragma once
#include <map>
#include <string>
#include <vector>

#include "machine/parting.hpp"

namespace slipstream {

/// Sends each rank that is named its text, and returns what came, by sender. Nobody knows before who sends to whom, and
/// what it costs grows with the number of a rank's partners (T. Hoefler, C. Siebert, A. Lumsdaine, "Scalable
/// communication protocols for dynamic sparse data exchange", PPoPP 2010). Collective among the ranks of `own`, which
/// carries no other messages meanwhile. Throws Timeout on all ranks where one waited longer than `seconds` for the
/// others. `own` is of no more use then.
std::map<int, std::string> rendezvous(Parting& own, std::map<int, std::string> outgoing, double seconds);

}  // namespace slipstream
