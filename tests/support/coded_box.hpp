#pragma once
// A single box of values, packed and unpacked by the engine's own copy kernels on a device.
#include <algorithm>
#include <cstddef>
#include <vector>

#include <slipstream/field.hpp>
#include <slipstream/signal.hpp>

#include "device/upload.hpp"
#include "mover/lower.hpp"
#include "mover/moves.hpp"

namespace slipstream {

template <class T>
class CodedBox {
 public:
  CodedBox(Device device, const Extent& box, const Wire& wire)
      : device_(device),
        stream_(device),
        place_(box),
        signals_(device, 4),
        failure_(device, 1, Memory::pinned),
        values_(device, static_cast<std::size_t>(place_.shape.elements)) {
    transfer_.source = transfer_.target = {{{0, 0, 0}, box}, {0}, nullptr};
    leg_.transfer = &transfer_;
    leg_.type = dtype_of<T>();
    leg_.wire = wire;
    leg_.block = wire.block_of(box, false, false);
    codes_ = Buffer<std::byte>(device, leg_.bytes());
    place_.origin =
        reinterpret_cast<std::byte*>(values_.data()) + place_.shape.origin * static_cast<std::int64_t>(sizeof(T));
    fill(stream_, signals_.data(), 0, signals_.bytes());
    stream_.synchronize();
    *failure_.data() = {};
  }
  const CellBlock& block() const { return leg_.block; }
  std::size_t words() const { return leg_.bytes() / 8; }
  /// Whether some value could not be encoded, or was decoded as such, since the construction.
  bool lost() const { return failure_.data()->overflow != 0; }

  std::vector<std::uint64_t> encoded(const std::vector<T>& values) {
    upload(stream_, values, values_.data());
    run([&](Lowering& lowering) { return lowering.to_slot({leg_}, {place_}, {codes_.data(), {}}); });
    std::vector<std::uint64_t> words(codes_.size() / 8);
    download(stream_, reinterpret_cast<const std::uint64_t*>(codes_.data()), words.size(), words.data());
    return words;
  }
  std::vector<T> decoded(const std::vector<std::uint64_t>& words) {
    upload(stream_, words, reinterpret_cast<std::uint64_t*>(codes_.data()));
    run([&](Lowering& lowering) { return lowering.from_slot({leg_}, {place_}, {codes_.data(), {}}); });
    std::vector<T> values(values_.size());
    download(stream_, values_.data(), values.size(), values.data());
    return values;
  }

 private:
  /// Memory layout of a box of values without ghosts and padding.
  struct Whole : Place {
    explicit Whole(const Extent& box) {
      FieldOptions options;
      options.type = dtype_of<T>();
      options.alignment = sizeof(T);
      shape = block_shape(box, options);
      type = options.type;
    }
  };
  template <class Movers>
  void run(const Movers& movers) {
    Lowering lowering(device_);
    const Pulse pulse{signals_.data(), failure_.data(), signals_.data() + 1, 1};
    const Moves moves(device_, movers(lowering), nullptr, Knobs{}, pulse);
    moves.run(stream_, 1);
    stream_.synchronize();
  }

  Device device_;
  Stream stream_;
  Whole place_;
  Buffer<Signal> signals_;
  Buffer<Failure> failure_;
  Buffer<T> values_;
  Buffer<std::byte> codes_;
  Transfer transfer_;
  Leg leg_;
};

}  // namespace slipstream
