// Gather-scatters of arrays that Python programs own. The Python side (slipstream/exchange/gather_scatter.py) describes
// them.
#include <nanobind/stl/pair.h>

#include <numeric>
#include <optional>

#include <slipstream/gather_scatter.hpp>

#include "api/exchange/caller_streams.hpp"
#include "api/exchange/python_report.hpp"
#include "api/python_common.hpp"
#include "api/reading.hpp"

extern "C" const char* slipstream_gather_scatter_build();

namespace slipstream::python {
namespace {

/// A gather-scatter over arrays of a Python program, with its caller's streams.
class ArrayGatherScatter {
 public:
  /// Arrays of ids, each given by its address and the number of ids.
  using Ids = std::vector<std::pair<std::uintptr_t, std::size_t>>;
  using Pointers = std::vector<std::uintptr_t>;  // addresses of arrays or streams, one for each device of this rank
  ArrayGatherScatter(const Communicator& comm, const Grid& grid, const Ids& ids,
                     const std::vector<std::int64_t>& first_blocks, std::int64_t block, GatherScatterOptions options)
      : streams_(grid.machine(), grid.rank()) {
    on_all_ranks(comm, [&] {
      if (!(first_blocks.empty() || first_blocks.size() == ids.size()))
        throw Error(ErrorCode::mismatch,
                    "first_block of a gather-scatter is given for " + std::to_string(first_blocks.size()) +
                        " devices, and ids for " + std::to_string(ids.size()) + ": give one for each",
                    {{"option", "first_block"}, {"given", first_blocks.size()}, {"needed", ids.size()}});
    });
    const bool given = !first_blocks.empty();
    if (!(comm.all(given) || comm.all(!given)))
      throw Error(ErrorCode::mismatch,
                  "first_block of a gather-scatter is given on some ranks and not on others: give it on all or on none",
                  {{"option", "first_block"}});
    const std::vector<std::int64_t> firsts = given ? first_blocks : numbered(comm, ids, block);
    std::vector<SharedPoints> points;
    for (std::size_t d = 0; d < ids.size(); ++d)
      points.push_back({{reinterpret_cast<const std::int64_t*>(ids[d].first), ids[d].second}, firsts[d], block});
    gather_scatter_.emplace(comm, grid.machine(), points, options);
  }

  void run(const Pointers& pointers, const std::string& op, const Pointers& natives) {
    inner().run(streams_.of(natives), arrays_at(pointers), op_from(op));
    if (streams_.finish()) inner().check();
  }

  void start(const Pointers& pointers, const std::string& op, const Pointers& natives) {
    natives_ = natives;
    inner().start(streams_.of(natives_), arrays_at(pointers), op_from(op));
  }

  void gather(const Pointers& pointers, const Pointers& unique, const std::string& op, const Pointers& natives) {
    inner().gather(streams_.of(natives), arrays_at(pointers), arrays_at(unique), op_from(op));
    if (streams_.finish()) inner().check();
  }

  void scatter(const Pointers& unique, const Pointers& pointers, const Pointers& natives) {
    inner().scatter(streams_.of(natives), arrays_at(unique), arrays_at(pointers));
    if (streams_.finish()) inner().check();
  }

  void start_gather(const Pointers& pointers, const Pointers& unique, const std::string& op, const Pointers& natives) {
    natives_ = natives;
    inner().start_gather(streams_.of(natives_), arrays_at(pointers), arrays_at(unique), op_from(op));
  }

  void start_scatter(const Pointers& unique, const Pointers& pointers, const Pointers& natives) {
    natives_ = natives;
    inner().start_scatter(streams_.of(natives_), arrays_at(unique), arrays_at(pointers));
  }

  /// For each unique value of a device, the index of one point that has it.
  std::vector<std::int64_t> unique_points(std::size_t device) {
    const std::vector<std::uint32_t>& points = inner().unique_points(device);
    return {points.begin(), points.end()};
  }

  void finish() {
    inner().finish(streams_.of(natives_));
    if (streams_.finish()) inner().check();
  }

  nb::dict counts(std::size_t device) {
    const GatherScatter::Counts counts = inner().counts(device);
    nb::dict found;
    found["shared_points"] = counts.shared_points;
    found["local_ids"] = counts.local_ids;
    found["remote_ids"] = counts.remote_ids;
    found["sent_values"] = counts.sent_values;
    found["unique_ids"] = counts.unique_ids;
    found["gathered_values"] = counts.gathered_values;
    found["scattered_values"] = counts.scattered_values;
    return found;
  }

  void close() { gather_scatter_.reset(); }

  GatherScatter& inner() {
    if (!gather_scatter_.has_value())
      throw Error(ErrorCode::wrong_state, "the gather-scatter was closed: construct another", {{"problem", "closed"}});
    return *gather_scatter_;
  }

 private:
  static std::vector<GatherScatter::Array> arrays_at(const Pointers& pointers) {
    std::vector<GatherScatter::Array> arrays;
    for (const std::uintptr_t pointer : pointers) arrays.push_back({reinterpret_cast<void*>(pointer), 0});
    return arrays;
  }

  /// Numbers the blocks of all devices consecutively, in the machine's order.
  static std::vector<std::int64_t> numbered(const Communicator& comm, const Ids& ids, std::int64_t block) {
    const auto least = std::max<std::int64_t>(block, 1);
    std::vector<std::int64_t> firsts;
    std::int64_t next = 0;
    for (const auto& [address, count] : ids) {
      firsts.push_back(next);
      next += (static_cast<std::int64_t>(count) + least - 1) / least;
    }
    const std::vector<std::int64_t> all = comm.all_gather(next);
    const std::int64_t before = std::accumulate(all.begin(), all.begin() + comm.rank(), std::int64_t{0});
    for (std::int64_t& first : firsts) first += before;
    return firsts;
  }

  CallerStreams streams_;
  Pointers natives_;
  std::optional<GatherScatter> gather_scatter_;
};

void bind_gather_scatter(nb::module_& m) {
  using Release = nb::call_guard<Released>;
  nb::class_<ArrayGatherScatter>(m, "ArrayGatherScatter", "Combines shared points of arrays that the caller owns.")
      .def(
          "__init__",
          [](ArrayGatherScatter* self, const Communicator& comm, const Grid& grid, const ArrayGatherScatter::Ids& ids,
             const std::vector<std::int64_t>& first_blocks, std::int64_t block, const std::string& type, int components,
             const nb::dict& exchange, const std::string& coding, bool unique, bool host_packed) {
            const GatherScatterOptions options = on_every_rank(comm, [&] {
              Watched watched;
              GatherScatterOptions asked{dtype_from_string(type), components, exchange_options(exchange, &watched),
                                         coding_from_string(coding)};
              if (watched.trace)
                throw Error(ErrorCode::unsupported, "a gather-scatter is not traced: leave trace out",
                            {{"option", "trace"}});
              asked.tune = watched.tune;
              asked.unique = unique;
              asked.host_packed = host_packed;
              return asked;
            });
            const Released release;
            new (self) ArrayGatherScatter(comm, grid, ids, first_blocks, block, options);
          },
          nb::arg("comm"), nb::arg("grid"), nb::arg("ids"), nb::arg("first_blocks"), nb::arg("block"), nb::arg("type"),
          nb::arg("components"), nb::arg("exchange"), nb::arg("coding") = "raw", nb::arg("unique") = false,
          nb::arg("host_packed") = false)
      .def("run", &ArrayGatherScatter::run, nb::arg("arrays"), nb::arg("op"), nb::arg("streams"), Release())
      .def("start", &ArrayGatherScatter::start, nb::arg("arrays"), nb::arg("op"), nb::arg("streams"), Release())
      .def("gather", &ArrayGatherScatter::gather, nb::arg("arrays"), nb::arg("unique"), nb::arg("op"),
           nb::arg("streams"), Release())
      .def("scatter", &ArrayGatherScatter::scatter, nb::arg("unique"), nb::arg("arrays"), nb::arg("streams"), Release())
      .def("start_gather", &ArrayGatherScatter::start_gather, nb::arg("arrays"), nb::arg("unique"), nb::arg("op"),
           nb::arg("streams"), Release())
      .def("start_scatter", &ArrayGatherScatter::start_scatter, nb::arg("unique"), nb::arg("arrays"),
           nb::arg("streams"), Release())
      .def("unique_points", &ArrayGatherScatter::unique_points, nb::arg("device"))
      .def("finish", &ArrayGatherScatter::finish, Release())
      .def(
          "check", [](ArrayGatherScatter& self) { self.inner().check(); }, Release())
      .def("tuning", [](ArrayGatherScatter& self) { return tuning_dict(self.inner().tuning()); })
      .def("counts", &ArrayGatherScatter::counts, nb::arg("device"))
      .def("close", &ArrayGatherScatter::close, Release());
}

}  // namespace
}  // namespace slipstream::python

NB_MODULE(_gather_scatter, m) {
  using namespace slipstream::python;
  begin_module(m, "gather_scatter", slipstream_gather_scatter_build());
  bind_gather_scatter(m);
}
