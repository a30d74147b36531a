#pragma once
#include <map>
#include <string>

#include "machine/private_communicator.hpp"

namespace slipstream {

/// Sparse data exchange: sends each named rank its text and returns the received texts by sender. No rank needs to know
/// its senders in advance, and the cost scales with the number of a rank's partners (T. Hoefler, C. Siebert, A.
/// Lumsdaine, "Scalable communication protocols for dynamic sparse data exchange", PPoPP 2010). Collective on `own`,
/// which must carry no other messages meanwhile. Throws Timeout on all ranks if one waited longer than `seconds` for
/// the others; `own` is then unusable.
std::map<int, std::string> rendezvous(PrivateCommunicator& own, std::map<int, std::string> outgoing, double seconds);

}  // namespace slipstream
