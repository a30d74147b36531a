// Python binding of two toy kernels that test cell flags, for timings of `slipstream bench lbm --experiment simd`.
#include "native/flag_toys.hpp"
#include "native/python_bench.hpp"

namespace slipstream::python {
namespace {

nb::tuple flag_toy(const std::string& backend, bool inside, bool four, std::int64_t words, std::int64_t rounds) {
  lbm::FlagToyTime time;
  {
    Released release;
    time = lbm::run_flag_toy({backend_from_string(backend), 0}, {inside, four, words, rounds});
  }
  return nb::make_tuple(time.milliseconds, time.checksum);
}

}  // namespace

void bind_bench_flags(nb::module_& m) {
  m.def("flag_toy", &flag_toy, nb::arg("backend"), nb::arg("inside"), nb::arg("four"), nb::arg("words"),
        nb::arg("rounds"));
}

}  // namespace slipstream::python
