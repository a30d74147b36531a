#pragma once
// A coding of the caller's own, as tests have it: f32 as bfloat16, which the engine's own cast does too.
#include <string>

namespace slipstream {

/// Added once a process.
const std::string& own_bf16();

}  // namespace slipstream
