#include "machine/links.hpp"

namespace slipstream::detail {

LinkProbe* cuda_links() { return nullptr; }

}  // namespace slipstream::detail
