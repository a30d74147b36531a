#include "gather_scatter/gather_scatter_kernels.hpp"
#include "gather_scatter/gather_scatter_rows.hpp"

namespace slipstream {

UniqueOnDevice::UniqueOnDevice(Device device, std::int64_t block, const UniqueCopies& copies)
    : block_(points_of_block(block)) {
  Stream stream(device);
  own_ = uploaded(stream, copies.own);
  met_copies_ = uploaded(stream, copies.met_copies);
  gathered_ = uploaded(stream, copies.gathered);
  theirs_ = uploaded(stream, copies.theirs);
  met_ = uploaded(stream, copies.met);
  own_at_ = upload(stream, copies.own_at);
  met_at_ = upload(stream, copies.met_at);
  sent_ = upload(stream, copies.sent);
  theirs_at_ = upload(stream, copies.theirs_at);
}

void UniqueOnDevice::gather_own(Stream& stream, const Operands& with) const {
  with_turn(with.type, with.wire, [&]<class T, class Turn>(T, const Turn& turn) {
    move_rows(stream, own_.count, with.components,
              FromRows<T, Turn, std::uint32_t>{with.points, with.mailbox, here(own_), block_, with.op, turn},
              AtPlaces<T>{with.unique, own_at_.data()});
  });
}

void UniqueOnDevice::gather_met(Stream& stream, const Operands& with) const {
  with_turn(with.type, with.wire, [&]<class T, class Turn>(T, const Turn& turn) {
    move_rows(stream, met_.count, with.components,
              FromRows<T, Turn, Term>{with.points, with.mailbox, here(met_), block_, with.op, turn},
              AtPlaces<T>{with.unique, met_at_.data()}, with.broken);
  });
}

void UniqueOnDevice::pack_sent(Stream& stream, const Operands& with) const {
  with_type(with.type, [&]<class T>(T) {
    move_rows(stream, static_cast<std::int64_t>(sent_.size()), with.components, AtPlaces<T>{with.unique, sent_.data()},
              AtPlaces<T>{with.mailbox});
  });
}

void UniqueOnDevice::scatter_own(Stream& stream, const Operands& with) const {
  with_type(with.type, [&]<class T>(T) {
    move_rows(stream, own_.count, with.components, AtPlaces<T>{with.unique, own_at_.data()},
              ToRows<T, std::uint32_t>{with.points, here(own_)});
    move_rows(stream, met_copies_.count, with.components, AtPlaces<T>{with.unique, met_at_.data()},
              ToRows<T, std::uint32_t>{with.points, here(met_copies_)});
  });
}

void UniqueOnDevice::scatter_theirs(Stream& stream, const Operands& with) const {
  with_type(with.type, [&]<class T>(T) {
    move_rows(stream, theirs_.count, with.components, AtPlaces<T>{with.mailbox, theirs_at_.data()},
              ToRows<T, std::uint32_t>{with.points, here(theirs_)}, with.broken);
  });
}

}  // namespace slipstream
