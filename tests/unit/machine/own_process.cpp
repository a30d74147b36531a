// Unit tests have their process to themselves.
#include <slipstream/process.hpp>

namespace {

[[maybe_unused]] const bool asked = (slipstream::set_process_environment(), true);

}  // namespace
