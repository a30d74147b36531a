#include "gather_scatter/gather_scatter_kernels.hpp"
#include "gather_scatter/gather_scatter_rows.hpp"

namespace slipstream {
inline namespace unique_kernels {

template <class T, class Turn>
struct GatherOwn {
  const T* values;
  std::int64_t stride;
  T* unique;
  std::int64_t unique_stride;
  RowsHere<std::uint32_t> rows;
  const std::uint32_t* at;
  std::uint32_t block;
  int components;
  Op op;
  Turn turn;

  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t row = row_of(i, j);
    const std::uint32_t first = rows.starts[row], last = rows.starts[row + 1], place = at[row];
    for (int c = 0; c < components; ++c)
      unique[c * unique_stride + place] =
          folded<T, Turn>(values + c * stride, rows.items, first, last, block, op, turn);
  }
};

template <class T, class Turn>
struct GatherMet {
  const T* values;
  std::int64_t stride;
  const T* mailbox;
  std::int64_t mailbox_stride;
  T* unique;
  std::int64_t unique_stride;
  const Signal* broken;
  RowsHere<Term> rows;
  const std::uint32_t* at;
  std::uint32_t block;
  int components;
  Op op;
  Turn turn;

  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t row = row_of(i, j);
    const std::uint32_t first = rows.starts[row], last = rows.starts[row + 1], place = at[row];
    if (*broken) return;
    for (int c = 0; c < components; ++c)
      unique[c * unique_stride + place] =
          folded<T, Turn>(values + c * stride, mailbox + c * mailbox_stride, rows.items, first, last, block, op, turn);
  }
};

template <class T>
struct PackSent {
  const T* unique;
  std::int64_t unique_stride;
  T* mailbox;
  std::int64_t mailbox_stride;
  const std::uint32_t* sent;
  int components;

  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t row = row_of(i, j);
    const std::uint32_t place = sent[row];
    for (int c = 0; c < components; ++c) mailbox[c * mailbox_stride + row] = unique[c * unique_stride + place];
  }
};

}  // namespace unique_kernels

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

void UniqueOnDevice::pack_gathered(Stream& stream, const Values& values, const Values& mailbox, DType type,
                                   int components, Op op) const {
  pack_rows(stream, gathered_, values, mailbox, type, components, op);
}

void UniqueOnDevice::gather_own(Stream& stream, const Values& values, const Values& unique, DType type,
                                const Wire& wire, int components, Op op) const {
  with_turn(type, wire, [&]<class T, class Turn>(T, const Turn& turn) {
    launch_rows(stream, own_.count,
                GatherOwn<T, Turn>{as<T>(values.data), values.stride, as<T>(unique.data), unique.stride, here(own_),
                                   own_at_.data(), block_, components, op, turn});
  });
}

void UniqueOnDevice::gather_met(Stream& stream, const Values& values, const Values& mailbox, const Values& unique,
                                const Signal* broken, DType type, const Wire& wire, int components, Op op) const {
  with_turn(type, wire, [&]<class T, class Turn>(T, const Turn& turn) {
    launch_rows(
        stream, met_.count,
        GatherMet<T, Turn>{as<T>(values.data), values.stride, as<T>(mailbox.data), mailbox.stride, as<T>(unique.data),
                           unique.stride, broken, here(met_), met_at_.data(), block_, components, op, turn});
  });
}

void UniqueOnDevice::pack_sent(Stream& stream, const Values& unique, const Values& mailbox, DType type,
                               int components) const {
  with_type(type, [&]<class T>(T) {
    launch_rows(
        stream, static_cast<std::int64_t>(sent_.size()),
        PackSent<T>{as<T>(unique.data), unique.stride, as<T>(mailbox.data), mailbox.stride, sent_.data(), components});
  });
}

void UniqueOnDevice::scatter_own(Stream& stream, const Values& unique, const Values& values, DType type,
                                 int components) const {
  scatter_rows(stream, own_, own_at_.data(), unique, values, nullptr, type, components);
  scatter_rows(stream, met_copies_, met_at_.data(), unique, values, nullptr, type, components);
}

void UniqueOnDevice::scatter_theirs(Stream& stream, const Values& mailbox, const Values& values, const Signal* broken,
                                    DType type, int components) const {
  scatter_rows(stream, theirs_, theirs_at_.data(), mailbox, values, broken, type, components);
}

}  // namespace slipstream
