// Selects the kernels of a run. This library has those of D3Q19 in f32; a second library, loaded at first use, has all
// others.
#include <dlfcn.h>

#include <slipstream/build_info.hpp>
#include <slipstream/error.hpp>

#include "solver/lbm/impl.hpp"
#include "solver/lbm/variants.hpp"

namespace slipstream::lbm {
namespace {

constexpr const char* second_library = "libslipstream_lbm_variants.so";

/// Loads a library that is never unloaded: streams may hold its kernels. `wanted`: name of kernels in errors.
VariantLookup load_variants(const std::string& wanted) {
  const Facts facts{{"part", "lbm_variants"}, {"command", "make build"}};
  void* library = dlopen(second_library, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = dlerror();
    throw Error(ErrorCode::unavailable,
                "the kernels of " + wanted + " are not built: cannot load " + second_library + " (" +
                    (why ? why : "no reason is given") + "): run `make build`",
                facts);
  }
  const auto build = reinterpret_cast<const char* (*)()>(dlsym(library, "slipstream_lbm_variants_build"));
  const auto lookup = reinterpret_cast<VariantLookup>(dlsym(library, "slipstream_lbm_variant"));
  require(build && lookup, ErrorCode::version, std::string(second_library) + " is of another version: run `make build`",
          facts);
  require_build("lbm_variants", build());
  return lookup;
}

}  // namespace

const Kernels& kernels(const Options& o) {
  const bool moments = o.representation == Representation::moments;
  if (!moments && o.lattice == Lattice::d3q19 && o.precision == DType::f32) return kernels_d3q19_f32();
  static const VariantLookup lookup =
      load_variants((moments ? "moments on " : "") + to_string(o.lattice) + " in " + to_string(o.precision));
  return *lookup(o.representation, o.lattice, o.precision);
}

}  // namespace slipstream::lbm
