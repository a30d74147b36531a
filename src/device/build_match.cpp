#include <slipstream/build_info.hpp>
#include <slipstream/error.hpp>

extern "C" const char* slipstream_slipstream_build();

namespace slipstream {

void require_build(const std::string& part, const std::string& build) {
  const std::string own = slipstream_slipstream_build();
  require(build == own, ErrorCode::version,
          "the library of " + part + " is of another build (" + build + ") than the engine (" + own +
              "): run `make build`, which builds all parts alike",
          {{"part", part}, {"given", build}, {"needed", own}, {"command", "make build"}});
}

}  // namespace slipstream
