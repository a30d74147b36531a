#pragma once
#include <functional>

namespace slipstream {

/// Asks until the answer is true, then true; false after so many seconds. For what the host must wait for beside other
/// ranks, which may share its cores: between two questions it gives them away, soon for longer.
bool asked_until(const std::function<bool()>& done, double seconds);

}  // namespace slipstream
