#include <slipstream/fft.hpp>

#include <algorithm>

#include <slipstream/fft/pointwise.hpp>

#include "fft/choose.hpp"
#include "fft/impl.hpp"
#include "fft/make_factor.hpp"
#include "fft/passes.hpp"

namespace slipstream {

using fft::Array;
using fft::Decomposition;
using fft::Lane;
using fft::Lines;
using fft::Operations;
using fft::packed;
using fft::Stage;
using fft::Step;
using fft::With;

void Fft::Impl::run(bool forward, const Sources& from, const Targets& to, std::vector<Stream>& streams,
                    const With& with) {
  in_order.begin(streams);
  if (out_of_core) {
    in_batches(forward, from, to, streams, with.factor);
  } else if (lanes.size() > 1 && from.size() > 1) {
    overlapped(forward, from, to, streams, with);
  } else {
    one_by_one(forward, from, to, streams, with);
  }
  in_order.end(streams);
}

void Fft::Impl::in_batches(bool forward, const Sources& from, const Targets& to, std::vector<Stream>& streams,
                           double factor) {
  for (std::size_t c = 0; c < from.size(); ++c) {
    bool in_place = false;
    for (std::size_t d = 0; d < from[c].size(); ++d) in_place = in_place || (from[c][d] && from[c][d] == to[c][d]);
    require(
        !cut.transposed || !in_place, ErrorCode::unsupported,
        "a Fourier transform by batches was asked to permute the axes of an array in place: give two arrays, or make "
        "the plan with transposed = false",
        {{"component", c}, {"problem", "in_place"}});
    if (forward) {
      out_of_core->forward(streams, from[c], to[c]);
    } else {
      out_of_core->backward(streams, from[c], to[c], factor);
    }
  }
}

void Fft::Impl::one_by_one(bool forward, const Sources& from, const Targets& to, std::vector<Stream>& streams,
                           const With& with) {
  Lane& lane = lanes[0];
  for (std::size_t c = 0; c < from.size(); ++c)
    for (Step& step : forward ? lane.forward : lane.backward) {
      if (step.move && step.move->parts.size() > 1 && step.move->is_stored()) {
        stored_in_parts(lane, step, from[c], streams, with);
      } else if (step.move && step.move->parts.size() > 1) {
        in_parts(lane, step, from[c], to[c], streams);
      } else if (step.move && !step.move->is_stored()) {
        if (step.move->clears) clear(lane, step, streams);
        step.move->whole().run(streams);
      } else if (step.move) {
        begin_move(lane, step, from[c], streams, with);
        step.move->whole().end(streams);
      } else {
        run_within(lane, step, from[c], to[c], streams, with);
      }
    }
}

// Two lanes take components in turn. One completes its move, computes and starts its next move while the other lane's
// move is in flight.
void Fft::Impl::overlapped(bool forward, const Sources& from, const Targets& to, std::vector<Stream>& streams,
                           const With& with) {
  struct Flight {
    bool active = false;  // whether this set of work arrays (lane) holds a component whose move is in flight
    std::size_t component = 0, step = 0;
  };
  std::array<Flight, 2> flights;
  std::size_t next = 0;
  for (std::size_t turn = 0; next < from.size() || flights[0].active || flights[1].active; turn = 1 - turn) {
    Flight& flight = flights[turn];
    std::vector<Step>& steps = forward ? lanes[turn].forward : lanes[turn].backward;
    if (flight.active) steps[flight.step++].move->whole().end(streams);
    for (;;) {
      if (!flight.active) {
        if (next == from.size()) break;
        flight = {true, next++, 0};
      }
      for (; flight.step < steps.size() && !steps[flight.step].move; ++flight.step)
        run_within(lanes[turn], steps[flight.step], from[flight.component], to[flight.component], streams, with);
      if (flight.step < steps.size()) {
        begin_move(lanes[turn], steps[flight.step], from[flight.component], streams, with);
        break;
      }
      flight.active = false;
    }
  }
}

/// Makes work that is queued on `then` afterwards wait for all work queued on `first`.
void Fft::Impl::meet(std::vector<Stream>& first, std::vector<Stream>& then) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    first[i].record(reached[i]);
    then[i].wait(reached[i]);
  }
}

// Queues line transforms before end() is called, because a route that needs the host blocks in end(). So the transforms
// run during the move.
void Fft::Impl::in_parts(Lane& lane, Step& step, const std::vector<const void*>& from, const std::vector<void*>& to,
                         std::vector<Stream>& streams) {
  fft::Move& move = *step.move;
  const std::size_t parts = move.parts.size();
  const auto lines = [&](std::size_t part) { run_part(lane, move, move.parts[part], from, to); };
  if (move.clears) clear(lane, step, streams);
  if (!move.behind) {
    meet(streams, line_streams);
    lines(0);
  }
  for (std::size_t n = 0; n < parts; ++n) {
    Exchange& exchange = *move.parts[n].exchange;
    if (!move.behind) meet(line_streams, streams);
    exchange.begin(streams);
    if (move.behind ? n > 0 : n + 1 < parts) lines(move.behind ? n - 1 : n + 1);
    exchange.end(streams);
    if (move.behind) meet(streams, line_streams);
  }
  if (!move.behind) return;
  lines(parts - 1);
  meet(line_streams, streams);
}

void Fft::Impl::run_part(const Lane& lane, const fft::Move& move, const fft::Part& part,
                         const std::vector<const void*>& from, const std::vector<void*>& to) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (!part.lines[i]) continue;
    const auto at = [&](std::size_t end) {
      const Array place = move.lines[end];
      const void* const array = place == Array::from ? from[i]
                                : place == Array::to ? to[i]
                                                     : lane.work[i][static_cast<std::size_t>(place)].data();
      return static_cast<const std::byte*>(array) + part.begin[i][end];
    };
    // removes const from the output address: an array of the FFT plan or the target, never the caller's constant input
    part.lines[i]->run(line_streams[i], at(0), const_cast<std::byte*>(at(1)));
  }
}

/// Starts a transpose. If the transform before it stores the results directly at their targets, that is queued first.
void Fft::Impl::begin_move(Lane& lane, Step& step, const std::vector<const void*>& from, std::vector<Stream>& streams,
                           const With& with) {
  fft::Move& move = *step.move;
  if (move.clears) clear(lane, step, streams);
  Exchange& exchange = move.whole();
  if (!move.is_stored()) return exchange.begin(streams);
  exchange.open(streams);
  store_part(lane, step, &move.parts[0], nullptr, from, streams, with);
  exchange.post(streams);
}

/// Runs a step without a transpose: transforms its lines, or copies values if it has no lines.
void Fft::Impl::run_within(const Lane& lane, Step& step, const std::vector<const void*>& from,
                           const std::vector<void*>& to, std::vector<Stream>& streams, const With& with) {
  const Operations* const operations = step.to == Array::to       ? with.leaves
                                       : step.from == Array::from ? with.reads
                                                                  : nullptr;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto array = [&](Array place) -> const void* {
      if (place == Array::from) return from[i];
      if (place == Array::to) return to[i];
      return lane.work[i][static_cast<std::size_t>(place)].data();
    };
    // removes const from the output address: an array of the FFT plan or the target, never the caller's constant input
    void* const target = const_cast<void*>(array(step.to));
    if (!step.lines.empty()) {
      if (!step.lines[i]) continue;
      if (operations) {
        Lines& lines = operations == with.reads ? *lane.through[i] : *step.lines[i];
        lines.run_with(streams[i], array(step.from), target, (*operations)[i]);
      } else {
        step.lines[i]->run(streams[i], array(step.from), target);
      }
    } else if (operations) {
      if ((*operations)[i]) (*operations)[i]->pass(streams[i], array(step.from), target);
    } else if (const std::int64_t values = cut.volume_on(devices[i], last_stage())) {
      copy(streams[i], target, array(step.from), static_cast<std::size_t>(2 * cut.word() * values));
    }
  }
}

/// Sets those values of the target to zero that the move does not write.
void Fft::Impl::clear(const Lane& lane, const Step& step, std::vector<Stream>& streams) const {
  const Stage stage = *step.move->clears;
  for (const std::int64_t id : grid(stage).local()) {
    const Block& block = grid(stage).block(id);
    const std::size_t i = place_of(block.device);
    fft::clear_outside(streams[i], lane.work[i][static_cast<std::size_t>(step.to)].data(), block.box, cut.twice,
                       cut.kept(stage));
  }
}

void Fft::Impl::scale(const std::vector<void*>& arrays, std::vector<Stream>& streams) const {
  const double factor = 1 / static_cast<double>(volume(cut.cells));
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (const std::int64_t cells = cut.volume_on(devices[i], Stage::physical, true))
      fft::scale(streams[i], arrays[i], cut.real ? cells : 2 * cells, cut.twice, factor);
}

template <class Pointer>
std::vector<Pointer> Fft::Impl::by_device(const Grid& of, const std::vector<Pointer>& arrays, const char* what) const {
  if (arrays.size() != of.local().size())
    throw Error(ErrorCode::mismatch,
                std::string("a Fourier transform was given ") + std::to_string(arrays.size()) + " arrays of the " +
                    what + " grid, which has " + std::to_string(of.local().size()) +
                    " blocks on this rank: give one for each",
                {{"kind", what}, {"given", arrays.size()}, {"needed", of.local().size()}});
  std::vector<Pointer> found(devices.size(), nullptr);
  for (std::size_t n = 0; n < arrays.size(); ++n) {
    if (arrays[n] == nullptr)
      throw Error(ErrorCode::invalid_argument, "a Fourier transform was given an array without an address",
                  {{"array", n}, {"problem", "null"}});
    found[place_of(of.block(of.local()[n]).device)] = arrays[n];
  }
  return found;
}

template <class Pointer>
std::vector<std::vector<Pointer>> Fft::Impl::by_component(const Grid& of,
                                                          const std::vector<std::vector<Pointer>>& arrays,
                                                          const char* what) const {
  std::vector<std::vector<Pointer>> found;
  for (const std::vector<Pointer>& component : arrays) found.push_back(by_device(of, component, what));
  return found;
}

template <class Pointer>
std::vector<std::vector<Pointer>> Fft::Impl::arrays_of(const Field& field, const Grid& on, DType type) const {
  const std::string name = "field " + field.options().name;
  if (field.options().type != type)
    throw Error(
        ErrorCode::mismatch,
        name + " holds " + to_string(field.options().type) + ", the transform " + to_string(type) + " on this side",
        {{"field", field.options().name}, {"given", to_string(field.options().type)}, {"needed", to_string(type)}});
  if (!(field.grid().extent() == on.extent() && field.grid().local().size() == on.local().size()))
    throw Error(ErrorCode::mismatch,
                name + " does not lie on the transform's grid: make it on physical() or spectral()",
                {{"field", field.options().name}, {"problem", "grid"}});
  std::vector<std::vector<Pointer>> arrays(static_cast<std::size_t>(field.options().components));
  for (const std::int64_t id : on.local()) {
    const BlockShape& shape = field.shape(id);
    if (!(field.grid().block(id).box == on.block(id).box &&
          field.device(id) == machine.device(on.block(id).device).local))
      throw Error(ErrorCode::mismatch,
                  name + " does not lie on the transform's grid: make it on physical() or spectral()",
                  {{"field", field.options().name}, {"problem", "grid"}});
    if (!(shape.ghost == Extent{0, 0, 0} && shape.stride[0] == 1 && shape.stride[1] == shape.extent[0] &&
          shape.stride[2] == shape.extent[0] * shape.extent[1]))
      throw Error(ErrorCode::mismatch,
                  name + " has ghosts or gaps between rows: make it with physical_field() or spectral_field()",
                  {{"field", field.options().name}, {"problem", "gaps"}});
    const auto size = static_cast<std::int64_t>(size_of(type));
    std::byte* at = field.data(id) + size * shape.origin;
    for (auto& component : arrays) {
      component.push_back(at);
      at += size * shape.component_stride;
    }
  }
  return arrays;
}

Fft::Fft(const Communicator& comm, const Machine& machine, const Extent& cells, FftOptions options) {
  fft::agree_on_transform(comm, machine, cells, options);
  FftProcessGrids tried = fft::choose_process_grid(comm, machine, cells, options);
  impl_ = std::make_unique<Impl>(comm, machine, cells, std::move(options));
  impl_->grids_tried = std::move(tried);
  if (comm.size() > 1)
    impl_->same_calls.emplace(impl_->comm, "a Fourier transform",
                              std::vector<std::string>{"forward", "backward", "convolve"},
                              impl_->options.exchange.wait_limit);
  if (impl_->options.verify) fft::verify(comm, machine, *this, impl_->options);
}
Fft::~Fft() = default;
Fft::Fft(Fft&&) noexcept = default;

const Extent& Fft::cells() const { return impl_->cut.cells; }
const std::array<int, 2>& Fft::process_grid() const { return impl_->cut.process; }
const FftProcessGrids& Fft::process_grids() const { return impl_->grids_tried; }
const Grid& Fft::physical() const { return *impl_->physical; }
const Grid& Fft::spectral() const { return impl_->grid(impl_->last_stage()); }
const std::array<int, 3>& Fft::spectral_axes() const { return Decomposition::axes(impl_->last_stage()); }
FieldOptions Fft::physical_field(const std::string& name) const {
  FieldOptions options = packed(name, impl_->options.type);
  options.pinned = impl_->out_of_core != nullptr;
  return options;
}
FieldOptions Fft::spectral_field(const std::string& name) const {
  FieldOptions options = packed(name, impl_->cut.complex_type());
  options.pinned = impl_->out_of_core != nullptr;
  return options;
}
std::int64_t Fft::host_bytes_moved() const { return impl_->out_of_core ? impl_->out_of_core->batches().moved() : 0; }

void Fft::forward_components(const std::vector<std::vector<const void*>>& from,
                             const std::vector<std::vector<void*>>& to, std::vector<Stream>& streams) {
  Impl::Sources sources;
  Impl::Targets targets;
  impl_->check_call(Impl::calls_forward, streams, [&] {
    sources = impl_->by_component(physical(), from, "physical");
    targets = impl_->by_component(spectral(), to, "spectral");
    impl_->check_arguments(true, sources, targets, streams);
  });
  impl_->run(true, sources, targets, streams);
}

void Fft::backward_components(const std::vector<std::vector<const void*>>& from,
                              const std::vector<std::vector<void*>>& to, std::vector<Stream>& streams) {
  Impl::Sources sources;
  Impl::Targets targets;
  impl_->check_call(Impl::calls_backward, streams, [&] {
    sources = impl_->by_component(spectral(), from, "spectral");
    targets = impl_->by_component(physical(), to, "physical");
    impl_->check_arguments(false, sources, targets, streams);
  });
  impl_->run(false, sources, targets, streams, {nullptr, nullptr, backward_factor()});
  if (!impl_->options.scaled || impl_->out_of_core) return;
  for (const auto& target : targets) impl_->scale(target, streams);
}

void Fft::forward(const std::vector<const void*>& from, const std::vector<void*>& to, std::vector<Stream>& streams) {
  forward_components({from}, {to}, streams);
}

void Fft::backward(const std::vector<const void*>& from, const std::vector<void*>& to, std::vector<Stream>& streams) {
  backward_components({from}, {to}, streams);
}

void Fft::forward(const Field& from, Field& to, std::vector<Stream>& streams) {
  const auto sources = impl_->arrays_of<const void*>(from, physical(), impl_->options.type);
  const auto targets = impl_->arrays_of<void*>(to, spectral(), impl_->cut.complex_type());
  forward_components(sources, targets, streams);
}

void Fft::backward(const Field& from, Field& to, std::vector<Stream>& streams) {
  const auto sources = impl_->arrays_of<const void*>(from, spectral(), impl_->cut.complex_type());
  const auto targets = impl_->arrays_of<void*>(to, physical(), impl_->options.type);
  backward_components(sources, targets, streams);
}

void Fft::convolve_components(const std::vector<std::vector<const void*>>& from,
                              const std::vector<std::vector<void*>>& through, const std::vector<std::vector<void*>>& to,
                              const Operations& operations, std::vector<Stream>& streams) {
  Impl::Sources sources;
  Impl::Targets modes, targets;
  fft::Operations with;
  impl_->check_call(Impl::calls_convolve, streams, [&] {
    sources = impl_->by_component(physical(), from, "physical");
    modes = impl_->by_component(spectral(), through, "spectral");
    targets = impl_->by_component(physical(), to, "physical");
    impl_->check_convolution(sources, modes, targets, streams);
    with = impl_->by_device(operations);
  });
  impl_->convolve(sources, modes, targets, with, streams);
}

void Fft::convolve_components(const std::vector<std::vector<const void*>>& from,
                              const std::vector<std::vector<void*>>& through, const std::vector<std::vector<void*>>& to,
                              const FftFactor& factor, std::vector<Stream>& streams) {
  Impl::Sources sources;
  Impl::Targets modes, targets;
  fft::Operations with;
  const auto checks = [&] {
    sources = impl_->by_component(physical(), from, "physical");
    modes = impl_->by_component(spectral(), through, "spectral");
    targets = impl_->by_component(physical(), to, "physical");
    impl_->check_convolution(sources, modes, targets, streams);
    with = impl_->by_device(operations(factor));
    impl_->require_apart(factor, modes, targets);
  };
  impl_->check_call(Impl::calls_convolve, streams, checks, fft::number_of(factor));
  impl_->convolve(sources, modes, targets, with, streams);
}

void Fft::convolve(const std::vector<const void*>& from, const std::vector<void*>& through,
                   const std::vector<void*>& to, const FftFactor& factor, std::vector<Stream>& streams) {
  convolve_components({from}, {through}, {to}, factor, streams);
}

void Fft::convolve(const Field& from, Field& through, Field& to, const FftFactor& factor,
                   std::vector<Stream>& streams) {
  const auto sources = impl_->arrays_of<const void*>(from, physical(), impl_->options.type);
  const auto modes = impl_->arrays_of<void*>(through, spectral(), impl_->cut.complex_type());
  convolve_components(sources, modes, impl_->arrays_of<void*>(to, physical(), impl_->options.type), factor, streams);
}

void Fft::convolve(const Field& from, Field& through, Field& to, const Operations& operations,
                   std::vector<Stream>& streams) {
  const auto sources = impl_->arrays_of<const void*>(from, physical(), impl_->options.type);
  const auto modes = impl_->arrays_of<void*>(through, spectral(), impl_->cut.complex_type());
  convolve_components(sources, modes, impl_->arrays_of<void*>(to, physical(), impl_->options.type), operations,
                      streams);
}

void Fft::check() {
  impl_->each_move([](Exchange& exchange) { exchange.check(); });
  if (impl_->out_of_core) impl_->out_of_core->check();
}

bool Fft::capturable() const {
  bool all = !impl_->out_of_core;
  impl_->each_move([&](Exchange& exchange) { all = all && exchange.capturable(); });
  return all;
}

std::int64_t Fft::bytes_on(Device device) const {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < impl_->local.size(); ++i) {
    if (impl_->local[i] != device) continue;
    if (impl_->out_of_core) return impl_->out_of_core->bytes(i);
    bytes += static_cast<std::int64_t>(impl_->workspace[i].bytes());
    for (const Lane& lane : impl_->lanes)
      bytes += static_cast<std::int64_t>(lane.work[i][0].bytes() + lane.work[i][1].bytes());
  }
  impl_->each_move([&](Exchange& exchange) { bytes += exchange.bytes_on(device); });
  return bytes;
}

std::pair<int, int> Fft::stored_moves() const {
  std::pair<int, int> found{0, 0};
  for (const Step& step : impl_->lanes[0].forward)
    if (step.move) {
      ++found.second;
      if (step.move->is_stored()) ++found.first;
    }
  return found;
}

std::vector<MessageInfo> Fft::messages() const {
  std::vector<MessageInfo> all;
  for (const Step& step : impl_->lanes[0].forward)
    if (step.move)
      for (const fft::Part& part : step.move->parts) {
        const std::vector<MessageInfo>& some = part.exchange->messages();
        all.insert(all.end(), some.begin(), some.end());
      }
  return all;
}

std::vector<ReportRow> Fft::report() {
  std::vector<ReportRow> all;
  for (Step& step : impl_->lanes[0].forward)
    if (step.move)
      for (fft::Part& part : step.move->parts) {
        const std::vector<ReportRow> some = part.exchange->report();
        all.insert(all.end(), some.begin(), some.end());
      }
  return all;
}

const Tuning& Fft::tuning() const { return impl_->tuning; }

}  // namespace slipstream
