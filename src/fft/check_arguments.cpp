// Checks the arguments of transforms and convolutions: arrays must not overlap, and streams must belong to their
// devices.
#include <algorithm>

#include "exchange/apart.hpp"
#include "fft/impl.hpp"
#include "machine/agree.hpp"

namespace slipstream {

using fft::Stage;

void Fft::Impl::check_call(Call call, const std::vector<Stream>& streams, const std::function<void()>& checks,
                           std::optional<std::uint64_t> details) {
  const Problem problem = failure_of(checks);
  if (same_calls) {
    same_calls->count();
    if (!captured(streams)) same_calls->compare(call, Op::copy, problem, details.has_value(), details.value_or(0));
  }
  throw_if(problem);
}

void Fft::Impl::check_arguments(bool forward, const Sources& from, const Targets& to,
                                const std::vector<Stream>& streams) const {
  if (streams.size() != devices.size())
    throw Error(ErrorCode::mismatch,
                "a Fourier transform was given " + std::to_string(streams.size()) + " streams for the " +
                    std::to_string(devices.size()) + " devices of this rank: give one for each",
                {{"streams", streams.size()}, {"needed", devices.size()}});
  in_order.check(streams);
  if (from.size() != to.size() || from.empty())
    throw Error(ErrorCode::mismatch,
                "a Fourier transform was given " + std::to_string(from.size()) + " components to read and " +
                    std::to_string(to.size()) + " to fill: give both the same" + (from.empty() ? ", one or more" : ""),
                {{"source", from.size()}, {"target", to.size()}});
  require_apart(forward, from, to);
  // too little device memory is reported like a wrong argument
  if (out_of_core) out_of_core->make_room_between(forward);
}

void Fft::Impl::check_convolution(const Sources& from, const Targets& through, const Targets& to,
                                  const std::vector<Stream>& streams) const {
  if (from.size() != through.size() || from.size() != to.size())
    throw Error(ErrorCode::mismatch,
                "a convolution was given " + std::to_string(from.size()) + " components to read, " +
                    std::to_string(through.size()) + " to work in and " + std::to_string(to.size()) +
                    " to fill: give all the same",
                {{"source", from.size()}, {"through", through.size()}, {"target", to.size()}});
  check_arguments(true, from, through, streams);
  Sources modes;
  for (const auto& component : through) modes.emplace_back(component.begin(), component.end());
  check_arguments(false, modes, to, streams);
}

std::int64_t Fft::Impl::bytes_of(std::size_t device, bool of_cells) const {
  return of_cells ? cut.word() * (cut.real ? 1 : 2) * cut.volume_on(devices[device], Stage::physical, true)
                  : 2 * cut.word() * cut.volume_on(devices[device], last_stage());
}

namespace {

/// An array of a component on one device of this rank.
struct CheckedPart {
  const std::byte *first, *behind;
  std::size_t component, device;
};

/// Sorts arrays by address and leaves out empty ones.
template <class Arrays, class BytesOf>
std::vector<CheckedPart> placed(const Arrays& arrays, const BytesOf& bytes_of) {
  std::vector<CheckedPart> parts;
  for (std::size_t c = 0; c < arrays.size(); ++c)
    for (std::size_t i = 0; i < arrays[c].size(); ++i)
      if (const auto* first = static_cast<const std::byte*>(arrays[c][i]); first && bytes_of(i))
        parts.push_back({first, first + bytes_of(i), c, i});
  std::sort(parts.begin(), parts.end(), [](const CheckedPart& a, const CheckedPart& b) { return a.first < b.first; });
  return parts;
}

Facts facts_of(const CheckedPart& written, const char* problem, const CheckedPart& other) {
  return {{"component", written.component},
          {"device", written.device},
          {"problem", problem},
          {"other_component", other.component},
          {"other_device", other.device}};
}

/// Names a component in messages: "component 0", with the position of the device where the rank has several.
std::string name_of(const CheckedPart& part, std::size_t devices) {
  return "component " + std::to_string(part.component) +
         (devices > 1 ? " on device " + std::to_string(part.device) + " of this rank" : "");
}

}  // namespace

// The first step of a component reads its array, the last step writes its target. Devices are not synchronised between
// components, so arrays of different devices must not overlap either.
void Fft::Impl::require_apart(bool forward, const Sources& from, const Targets& to) const {
  const auto written = placed(to, [&](std::size_t i) { return bytes_of(i, !forward); });
  const auto read = placed(from, [&](std::size_t i) { return bytes_of(i, forward); });
  for (std::size_t n = 1; n < written.size(); ++n)
    if (written[n - 1].behind > written[n].first)
      throw Error(ErrorCode::invalid_argument,
                  name_of(written[n - 1], devices.size()) + " and " + name_of(written[n], devices.size()) +
                      " of a Fourier transform would be written into the same memory: give each its own array",
                  facts_of(written[n - 1], "written_twice", written[n]));
  for (const CheckedPart& f : read) {
    auto t = std::partition_point(written.begin(), written.end(),
                                  [&](const CheckedPart& part) { return part.behind <= f.first; });
    for (; t != written.end() && t->first < f.behind; ++t)
      if (t->device != f.device || t->component < f.component || (t->component == f.component && t->first != f.first))
        throw Error(
            ErrorCode::invalid_argument,
            name_of(*t, devices.size()) + " of a Fourier transform would be written over what " +
                name_of(f, devices.size()) +
                " is read from: give arrays that do not overlap, or one that begins at the same address and holds "
                "the larger of both",
            facts_of(*t, "written_over", f));
  }
}

void Fft::Impl::require_apart(const FftFactor& factor, const Targets& through, const Targets& to) const {
  const Grid& modes = grid(last_stage());
  for (const auto& [arrays, parts] : {std::pair{&factor.real, 1}, {&factor.complex, 2}})
    for (std::size_t n = 0; n < arrays->size(); ++n) {
      const std::int64_t values = modes.block(modes.local()[n]).box.volume();
      const ByteRows given{(*arrays)[n], parts * cut.word() * values};
      for (const bool of_cells : {false, true})
        for (const auto& component : of_cells ? to : through)
          for (std::size_t i = 0; i < component.size(); ++i)
            if (component[i] && share_memory(given, {component[i], bytes_of(i, of_cells)}))
              throw Error(ErrorCode::invalid_argument,
                          "a factor of modes, block " + std::to_string(n) +
                              " of this rank, overlaps memory that the convolution writes: give a separate array",
                          {{"block", n}, {"problem", "written_over"}});
    }
}

}  // namespace slipstream
