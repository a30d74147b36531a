#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/field.hpp>
#include <slipstream/machine.hpp>
#include <slipstream/simulation.hpp>
#include <slipstream/tuner.hpp>

namespace slipstream {

/// Data that every solver's implementation has, such as communicator, devices and state. Solvers derive from it.
struct SolverParts {
  SolverParts(const Communicator& comm, const Machine& machine);
  virtual ~SolverParts();
  /// Streams of the solver's own. Their work ends before its memory is freed.
  virtual std::span<Stream> own_streams() { return {}; }

  Communicator comm;
  std::vector<Device> devices;  ///< devices of this rank
  State state;
  Tasks tasks;  ///< tasks of each step; solvers whose steps differ override tasks() and tasks_at()
  std::optional<TimeLoop> loop;
};

/// Base of the solvers: a Simulation with its own time loop, fields by name and reports. All calls are collective,
/// except those that say otherwise.
class Solver : public Simulation {
 public:
  ~Solver() override;
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  State& state() final { return parts_->state; }
  const std::vector<Device>& devices() const final { return parts_->devices; }
  const Tasks& tasks() const override { return parts_->tasks; }

  /// Runs steps and waits for them. Throws the errors of TimeLoop::run.
  virtual void advance(std::int64_t steps);
  /// From now on checks after every `options.every` steps whether the state has diverged (TimeLoop::guard).
  virtual void guard(GuardOptions options);
  /// Throws Diverged if values are unsound after the last step; does nothing unless guard() was called.
  virtual void inspect();
  /// A field of the state by name, updated to the current step.
  virtual Field& field(const std::string& name);
  /// Messages of the last exchange with their times, as in Exchange::report.
  virtual std::vector<ReportRow> report() = 0;
  /// How the transport of each message (direct stores, MPI, NCCL, ...) was chosen; not collective.
  virtual const Tuning& tuning() const = 0;
  virtual const Grid& grid() const = 0;

  const Communicator& communicator() const { return parts_->comm; }
  TimeLoop& time_loop() { return *parts_->loop; }

 protected:
  explicit Solver(std::unique_ptr<SolverParts> parts);
  /// The solver's own members, in the type derived from SolverParts that the constructor got.
  template <class Parts>
  Parts& parts() {
    return static_cast<Parts&>(*parts_);
  }

 private:
  std::unique_ptr<SolverParts> parts_;
};

}  // namespace slipstream
