#include <slipstream/lbm.hpp>

#include <algorithm>

#include "device/work_items.hpp"
#include "machine/private_communicator.hpp"
#include "solver/lbm/by_moments/translate.hpp"
#include "solver/lbm/impl.hpp"
#include "solver/lbm/step/split_tuner.hpp"

namespace slipstream::lbm {

Lbm::Impl::Impl(const Communicator& comm, const Machine& machine, Options wanted, Surfaces bodies)
    : SolverParts(comm, machine),
      options((lbm::check(wanted), std::move(wanted))),
      surfaces(checked(std::move(bodies))),
      interpolated(interpolates(surfaces)),
      grid(options.cells, machine, comm.rank(),
           balanced(comm, machine, options.cells, grid_options(options), surfaces)),
      model(model_of(options)),
      kernel(kernels(options)),
      flags(grid, flag_field(grid, options)),
      outlet(Outlet::make(grid, options)) {
  for (const Device device : devices) {
    waited.emplace_back(device);
    forks.emplace_back(device);
    boundary_forks.emplace_back(device, Priority::high);
  }
  state.fields["flags"] = &flags;
  state.fixed.insert("flags");
  if (outlet) state.fields["outlet"] = &outlet->field;
  state.arrange[population_field(grid, options, false).name] = [this] { rearrange(true); };
  if (options.lattice == Lattice::d3q19)
    state.translations[to_string(options.representation)] = translation_to(options.representation, options.precision);
  for (const char* name : {"velocity", "density"})
    state.made_when_asked[name] = [this] {
      if (!velocity) make_macroscopic();
    };
  make_populations();
  make_blocks();
  start();
  forget_bodies();
}

void Lbm::Impl::list_tasks() {
  const Task prepare = kernel_task("prepare", [this](Stream& stream, std::size_t device, Part) {
    bounce(stream, device, &BlockWork::local, Reader::step);
  });
  const Task cells = split_kernel_task(
      "compute", [this](Stream& stream, std::size_t device, Part part) { compute(stream, device, part); });
  phases.clear();
  for (const auto& exchange : exchanges) phases.push_back({prepare, exchange_task("exchange", *exchange), cells});
}

Lbm::Lbm(const Communicator& comm, const Machine& machine, Options options, Surfaces bodies)
    : Solver(std::make_unique<Impl>(comm, machine, std::move(options), std::move(bodies))), impl_(&parts<Impl>()) {
  impl_->tune_teams(*this);
  if (impl_->options.tune_rim) impl_->tune_rim(*this);
  const Options& o = impl_->options;
  const bool by_devices = impl_->exchange().capturable();
  impl_->loop.emplace(*this, usual_overlap(impl_->grid, o, by_devices, impl_->most_bytes_sent()), o.exchange.trace);
  impl_->split.overlap = impl_->loop->overlapped();
  impl_->split.rim = impl_->options.rim;
  impl_->split.rim_processors = impl_->options.rim_processors;
}

const Tasks& Lbm::tasks() const { return impl_->tasks_at(impl_->state.step); }
const Tasks& Lbm::tasks_at(int phase) const { return impl_->tasks_at(phase); }
std::int64_t Lbm::bytes_of_cells() const {
  std::int64_t bytes = 0;
  for (const auto& work : impl_->blocks)
    bytes += static_cast<std::int64_t>(work.words.bytes() + work.fluid.bytes()) + work.boundary.bytes();
  // Several devices of a rank may be the same GPU, which is then counted once.
  const std::set<Device> devices(impl_->devices.begin(), impl_->devices.end());
  for (const Device device : devices) bytes += impl_->populations->bytes_on(device) + impl_->flags.bytes_on(device);
  return bytes;
}

const Grid& Lbm::grid() const { return impl_->grid; }
const Options& Lbm::options() const { return impl_->options; }
Exchange& Lbm::exchange() { return *impl_->exchanges.front(); }
const Tuning& Lbm::tuning() const { return impl_->tuning; }
const Split& Lbm::split() const { return impl_->split; }
const Teams& Lbm::teams() const { return impl_->teams; }
const SolidBlocks& Lbm::solid_blocks() const { return impl_->solid_blocks; }

void Lbm::begin_steps() { impl_->begin_steps(); }

void Lbm::finish_step() {
  impl_->populations->swap();
  if (impl_->outlet) impl_->outlet->field.swap();
  ++impl_->state.step;
  impl_->state.time += 1;
}

Recording Lbm::recording() const {
  // The first step is not recorded as a graph for replay, because a convective side has no earlier populations yet.
  if (impl_->outlet && impl_->state.step == 0) return {};
  // Arrays of populations swap in each step. A restart may shift by one step which of them an even step reads.
  const int step = static_cast<int>(impl_->state.step % 2), turn = impl_->populations->physical(0) ^ step,
            side = impl_->outlet ? impl_->outlet->field.physical(0) ^ step : 0;
  const auto relation = static_cast<std::uint64_t>(2 * (impl_->in_place() ? 0 : turn) + side);
  return {2, step, 4 * impl_->serial + relation};
}

std::vector<Watched> Lbm::watched() {
  return {{"density", &*impl_->populations,
           [this](Stream& stream, std::span<const InspectedBlock> blocks, double lowest, double highest) {
             Together together(stream);
             for (const InspectedBlock& inspected : blocks) {
               BlockArrays arrays = impl_->arrays(impl_->work(inspected.block));
               // The check for invalid values is by rows of the field's layout, which the array here may not have.
               arrays.populations.shape.row_axis = impl_->populations->shape(inspected.block).row_axis;
               impl_->kernel.inspect_density(together, arrays, lowest, highest, inspected.rows);
             }
             together.launch();
           }}};
}

void Lbm::set_solid(const std::vector<std::uint8_t>& mask) {
  const Box domain = impl_->grid.box();
  require(static_cast<std::int64_t>(mask.size()) == domain.volume(), ErrorCode::mismatch,
          "the mask of solid cells has " + std::to_string(mask.size()) + " values for a grid of " +
              std::to_string(domain.volume()) + " cells",
          {{"given", mask.size()}, {"needed", domain.volume()}});
  impl_->set({{"solid"},
              [&](const Box& box) {
                std::vector<std::uint16_t> solid(box.volume());
                const auto plane = [&](std::int64_t z) {
                  for (std::int64_t y = box.lo[1]; y < box.hi[1]; ++y) {
                    const Extent row{box.lo[0], y, box.lo[2] + z};
                    const std::uint8_t* const from = mask.data() + index_in(domain, row);
                    std::uint16_t* const to = solid.data() + index_in(box, row);
                    for (std::int64_t x = 0; x < box.extent(0); ++x) to[x] = from[x] != 0;
                  }
                };
                for_each_item(box.extent(2), plane, box.extent(0) * box.extent(1));
                return solid;
              },
              {}});
}

void Lbm::set_bodies(Surfaces bodies) { impl_->set(std::move(bodies)); }

Field& Lbm::field(const std::string& name) {
  const bool derived = name == "velocity" || name == "density";
  if (derived && impl_->macroscopic_step != impl_->now()) update_macroscopic();
  return impl_->state[name];
}

void Lbm::start_from(const FlowOfBox& flow) {
  require(impl_->state.step == 0, ErrorCode::wrong_state, "the flow to start from is set before the first step");
  for (const BlockWork& work : impl_->blocks) impl_->start_from(work, flow);
  impl_->macroscopic_step.first = -1;
}

}  // namespace slipstream::lbm
