#include "exchange/gather_scatter_kernels.hpp"
#include "exchange/gather_scatter_rows.hpp"

namespace slipstream {
namespace {

template <class T, class Turn>
struct CombineLocal {
  T* values;
  std::int64_t stride;
  RowsHere<std::uint32_t> rows;
  std::uint32_t block;
  int components;
  Op op;

  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t row = row_of(i, j);
    const std::uint32_t first = rows.starts[row], last = rows.starts[row + 1];
    for (int c = 0; c < components; ++c) {
      T* const mine = values + c * stride;
      const T result = folded<T, Turn>(mine, rows.items, first, last, block, op);
      for (std::uint32_t n = first; n < last; ++n) mine[load_once(rows.items + n)] = result;
    }
  }
};

template <class T, class Turn>
struct CombineShared {
  T* values;
  std::int64_t stride;
  const T* mailbox;
  std::int64_t mailbox_stride;
  const Signal* broken;
  RowsHere<Term> rows;
  std::uint32_t block;
  int components;
  Op op;

  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t row = row_of(i, j);
    const std::uint32_t first = rows.starts[row], last = rows.starts[row + 1];
    if (*broken) return;
    for (int c = 0; c < components; ++c) {
      T* const mine = values + c * stride;
      const T result = folded<T, Turn>(mine, mailbox + c * mailbox_stride, rows.items, first, last, block, op);
      for (std::uint32_t n = first; n < last; ++n)
        if (const Term term = rows.items[n]; !term.incoming) mine[term.index] = result;
    }
  }
};

template <class T>
struct PackOutgoing {
  const T* values;
  std::int64_t stride;
  T* mailbox;
  std::int64_t mailbox_stride;
  RowsHere<std::uint32_t> rows;
  int components;
  Op op;

  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t row = row_of(i, j);
    const std::uint32_t first = rows.starts[row], last = rows.starts[row + 1];
    for (int c = 0; c < components; ++c) {
      const T* const mine = values + c * stride;
      T sum = mine[rows.items[first]];
      for (std::uint32_t n = first + 1; n < last; ++n) sum = combine(op, sum, mine[rows.items[n]]);
      mailbox[c * mailbox_stride + row] = sum;
    }
  }
};

/// Gives all points of a row one value.
template <class T>
struct ScatterRows {
  const T* source;
  std::int64_t source_stride;
  T* values;
  std::int64_t stride;
  const Signal* broken;  // null: cannot be
  RowsHere<std::uint32_t> rows;
  const std::uint32_t* at;
  int components;

  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t row = row_of(i, j);
    const std::uint32_t first = rows.starts[row], last = rows.starts[row + 1],
                        place = at ? at[row] : static_cast<std::uint32_t>(row);
    if (broken && *broken) return;
    for (int c = 0; c < components; ++c) {
      const T value = source[c * source_stride + place];
      for (std::uint32_t n = first; n < last; ++n) values[c * stride + load_once(rows.items + n)] = value;
    }
  }
};

}  // namespace

CopiesOnDevice::CopiesOnDevice(Device device, const Copies& copies) : block_(points_of_block(copies.block)) {
  Stream stream(device);
  local_ = uploaded(stream, copies.local);
  outgoing_ = uploaded(stream, copies.outgoing);
  shared_ = uploaded(stream, copies.shared);
}

void CopiesOnDevice::require_known(DType type) {
  with_type(type, [](auto) {});
}

void pack_rows(Stream& stream, const DeviceRows<std::uint32_t>& rows, const Values& values, const Values& mailbox,
               DType type, int components, Op op) {
  with_type(type, [&]<class T>(T) {
    launch_rows(stream, rows.count,
                PackOutgoing<T>{as<T>(values.data), values.stride, as<T>(mailbox.data), mailbox.stride, here(rows),
                                components, op});
  });
}

void scatter_rows(Stream& stream, const DeviceRows<std::uint32_t>& rows, const std::uint32_t* at, const Values& source,
                  const Values& values, const Signal* broken, DType type, int components) {
  with_type(type, [&]<class T>(T) {
    launch_rows(stream, rows.count,
                ScatterRows<T>{as<T>(source.data), source.stride, as<T>(values.data), values.stride, broken, here(rows),
                               at, components});
  });
}

void CopiesOnDevice::pack(Stream& stream, const Values& values, const Values& mailbox, DType type, int components,
                          Op op) const {
  pack_rows(stream, outgoing_, values, mailbox, type, components, op);
}

void CopiesOnDevice::combine_local(Stream& stream, const Values& values, DType type, Wire wire, int components,
                                   Op op) const {
  with_turn(type, wire, [&]<class T, class Turn>(T, Turn) {
    launch_rows(stream, local_.count,
                CombineLocal<T, Turn>{as<T>(values.data), values.stride, here(local_), block_, components, op});
  });
}

void CopiesOnDevice::combine_shared(Stream& stream, const Values& values, const Values& mailbox, const Signal* broken,
                                    DType type, Wire wire, int components, Op op) const {
  with_turn(type, wire, [&]<class T, class Turn>(T, Turn) {
    launch_rows(stream, shared_.count,
                CombineShared<T, Turn>{as<T>(values.data), values.stride, as<T>(mailbox.data), mailbox.stride, broken,
                                       here(shared_), block_, components, op});
  });
}

}  // namespace slipstream
