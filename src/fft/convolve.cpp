// Applies a pointwise operation between a forward and a backward transform.
#include <algorithm>
#include <cmath>
#include <limits>

#include <slipstream/fft/pointwise.hpp>

#include "fft/impl.hpp"
#include "fft/make_factor.hpp"

namespace slipstream {

using fft::Applied;
using fft::Array;
using fft::Decomposition;
using fft::Operations;
using fft::Step;

namespace {

/// Describes the transposes of a Fourier transform, such as "a move packed by the engine in 2 parts".
std::string described(const std::vector<Step>& steps) {
  std::string text;
  for (const Step& step : steps) {
    if (!step.move) continue;
    const std::size_t parts = step.move->parts.size();
    if (!text.empty()) text += ", ";
    text += step.move->is_stored() ? "a move stored by the lines before it" : "a move packed by the engine";
    if (parts > 1) text += " in " + std::to_string(parts) + " parts";
  }
  return text.empty() ? "no move" : text;
}

}  // namespace

// All devices of a rank apply an operation in the same step, so the least capable device decides.
Applied Fft::Impl::applied(const Operations& with) const {
  if (out_of_core) return Applied::apart;
  const fft::Lane& lane = lanes[0];
  const auto all = [&](const auto& lines) {
    bool can = !lines.empty();
    for (std::size_t i = 0; i < lines.size(); ++i) can = can && (!with[i] || (lines[i] && lines[i]->applies(*with[i])));
    return can;
  };
  const Step& first = lane.backward.front();
  const Step& last = lane.forward.back();
  if (first.move && first.move->before == Array::from && all(first.move->parts[0].stored)) return Applied::reading;
  if (all(lane.through)) return Applied::reading;
  if (last.lines.empty()) return Applied::copying;
  return cut.transposed && all(last.lines) ? Applied::storing : Applied::apart;
}

fft::ModeBlock Fft::Impl::mode_block(std::int64_t id) const {
  const Box& box = grid(last_stage()).block(id).box;
  const std::array<int, 3>& axes = Decomposition::axes(last_stage());
  fft::ModeBlock block{};
  block.transposed = cut.transposed;
  for (std::size_t a = 0; a < 3; ++a) {
    block.cells[a] = static_cast<std::int32_t>(cut.cells[a]);
    block.extent[a] = static_cast<std::int32_t>(box.extent(static_cast<int>(a)));
    block.first[axes[a]] = static_cast<std::int32_t>(box.lo[a]);
    block.highest[a] = cut.highest[a] < 0 ? std::numeric_limits<std::int32_t>::max()
                                          : static_cast<std::int32_t>(std::min(cut.highest[a], cut.cells[a]));
  }
  return block;
}

void Fft::Impl::convolve(const Sources& from, const Targets& through, const Targets& to, const Operations& with,
                         std::vector<Stream>& streams) {
  const Applied where = applied(with);
  const bool leaves = where == Applied::storing || where == Applied::copying;
  run(true, from, through, streams, {leaves ? &with : nullptr, nullptr});
  if (where == Applied::apart)
    for (const auto& component : through)
      for (std::size_t i = 0; i < devices.size(); ++i)
        if (with[i]) with[i]->pass(streams[i], component[i], component[i]);
  Sources modes;
  for (const auto& component : through) modes.emplace_back(component.begin(), component.end());
  run(false, modes, to, streams, {nullptr, where == Applied::reading ? &with : nullptr});
}

Operations Fft::Impl::by_device(const Fft::Operations& by_block) const {
  const Grid& on = grid(last_stage());
  if (by_block.size() != on.local().size())
    throw Error(ErrorCode::mismatch,
                "a convolution was given " + std::to_string(by_block.size()) + " operations, and the spectrum has " +
                    std::to_string(on.local().size()) + " blocks on this rank: give one for each",
                {{"option", "operations"}, {"given", by_block.size()}, {"needed", on.local().size()}});
  Operations found(devices.size());
  for (std::size_t n = 0; n < by_block.size(); ++n) {
    if (by_block[n] == nullptr)
      throw Error(ErrorCode::invalid_argument, "a convolution was given a block without an operation",
                  {{"option", "operations"}, {"block", n}});
    found[place_of(on.block(on.local()[n]).device)] = by_block[n];
  }
  return found;
}

Fft::Operations Fft::operations(const FftFactor& factor) const {
  const std::vector<std::int64_t>& local = spectral().local();
  fft::check_factor(factor, impl_->cut.real, local.size());
  Operations found;
  for (std::size_t n = 0; n < local.size(); ++n)
    found.push_back(fft::make_factor(factor, mode_block(local[n]), impl_->cut.twice,
                                     factor.real.empty() ? nullptr : factor.real[n],
                                     factor.complex.empty() ? nullptr : factor.complex[n], backward_factor()));
  return found;
}

fft::ModeBlock Fft::mode_block(std::int64_t block) const { return impl_->mode_block(block); }

double Fft::backward_factor() const {
  return impl_->options.scaled ? 1 / static_cast<double>(volume(impl_->cut.cells)) : 1;
}

std::string Fft::describe() const { return describe(operations({})); }

std::string Fft::describe(const Operations& operations) const {
  if (impl_->out_of_core) return impl_->out_of_core->describe();
  std::string text = "forward: " + described(impl_->lanes[0].forward) +
                     "\nbackward: " + described(impl_->lanes[0].backward) + "\nconvolve: the operation is done ";
  switch (impl_->applied(impl_->by_device(operations))) {
    case Applied::storing:
      return text + "by the lines along z of the forward transform, before they are stored";
    case Applied::copying:
      return text + "by the copy of the spectrum in the order x, y, z";
    case Applied::reading:
      return text + "by the lines along z of the backward transform, as they are read";
    default:
      return text + "in a pass of its own between both transforms";
  }
}

}  // namespace slipstream
