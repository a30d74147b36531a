// Timed code of `slipstream bench dns`.
#include <slipstream/dns.hpp>

#include "native/python_bench.hpp"
#include "native/timed_loops.hpp"

namespace slipstream::python {
namespace {

/// Microseconds of one step by the host's clock; `steps` steps are queued at a time.
double step_us(dns::Dns& self, int steps, int repeats) {
  return host_us(repeats, [&] { self.advance(steps); }) / steps;
}

}  // namespace

void bind_bench_dns(nb::module_& m) {
  m.def("dns_step_us", &step_us, nb::arg("dns"), nb::arg("steps"), nb::arg("repeats"), nb::call_guard<Released>());
}

}  // namespace slipstream::python
