#pragma once
#include "api/python_common.hpp"

namespace slipstream::python {

void bind_bench_allreduce(nb::module_& module);
void bind_bench_coding(nb::module_& module);
void bind_bench_copy(nb::module_& module);
void bind_bench_dns(nb::module_& module);
void bind_bench_exchange(nb::module_& module);
void bind_bench_fft(nb::module_& module);
void bind_bench_flags(nb::module_& module);
void bind_bench_gather_scatter(nb::module_& module);
void bind_bench_lbm(nb::module_& module);
void bind_bench_out_of_core(nb::module_& module);
void bind_bench_pingpong(nb::module_& module);
void bind_bench_sem(nb::module_& module);
void bind_bench_setup(nb::module_& module);
void bind_bench_transpose(nb::module_& module);

}  // namespace slipstream::python
