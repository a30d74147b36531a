#pragma once
// A user-defined coding for tests: f32 as bfloat16, as the engine's own cast.
#include <string>

namespace slipstream {

/// Registers a coding of f32 as bfloat16, once per process, and returns its name.
const std::string& own_bf16();

}  // namespace slipstream
