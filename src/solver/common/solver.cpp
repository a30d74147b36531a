#include <slipstream/solver.hpp>

#include "device/wait_quietly.hpp"
#include "machine/private_communicator.hpp"

namespace slipstream {

SolverParts::SolverParts(const Communicator& c, const Machine& machine) : comm(sharing(c)) {
  for (const int device : machine.devices_of_rank(comm.rank())) devices.push_back(machine.device(device).local);
}
SolverParts::~SolverParts() = default;

Solver::Solver(std::unique_ptr<SolverParts> parts) : parts_(std::move(parts)) {}

/// The loop's streams end first, because their queued work still uses memory of the solver.
Solver::~Solver() {
  for (Stream& stream : parts_->own_streams()) wait_quietly(stream);
  parts_->loop.reset();
}

void Solver::advance(std::int64_t steps) { parts_->loop->run(steps); }
void Solver::guard(GuardOptions options) { parts_->loop->guard(parts_->comm, std::move(options)); }
void Solver::inspect() { parts_->loop->inspect(); }
Field& Solver::field(const std::string& name) { return parts_->state[name]; }

}  // namespace slipstream
