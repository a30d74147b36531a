#include "exchange/gather_scatter_kernels.hpp"

#include <algorithm>

#include <slipstream/error.hpp>
#include <slipstream/launch.hpp>

#include <slipstream/device/caches.hpp>

#include "coding/cast.hpp"
#include "device/upload.hpp"
#include "route/combine.hpp"

namespace slipstream {
namespace {

/// What happens to the value of a block that shares an id with others: nothing, or what happens to it on its way.
struct Kept {
  template <class T>
  SLIP_FN T operator()(const T& value) const {
    return value;
  }
};
/// What does not fit stays as it is: it is an error where it travels, and none where it does not.
template <class Cast>
struct Rounded {
  using T = typename Cast::Value;
  SLIP_FN T operator()(const T& value) const {
    bool overflow = false;
    const T result = Cast::decode(Cast::encode(value, overflow), overflow);
    return overflow ? value : result;
  }
};

/// Combines values in the order of blocks: those of a block first among themselves.
template <class T, class Turn>
class Fold {
 public:
  SLIP_FN explicit Fold(Op op) : op_(op) {}
  SLIP_FN void add(T value, std::int64_t block) {
    if (block == block_) {
      partial_ = combine(op_, partial_, value);
      return;
    }
    if (block_ != none) close();
    partial_ = value;
    block_ = block;
  }
  SLIP_FN T result() {
    if (empty_) return partial_;  // of one block
    close();
    return total_;
  }

 private:
  SLIP_FN void close() {
    const T value = Turn{}(partial_);
    total_ = empty_ ? value : combine(op_, total_, value);
    empty_ = false;
  }
  static constexpr std::int64_t none = -1;
  Op op_;
  bool empty_ = true;
  std::int64_t block_ = none;
  T total_{}, partial_{};
};

/// Rows in device memory; a thread a row.
template <class Item>
struct RowsHere {
  const std::uint32_t* starts;
  const Item* items;
};

/// Indices of a launch are int: rows lie along x and y.
constexpr int row_bits = 20;
SLIP_FN std::int64_t row_of(int i, int j) { return i + (std::int64_t{j} << row_bits); }

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
      Fold<T, Turn> fold(op);
      for (std::uint32_t n = first; n < last; ++n) {
        const std::uint32_t point = load_once(rows.items + n);
        fold.add(mine[point], point / block);
      }
      const T result = fold.result();
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
    // Above all blocks of this device: what comes from others has a block of its own each.
    constexpr std::int64_t elsewhere = std::int64_t{1} << 40;
    for (int c = 0; c < components; ++c) {
      T* const mine = values + c * stride;
      const T* const theirs = mailbox + c * mailbox_stride;
      Fold<T, Turn> fold(op);
      for (std::uint32_t n = first; n < last; ++n) {
        const Term term = rows.items[n];
        if (term.incoming) {
          fold.add(theirs[term.index], elsewhere + n);
        } else {
          fold.add(mine[term.index], term.index / block);
        }
      }
      const T result = fold.result();
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

/// Calls the kernel for all rows.
template <class Kernel>
void launch_rows(Stream& stream, std::int64_t rows, const Kernel& kernel) {
  constexpr std::int64_t width = std::int64_t{1} << row_bits;
  const std::int64_t whole = rows / width;
  launch(stream, Box{{0, 0, 0}, {width, whole, 1}}, kernel);
  launch(stream, Box{{0, whole, 0}, {rows % width, whole + 1, 1}}, kernel);
}

template <class F>
void with_type(DType type, const F& f) {
  switch (type) {
    case DType::f32:
      return f(float{});
    case DType::f64:
      return f(double{});
    case DType::i32:
      return f(std::int32_t{});
    case DType::i64:
      return f(std::int64_t{});
    case DType::c64:
      return f(Complex<float>{});
    case DType::c128:
      return f(Complex<double>{});
    default:
      throw Error("a gather-scatter of " + to_string(type) + ": it takes f32, f64, i32, i64, c64 and c128");
  }
}

/// Calls f with a type and what happens to its values.
template <class F>
void with_turn(DType type, Wire wire, const F& f) {
  if (wire == Wire::same) return with_type(type, [&](auto value) { f(value, Kept{}); });
  with_cast(type, wire, [&]<class Cast>(Cast) { f(typename Cast::Value{}, Rounded<Cast>{}); });
}

template <class T>
T* as(void* data) {
  return static_cast<T*>(data);
}

}  // namespace

template <class Item>
CopiesOnDevice::Rows<Item> CopiesOnDevice::uploaded(Stream& stream, const Lists<Item>& lists) {
  if (lists.rows() == 0) return {};
  return {upload(stream, lists.starts), upload(stream, lists.items), static_cast<std::int64_t>(lists.rows())};
}

CopiesOnDevice::CopiesOnDevice(Device device, const Copies& copies)
    : block_(static_cast<std::uint32_t>(std::min(copies.block, std::int64_t{UINT32_MAX}))) {
  Stream stream(device);
  local_ = uploaded(stream, copies.local);
  outgoing_ = uploaded(stream, copies.outgoing);
  shared_ = uploaded(stream, copies.shared);
}

void CopiesOnDevice::require_known(DType type) {
  with_type(type, [](auto) {});
}

void CopiesOnDevice::pack(Stream& stream, const Values& values, const Values& mailbox, DType type, int components,
                          Op op) const {
  with_type(type, [&]<class T>(T) {
    launch_rows(stream, outgoing_.count,
                PackOutgoing<T>{as<T>(values.data),
                                values.stride,
                                as<T>(mailbox.data),
                                mailbox.stride,
                                {outgoing_.starts.data(), outgoing_.items.data()},
                                components,
                                op});
  });
}

void CopiesOnDevice::combine_local(Stream& stream, const Values& values, DType type, Wire wire, int components,
                                   Op op) const {
  with_turn(type, wire, [&]<class T, class Turn>(T, Turn) {
    launch_rows(
        stream, local_.count,
        CombineLocal<T, Turn>{
            as<T>(values.data), values.stride, {local_.starts.data(), local_.items.data()}, block_, components, op});
  });
}

void CopiesOnDevice::combine_shared(Stream& stream, const Values& values, const Values& mailbox, const Signal* broken,
                                    DType type, Wire wire, int components, Op op) const {
  with_turn(type, wire, [&]<class T, class Turn>(T, Turn) {
    launch_rows(stream, shared_.count,
                CombineShared<T, Turn>{as<T>(values.data),
                                       values.stride,
                                       as<T>(mailbox.data),
                                       mailbox.stride,
                                       broken,
                                       {shared_.starts.data(), shared_.items.data()},
                                       block_,
                                       components,
                                       op});
  });
}

}  // namespace slipstream
