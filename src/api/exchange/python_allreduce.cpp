// Reductions of a few values that Python programs own. The Python side (slipstream/exchange/allreduce.py) describes the
// arrays.
#include <optional>

#include <slipstream/buffer.hpp>
#include <slipstream/collective.hpp>

#include "api/exchange/caller_streams.hpp"
#include "api/python_common.hpp"
#include "api/reading.hpp"

namespace slipstream::python {
namespace {

/// An all-reduce and the streams that its caller has.
class ArrayAllReduce {
 public:
  ArrayAllReduce(const Communicator& comm, const Grid& grid, int values, DType type, Op op, AllReduceOptions options)
      : streams_(grid.machine(), grid.rank()), bytes_(values * size_of(type)) {
    reduce_.emplace(comm, grid.machine(), values, type, op, options);
  }

  void run(const std::vector<std::uintptr_t>& pointers, const std::vector<std::uintptr_t>& natives) {
    const auto& devices = streams_.devices();
    std::vector<void*> values;
    for (std::size_t i = 0; i < pointers.size(); ++i) {
      values.push_back(reinterpret_cast<void*>(pointers[i]));
      if (i >= devices.size()) continue;
      const std::string problem = memory_problem(devices[i], values.back(), bytes_);
      require(problem.empty(), "array " + std::to_string(i) + " of an all-reduce: " + problem);
    }
    reduce().run(streams_.of(natives), values);
    if (streams_.finish()) reduce().check();
  }

  void close() { reduce_.reset(); }

  AllReduce& reduce() {
    require(reduce_.has_value(), "the all-reduce was closed: construct another");
    return *reduce_;
  }

 private:
  CallerStreams streams_;
  std::size_t bytes_ = 0;
  std::optional<AllReduce> reduce_;
};

nb::list collectives() {
  nb::list all;
  for (const ReduceMethod method : {ReduceMethod::peer, ReduceMethod::nccl, ReduceMethod::mpi}) {
    nb::dict facts;
    for (const auto& [question, answer] : AllReduce::facts(method)) facts[question.c_str()] = answer;
    nb::dict entry;
    entry["name"] = to_string(method);
    entry["facts"] = facts;
    all.append(entry);
  }
  return all;
}

}  // namespace

void bind_allreduce(nb::module_& m) {
  m.def("collectives", &collectives);
  using Release = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<ArrayAllReduce>(m, "ArrayAllReduce", "Reduces values that the caller owns over all devices of a grid.")
      .def(
          "__init__",
          [](ArrayAllReduce* self, const Communicator& comm, const Grid& grid, int values, const std::string& type,
             const std::string& op, const std::string& method, double wait_limit) {
            new (self) ArrayAllReduce(comm, grid, values, dtype_from_string(type), op_from(op),
                                      {reduce_method_from_string(method), wait_limit});
          },
          nb::arg("comm"), nb::arg("grid"), nb::arg("values"), nb::arg("type"), nb::arg("op"), nb::arg("method"),
          nb::arg("wait_limit"), Release())
      .def("run", &ArrayAllReduce::run, nb::arg("arrays"), nb::arg("streams"), Release())
      .def(
          "check", [](ArrayAllReduce& self) { self.reduce().check(); }, Release())
      .def("close", &ArrayAllReduce::close, Release())
      .def_prop_ro("method", [](ArrayAllReduce& self) { return to_string(self.reduce().method()); })
      .def_prop_ro("reason", [](ArrayAllReduce& self) { return self.reduce().reason(); })
      .def_prop_ro("needs_host", [](ArrayAllReduce& self) { return self.reduce().needs_host(); });
}

}  // namespace slipstream::python
