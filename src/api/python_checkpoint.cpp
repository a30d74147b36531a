// Checkpoints, restarts and requests to stop, for any Simulation.
#include <slipstream/checkpoint.hpp>
#include <slipstream/krylov.hpp>
#include <slipstream/simulation.hpp>

#include "api/python_core.hpp"
#include "api/python_errors.hpp"

namespace slipstream::python {
namespace {

nb::dict info_dict(const CheckpointInfo& info) {
  nb::dict d;
  d["path"] = info.path;
  d["step"] = info.step;
  d["time"] = info.time;
  d["extent"] = triple(info.extent);
  d["fields"] = info.fields;
  d["case"] = info.case_text;
  d["notes"] = info.notes;
  d["written_by"] = info.written_by;
  return d;
}

/// Writes the checkpoints of one run. Python keeps the run alive, because this object reads the run's state.
class Ring {
 public:
  Ring(Simulation& simulation, const std::string& folder, int keep, const std::string& case_text,
       const std::string& snapshot, std::int64_t staging_bytes)
      : simulation_(simulation), checkpoints_(world(), options(folder, keep, case_text, snapshot, staging_bytes)) {}
  void begin(const std::string& notes) { checkpoints_.begin(simulation_.state(), notes); }
  void poll() { checkpoints_.poll(); }
  void finish() { checkpoints_.finish(); }
  const std::string& last() const { return checkpoints_.last(); }
  std::string mpi_refusal() const { return checkpoints_.mpi_refusal(); }
  nb::list results() {
    nb::list all;
    for (const auto& result : checkpoints_.take_results())
      all.append(nb::make_tuple(result.step, result.path, result.error));
    return all;
  }

 private:
  static Checkpoints::Options options(const std::string& folder, int keep, const std::string& case_text,
                                      const std::string& snapshot, std::int64_t staging_bytes) {
    Checkpoints::Options o;
    o.folder = folder;
    o.keep = keep;
    o.case_text = case_text;
    o.snapshot = snapshot_from_string(snapshot);
    if (staging_bytes > 0) o.staging_bytes = staging_bytes;
    return o;
  }
  Simulation& simulation_;
  Checkpoints checkpoints_;
};

/// Bytes of the values of a field on all ranks, without ghosts.
std::int64_t bytes_of(const Field& field) {
  std::int64_t points = 0;
  for (const Block& block : field.grid().blocks()) points += block.box.volume();
  return points * field.options().components * static_cast<std::int64_t>(size_of(field.options().type));
}

}  // namespace

void bind_checkpoint(nb::module_& m) {
  using Release = nb::call_guard<Released>;
  nb::class_<Simulation>(m, "Simulation", "A State and a step.");
  error_class<Diverged>(m, "Diverged");
  error_class<krylov::NotSolved>(m, "NotSolved");
  nb::class_<Ring>(m, "Checkpoints", "The last checkpoints of a run. All but poll, results and last are collective.")
      .def(nb::init<Simulation&, const std::string&, int, const std::string&, const std::string&, std::int64_t>(),
           nb::arg("simulation"), nb::arg("folder"), nb::arg("keep"), nb::arg("case_text"),
           nb::arg("snapshot") = "pinned", nb::arg("staging_bytes") = 0, nb::keep_alive<1, 2>(), Release())
      .def("begin", &Ring::begin, nb::arg("notes"), Release())
      .def("poll", &Ring::poll)
      .def("finish", &Ring::finish, Release())
      .def("results", &Ring::results)
      .def_prop_ro("mpi_refusal", &Ring::mpi_refusal)
      .def_prop_ro("last", &Ring::last);
  nb::class_<StopRequest>(m, "StopRequest", "SIGTERM, SIGINT, SIGHUP, SIGUSR1 or the clock asked for an end.")
      .def(
          "__init__", [](StopRequest* self, double limit) { new (self) StopRequest(world(), limit); },
          nb::arg("wall_clock_limit"), Release())
      .def("reason", &StopRequest::reason, Release());
  m.def(
      "checkpoint_info", [](const std::string& path) { return info_dict(read_checkpoint_info(path)); },
      nb::arg("path"));
  m.def(
      "state_bytes",
      [](Simulation& simulation) {
        std::map<std::string, std::int64_t> found;
        for (const auto& [name, field] : simulation.state().fields) found[name] = bytes_of(*field);
        return found;
      },
      nb::arg("simulation"), "Bytes of each field of the state on all ranks, by name.");
  m.def(
      "restore", [](Simulation& simulation, const std::string& path) { restore(world(), path, simulation.state()); },
      nb::arg("simulation"), nb::arg("path"), Release());
}

}  // namespace slipstream::python
