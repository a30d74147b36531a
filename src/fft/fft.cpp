#include <slipstream/fft.hpp>

#include <algorithm>

#include "fft/impl.hpp"
#include "fft/scale_kernels.hpp"

namespace slipstream {

using fft::Array;
using fft::Decomposition;
using fft::packed;
using fft::Stage;
using fft::Step;

void Fft::Impl::run(std::vector<Step>& steps, const std::vector<const void*>& from, const std::vector<void*>& to,
                    std::vector<Stream>& streams) {
  require(streams.size() == devices.size(), "a Fourier transform was given " + std::to_string(streams.size()) +
                                                " streams for the " + std::to_string(devices.size()) +
                                                " devices of this rank: give one for each");
  for (Step& step : steps) {
    if (step.move) {
      if (step.move->clears) clear(step.to, streams);
      step.move->exchange->run(streams);
      continue;
    }
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const auto array = [&](Array place) -> const void* {
        if (place == Array::from) return from[i];
        if (place == Array::to) return to[i];
        return work[i][static_cast<std::size_t>(place)].data();
      };
      void* const target = const_cast<void*>(array(step.to));  // none of them is what the caller gave to be read
      if (!step.lines.empty()) {
        if (step.lines[i]) step.lines[i]->run(streams[i], array(step.from), target);
      } else if (const std::int64_t values = cut.volume_on(devices[i], last_stage())) {
        copy(streams[i], target, array(step.from), static_cast<std::size_t>(2 * cut.word() * values));
      }
    }
  }
}

void Fft::Impl::clear(Array array, std::vector<Stream>& streams) const {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Buffer<std::byte>& buffer = work[i][static_cast<std::size_t>(array)];
    if (buffer.bytes()) fill(streams[i], buffer.data(), 0, buffer.bytes());
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
  require(arrays.size() == of.local().size(),
          std::string("a Fourier transform was given ") + std::to_string(arrays.size()) + " arrays of the " + what +
              " grid, which has " + std::to_string(of.local().size()) + " blocks on this rank: give one for each");
  std::vector<Pointer> found(devices.size(), nullptr);
  for (std::size_t n = 0; n < arrays.size(); ++n) {
    require(arrays[n] != nullptr, "a Fourier transform was given an array without an address");
    found[place_of(of.block(of.local()[n]).device)] = arrays[n];
  }
  return found;
}

std::vector<void*> Fft::Impl::arrays_of(const Field& field, const Grid& on, DType type, int component) const {
  const std::string name = "field " + field.options().name;
  require(field.options().type == type,
          name + " holds " + to_string(field.options().type) + ", the transform " + to_string(type) + " on this side");
  require(field.grid().extent() == on.extent() && field.grid().local().size() == on.local().size(),
          name + " does not lie on the transform's grid: make it on physical() or spectral()");
  std::vector<void*> arrays;
  for (const std::int64_t id : on.local()) {
    const BlockShape& shape = field.shape(id);
    require(
        field.grid().block(id).box == on.block(id).box && field.device(id) == machine.device(on.block(id).device).local,
        name + " does not lie on the transform's grid: make it on physical() or spectral()");
    require(shape.ghost == Extent{0, 0, 0} && shape.stride[0] == 1 && shape.stride[1] == shape.extent[0] &&
                shape.stride[2] == shape.extent[0] * shape.extent[1],
            name + " has ghosts or gaps between rows: make it with physical_field() or spectral_field()");
    arrays.push_back(field.data(id) +
                     static_cast<std::int64_t>(size_of(type)) * (shape.origin + component * shape.component_stride));
  }
  return arrays;
}

namespace {

void require_components(const Field& from, const Field& to) {
  require(from.options().components == to.options().components,
          "fields " + from.options().name + " and " + to.options().name + " of a Fourier transform have " +
              std::to_string(from.options().components) + " and " + std::to_string(to.options().components) +
              " components: give both the same");
}

}  // namespace

Fft::Fft(const Communicator& comm, const Machine& machine, const Extent& cells, FftOptions options)
    : impl_(std::make_unique<Impl>(comm, machine, cells, std::move(options))) {}
Fft::~Fft() = default;
Fft::Fft(Fft&&) noexcept = default;

const Extent& Fft::cells() const { return impl_->cut.cells; }
const std::array<int, 2>& Fft::process_grid() const { return impl_->cut.process; }
const Grid& Fft::physical() const { return *impl_->physical; }
const Grid& Fft::spectral() const { return impl_->grid(impl_->last_stage()); }
const std::array<int, 3>& Fft::spectral_axes() const { return Decomposition::axes(impl_->last_stage()); }
FieldOptions Fft::physical_field(const std::string& name) const { return packed(name, impl_->options.type); }
FieldOptions Fft::spectral_field(const std::string& name) const { return packed(name, impl_->cut.complex_type()); }

void Fft::forward(const std::vector<const void*>& from, const std::vector<void*>& to, std::vector<Stream>& streams) {
  const auto source = impl_->by_device(physical(), from, "physical");
  impl_->run(impl_->forward, source, impl_->by_device(spectral(), to, "spectral"), streams);
}

void Fft::backward(const std::vector<const void*>& from, const std::vector<void*>& to, std::vector<Stream>& streams) {
  const auto source = impl_->by_device(spectral(), from, "spectral");
  const auto into = impl_->by_device(physical(), to, "physical");
  impl_->run(impl_->backward, source, into, streams);
  if (impl_->options.scaled) impl_->scale(into, streams);
}

void Fft::forward(const Field& from, Field& to, std::vector<Stream>& streams) {
  require_components(from, to);
  for (int c = 0; c < from.options().components; ++c) {
    const auto source = impl_->arrays_of(from, physical(), impl_->options.type, c);
    forward({source.begin(), source.end()}, impl_->arrays_of(to, spectral(), impl_->cut.complex_type(), c), streams);
  }
}

void Fft::backward(const Field& from, Field& to, std::vector<Stream>& streams) {
  require_components(from, to);
  for (int c = 0; c < from.options().components; ++c) {
    const auto source = impl_->arrays_of(from, spectral(), impl_->cut.complex_type(), c);
    backward({source.begin(), source.end()}, impl_->arrays_of(to, physical(), impl_->options.type, c), streams);
  }
}

void Fft::check() {
  for (std::vector<Step>* steps : {&impl_->forward, &impl_->backward})
    for (Step& step : *steps)
      if (step.move) step.move->exchange->check();
}

bool Fft::capturable() const {
  const auto may = [](const Step& step) { return !step.move || step.move->exchange->capturable(); };
  return std::all_of(impl_->forward.begin(), impl_->forward.end(), may) &&
         std::all_of(impl_->backward.begin(), impl_->backward.end(), may);
}

std::int64_t Fft::bytes_on(Device device) const {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < impl_->local.size(); ++i)
    if (impl_->local[i] == device)
      bytes += static_cast<std::int64_t>(impl_->work[i][0].bytes() + impl_->work[i][1].bytes() +
                                         impl_->workspace[i].bytes());
  for (const std::vector<Step>* steps : {&impl_->forward, &impl_->backward})
    for (const Step& step : *steps)
      if (step.move) bytes += step.move->exchange->bytes_on(device);
  return bytes;
}

std::vector<MessageInfo> Fft::messages() const {
  std::vector<MessageInfo> all;
  for (const Step& step : impl_->forward)
    if (step.move) {
      const std::vector<MessageInfo>& some = step.move->exchange->messages();
      all.insert(all.end(), some.begin(), some.end());
    }
  return all;
}

// What is in flight is at most twice what leaves and reaches a device, for the ring and for packed values; forward and
// backward moves have slots of their own.
std::vector<FftMemory> Fft::memory(const Machine& machine, const Extent& cells, const FftOptions& options) {
  const Decomposition cut(machine, cells, options);
  const Stage last = cut.transposed ? Stage::spectral : Stage::natural;
  std::vector<FftMemory> found;
  for (int d = 0; d < machine.devices(); ++d) {
    FftMemory& m = found.emplace_back();
    m.physical = cut.word() * (cut.real ? 1 : 2) * cut.volume_on(d, Stage::physical, true);
    m.spectral = 2 * cut.word() * cut.volume_on(d, last);
    const auto work = cut.work_bytes(d);
    m.work = work[0] + work[1];
    Stage now = Stage::physical;
    for (const Stage next : cut.path()) {
      m.messages += 2 * 2 * cut.word() * (cut.volume_on(d, now) + cut.volume_on(d, next)) + (1 << 20);
      now = next;
    }
    for (const Block& block : cut.blocks(Stage::physical))
      if (block.device == d)
        m.library = static_cast<std::int64_t>(
            fft::workspace_estimate(machine.device(d).local.backend, cut.first(block.box.extents(), true)));
  }
  return found;
}

}  // namespace slipstream
