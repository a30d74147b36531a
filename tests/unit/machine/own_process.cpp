// Tells the library that unit tests run in a process of their own.
#include <slipstream/process.hpp>

namespace {

[[maybe_unused]] const bool asked = (slipstream::set_process_environment(), true);

}  // namespace
