// The module slipstream_bench._native, with the code that benchmarks time. Its types and errors come from
// slipstream._core, which is loaded first.
#include "native/python_bench.hpp"

NB_MODULE(_native, m) {
  slipstream::python::bind_bench_allreduce(m);
  slipstream::python::bind_bench_coding(m);
  slipstream::python::bind_bench_copy(m);
  slipstream::python::bind_bench_dns(m);
  slipstream::python::bind_bench_exchange(m);
  slipstream::python::bind_bench_fft(m);
  slipstream::python::bind_bench_flags(m);
  slipstream::python::bind_bench_gather_scatter(m);
  slipstream::python::bind_bench_lbm(m);
  slipstream::python::bind_bench_out_of_core(m);
  slipstream::python::bind_bench_pingpong(m);
  slipstream::python::bind_bench_sem(m);
  slipstream::python::bind_bench_setup(m);
  slipstream::python::bind_bench_transpose(m);
}
