#include "route/lower.hpp"

#include <algorithm>

#include <slipstream/error.hpp>

#include "device/upload.hpp"

namespace slipstream {

/// One side of a leg: a sequence of equally large pieces (components), each a strided box, a dense run or ids.
struct Lowering::End {
  std::byte* base = nullptr;
  Extent extent{0, 0, 0};
  std::int64_t stride[3] = {0, 0, 0};
  std::vector<std::int64_t> piece_offset;  // in words, per component; empty for ids
  const std::int64_t* ids = nullptr;
  std::int64_t count = 0;
  std::int64_t ring = 0;
  bool dense = false;
};

Lowering::End Lowering::field_end(const Leg&, const IndexSet& set, const Place& place) {
  End end;
  end.base = place.origin;
  end.count = set.size();
  if (set.ids) {
    lists_.push_back(upload(device_, *set.ids));
    end.ids = lists_.back().data();
    return end;
  }
  end.extent = set.box.extents();
  std::int64_t corner = 0;
  for (int a = 0; a < 3; ++a) {
    end.stride[a] = place.shape.stride[a];
    corner += set.box.lo[a] * place.shape.stride[a];
  }
  for (const int c : set.components) end.piece_offset.push_back(corner + c * place.shape.component_stride);
  return end;
}

Lowering::End Lowering::slot_end(const Leg& leg, const IndexSet& set, std::byte* slot, std::size_t ring) {
  End end;
  end.base = slot + leg.offset;
  end.count = set.size();
  end.ring = static_cast<std::int64_t>(ring);
  end.dense = true;
  return end;
}

namespace {

void set_side(std::int64_t* strides, const Extent& extent, bool dense, const std::int64_t* own) {
  if (dense) {
    strides[0] = 1;
    strides[1] = extent[0];
    strides[2] = extent[0] * extent[1];
  } else {
    for (int a = 0; a < 3; ++a) strides[a] = own[a];
  }
}

}  // namespace

void Lowering::join(const End& source, const End& target, const Leg& leg, std::vector<Mover>& movers) {
  require(source.count == target.count, "a transfer lists " + std::to_string(source.count) +
                                            " values at its source and " + std::to_string(target.count) +
                                            " at its target");
  const int word = static_cast<int>(size_of(leg.type));
  const End& shaped = source.piece_offset.empty() ? target : source;
  const std::size_t pieces = std::max<std::size_t>(1, shaped.piece_offset.size());
  const std::int64_t each = source.count / static_cast<std::int64_t>(pieces);
  const Extent extent = shaped.piece_offset.empty() ? Extent{source.count, 1, 1} : shaped.extent;
  for (std::size_t p = 0; p < pieces; ++p) {
    Mover mover;
    std::copy(extent.begin(), extent.end(), mover.extent);
    mover.word = word;
    const auto offset = [&](const End& end) {
      return end.piece_offset.empty() ? (end.ids ? 0 : static_cast<std::int64_t>(p) * each) : end.piece_offset[p];
    };
    mover.source = source.base + offset(source) * word;
    mover.target = target.base + offset(target) * word;
    mover.source_ids = source.ids ? source.ids + p * each : nullptr;
    mover.target_ids = target.ids ? target.ids + p * each : nullptr;
    mover.source_ring = source.ring;
    mover.target_ring = target.ring;
    set_side(mover.source_stride, extent, source.dense, source.stride);
    set_side(mover.target_stride, extent, target.dense, target.stride);
    movers.push_back(mover);
  }
}

std::vector<Mover> Lowering::box_to_box(const Places& sources, const Places& targets) {
  std::vector<Mover> movers;
  for (std::size_t i = 0; i < legs_.size(); ++i)
    join(field_end(legs_[i], legs_[i].transfer->source, sources[i]),
         field_end(legs_[i], legs_[i].transfer->target, targets[i]), legs_[i], movers);
  return movers;
}

std::vector<Mover> Lowering::to_slot(const Places& sources, std::byte* slot, std::size_t ring) {
  std::vector<Mover> movers;
  for (std::size_t i = 0; i < legs_.size(); ++i) {
    const IndexSet& set = legs_[i].transfer->source;
    join(field_end(legs_[i], set, sources[i]), slot_end(legs_[i], set, slot, ring), legs_[i], movers);
  }
  return movers;
}

std::vector<Mover> Lowering::from_slot(const Places& targets, const std::byte* slot, std::size_t ring) {
  std::vector<Mover> movers;
  for (std::size_t i = 0; i < legs_.size(); ++i) {
    const IndexSet& set = legs_[i].transfer->target;
    join(slot_end(legs_[i], set, const_cast<std::byte*>(slot), ring), field_end(legs_[i], set, targets[i]), legs_[i],
         movers);
  }
  return movers;
}

}  // namespace slipstream
