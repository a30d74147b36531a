// Reductions of a few values that Python programs own. The Python side (slipstream/exchange/allreduce.py) describes the
// arrays.
#include <optional>
#include <tuple>

#include <slipstream/buffer.hpp>
#include <slipstream/collective.hpp>

#include "api/exchange/caller_streams.hpp"
#include "api/python_common.hpp"
#include "api/reading.hpp"
#include "exchange/same_calls.hpp"
#include "machine/agree.hpp"

extern "C" const char* slipstream_collective_build();

namespace slipstream::python {
namespace {

/// An all-reduce over arrays of a Python program, with its caller's streams.
class ArrayAllReduce {
 public:
  ArrayAllReduce(const Communicator& comm, const Grid& grid, int values, DType type, Op op, AllReduceOptions options)
      : streams_(grid.machine(), grid.rank()), bytes_(values * size_of(type)) {
    reduce_.emplace(comm, grid.machine(), values, type, op, options);
    if (comm.size() > 1)
      same_calls_.emplace(comm, "an all-reduce", std::vector<std::string>{"run"}, options.wait_limit);
  }

  void run(const std::vector<std::uintptr_t>& pointers, const std::vector<std::uintptr_t>& natives) {
    std::vector<void*> values;
    std::vector<Stream>* streams = nullptr;
    const Problem problem = failure_of([&] {
      reduce();
      streams = &streams_.of(natives);
      values = arrays_at(pointers);
    });
    if (same_calls_) {
      same_calls_->count();
      if (!streams || !captured(*streams)) same_calls_->compare(0, Op::copy, problem);
    }
    throw_if(problem);
    reduce().run(*streams, values);
    if (streams_.finish()) reduce().check();
  }

  void close() {
    reduce_.reset();
    same_calls_.reset();
  }

  AllReduce& reduce() {
    if (!reduce_.has_value())
      throw Error(ErrorCode::wrong_state, "the all-reduce was closed: construct another", {{"problem", "closed"}});
    return *reduce_;
  }

 private:
  std::vector<void*> arrays_at(const std::vector<std::uintptr_t>& pointers) const {
    const auto& devices = streams_.devices();
    if (pointers.size() != devices.size())
      throw Error(ErrorCode::mismatch,
                  "an all-reduce was given " + std::to_string(pointers.size()) + " arrays for the " +
                      std::to_string(devices.size()) + " devices of this rank: give one for each",
                  {{"given", pointers.size()}, {"needed", devices.size()}});
    std::vector<void*> values;
    for (std::size_t i = 0; i < pointers.size(); ++i) {
      values.push_back(reinterpret_cast<void*>(pointers[i]));
      const std::string why = memory_problem(devices[i], values.back(), bytes_);
      require(why.empty(), "array " + std::to_string(i) + " of an all-reduce: " + why);
    }
    return values;
  }

  CallerStreams streams_;
  std::size_t bytes_ = 0;
  std::optional<SameCalls> same_calls_;  // checks that all ranks make the same calls; empty for one rank
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

void bind_allreduce(nb::module_& m) {
  m.def("collectives", &collectives);
  using Release = nb::call_guard<Released>;
  nb::class_<ArrayAllReduce>(m, "ArrayAllReduce", "Reduces values that the caller owns over all devices of a grid.")
      .def(
          "__init__",
          [](ArrayAllReduce* self, const Communicator& comm, const Grid& grid, int values, const std::string& type,
             const std::string& op, const std::string& method, double wait_limit) {
            const auto [format, fold, how] = on_every_rank(comm, [&] {
              return std::tuple{dtype_from_string(type), op_from(op), reduce_method_from_string(method)};
            });
            const Released release;
            new (self) ArrayAllReduce(comm, grid, values, format, fold, {how, wait_limit});
          },
          nb::arg("comm"), nb::arg("grid"), nb::arg("values"), nb::arg("type"), nb::arg("op"), nb::arg("method"),
          nb::arg("wait_limit"))
      .def("run", &ArrayAllReduce::run, nb::arg("arrays"), nb::arg("streams"), Release())
      .def(
          "check", [](ArrayAllReduce& self) { self.reduce().check(); }, Release())
      .def("close", &ArrayAllReduce::close, Release())
      .def_prop_ro("method", [](ArrayAllReduce& self) { return to_string(self.reduce().method()); })
      .def_prop_ro("reason", [](ArrayAllReduce& self) { return self.reduce().reason(); })
      .def_prop_ro("needs_host", [](ArrayAllReduce& self) { return self.reduce().needs_host(); });
}

}  // namespace
}  // namespace slipstream::python

NB_MODULE(_collective, m) {
  using namespace slipstream::python;
  begin_module(m, "collective", slipstream_collective_build());
  bind_allreduce(m);
}
