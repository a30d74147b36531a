#pragma once
#include <map>
#include <string>
#include <vector>

#include <slipstream/communicator.hpp>

namespace slipstream {

/// Sends each rank that is named its text, and returns what came, by sender. Nobody knows before who sends to whom, and
/// what it costs grows with the number of a rank's partners (T. Hoefler, C. Siebert, A. Lumsdaine, "Scalable
/// communication protocols for dynamic sparse data exchange", PPoPP 2010). Collective; throws Timeout on all ranks
/// where one waited longer than `seconds` for the others.
std::map<int, std::string> rendezvous(const Communicator& comm, std::map<int, std::string> outgoing, double seconds);

}  // namespace slipstream
