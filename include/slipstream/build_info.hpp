#pragma once
#include <string>

namespace slipstream {

/// Version of the project, as in "0.1.0".
std::string build_version();
/// Commit that the library was built from: twelve hex digits, "+changes" where the tree had uncommitted ones. It is
/// "unknown" where the sources were not under git and SLIPSTREAM_COMMIT was not set.
std::string build_commit();
/// Name and version of the C++ compiler.
std::string build_compiler();
/// CMake's build type and the sanitizer, if any: "Release", "Debug, thread sanitizer".
std::string build_type();
/// Toolkit version and architectures of the device compiler, as in "13.0 (80-real, 90)"; empty without CUDA.
std::string build_cuda();
/// HDF5's version, and whether it is "parallel" or "serial".
std::string build_hdf5();

/// Throws Error unless a library of the project, `part`, comes from the same build as the engine: the same version,
/// built in the same folder. `build`: what that library's slipstream_<part>_build() returns.
void require_build(const std::string& part, const std::string& build);

}  // namespace slipstream
