#pragma once
// Gather-scatter kernels. They read one value per shared point, and write it to an array or to the point's copies.
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <slipstream/error.hpp>

#include <slipstream/device/caches.hpp>

#include "coding/blockfloat.hpp"
#include "coding/cast.hpp"
#include "gather_scatter/gather_scatter_kernels.hpp"
#include "gather_scatter/launch_rows.hpp"
#include "mover/combine.hpp"

namespace slipstream {

/// Functions applied to a block's value before it is combined with other blocks' values. Kept leaves it unchanged.
struct Kept {
  template <class T>
  SLIP_FN T operator()(const T& value) const {
    return value;
  }
};
/// Applied to a block's sum of copies: leaves it as it is, because all copies of the point lie in one block.
struct OneBlock : Kept {};
/// Rounds the value as its coding would. A value that overflows stays unchanged: it is an error only where it is sent.
template <class Cast>
struct Rounded {
  using T = typename Cast::Value;
  SLIP_FN T operator()(const T& value) const {
    bool overflow = false;
    const T result = Cast::decode(Cast::encode(value, overflow), overflow);
    return overflow ? value : result;
  }
};

/// Rounds a value to a multiple of its coding's unit.
template <class Real>
struct RoundedToUnit {
  int quantum, rate;
  SLIP_FN Real operator()(Real value) const { return rounded_to_unit(value, quantum, rate); }
  SLIP_FN Complex<Real> operator()(const Complex<Real>& value) const {
    return {rounded_to_unit(value.real, quantum, rate), rounded_to_unit(value.imaginary, quantum, rate)};
  }
};

/// Combines the copies' values of a point: within each block of consecutive points first, then results in order.
template <class T, class Turn>
class GroupSum {
 public:
  SLIP_FN GroupSum(Op op, const Turn& turn, T first) : op_(op), turn_(turn), partial_(first) {}
  /// Takes one more copy of a shared point into the reduction. `another`: it begins another block's partial result.
  SLIP_FN void add(T value, bool another) {
    if (another) {
      close();
      partial_ = value;
    } else {
      partial_ = combine(op_, partial_, value);
    }
  }
  SLIP_FN T result() {
    if (empty_) return partial_;  // all copies are in one block, so nothing is rounded
    close();
    return total_;
  }

 private:
  SLIP_FN void close() {
    const T value = turn_(partial_);
    total_ = empty_ ? value : combine(op_, total_, value);
    empty_ = false;
  }
  Op op_;
  Turn turn_;
  bool empty_ = true;
  T total_{}, partial_;
};

/// Combines the copies of one id, listed in one row.
template <class T, class Turn>
SLIP_FN T folded(const T* values, const std::uint32_t* items, std::uint32_t first, std::uint32_t last,
                 std::uint32_t block, Op op, const Turn& turn) {
  std::uint32_t point = load_once(items + first);
  if constexpr (std::is_same_v<Turn, OneBlock>) {
    T sum = values[point];
    for (std::uint32_t n = first + 1; n < last; ++n) sum = combine(op, sum, values[load_once(items + n)]);
    return sum;
  } else {
    std::uint32_t of = point / block;
    GroupSum<T, Turn> sum(op, turn, values[point]);
    for (std::uint32_t n = first + 1; n < last; ++n) {
      const std::uint32_t before = of;
      point = load_once(items + n);
      of = point / block;
      sum.add(values[point], of != before);
    }
    return sum.result();
  }
}

/// Combines the copies of one id with values of other devices in the mailbox.
template <class T, class Turn>
SLIP_FN T folded(const T* values, const T* mailbox, const Term* items, std::uint32_t first, std::uint32_t last,
                 std::uint32_t block, Op op, const Turn& turn) {
  const auto value = [&](const Term& term) { return term.incoming ? mailbox[term.index] : values[term.index]; };
  Term before = items[first];
  GroupSum<T, Turn> sum(op, turn, value(before));
  for (std::uint32_t n = first + 1; n < last; ++n) {
    const Term term = items[n];
    // Values of a block of points are combined first. A value from another device already is such a partial result.
    sum.add(value(term), term.incoming || before.incoming || term.index / block != before.index / block);
    before = term;
  }
  return sum.result();
}

/// Array of point values for a gather-scatter: a pointer to their C++ type, and the stride between components.
template <class T>
struct Typed {
  T* data;
  std::int64_t stride;
  Typed(const Values& values) : data(static_cast<T*>(values.data)), stride(values.stride) {}
  SLIP_FN T* of(int component) const { return data + component * stride; }
};

/// Range [first, last) of the entries of one row in a list. A row lists the copies of one point id.
struct RowRange {
  std::uint32_t first, last;
};

/// List with one row per point id, which names all copies of the point, and the array of values at all points.
template <class T, class Item>
struct RowsOfPoints {
  Typed<T> points;
  RowsHere<Item> rows;
  SLIP_FN RowRange row(std::int64_t row) const { return {rows.starts[row], rows.starts[row + 1]}; }
  /// Writes a value to all points of a row (local copies of one shared point). Values received from other devices stay.
  SLIP_FN void put(RowRange at, int c, const T& value) const {
    for (std::uint32_t n = at.first; n < at.last; ++n)
      if constexpr (std::is_same_v<Item, Term>) {
        if (const Term term = rows.items[n]; !term.incoming) points.of(c)[term.index] = value;
      } else {
        points.of(c)[load_once(rows.items + n)] = value;
      }
  }
};

/// Lists of copies of a point. The value of a list combines these with values received from other devices (mailbox).
template <class T, class Turn, class Item>
struct CombinedRows : RowsOfPoints<T, Item> {
  Typed<T> mailbox;
  std::uint32_t block;
  Op op;
  Turn turn;
  SLIP_FN T get(RowRange at, int c) const {
    const auto& [starts, items] = this->rows;
    if constexpr (std::is_same_v<Item, Term>) {
      return folded<T, Turn>(this->points.of(c), mailbox.of(c), items, at.first, at.last, block, op, turn);
    } else {
      return folded<T, Turn>(this->points.of(c), items, at.first, at.last, block, op, turn);
    }
  }
};

/// Array with a value for the r-th list (copies of one point). Its index is places[r], or r if `places` is null.
template <class T>
struct AtPlaces {
  Typed<T> values;
  const std::uint32_t* places = nullptr;
  SLIP_FN std::uint32_t row(std::int64_t row) const { return places ? places[row] : static_cast<std::uint32_t>(row); }
  SLIP_FN T get(std::uint32_t at, int c) const { return values.of(c)[at]; }
  SLIP_FN void put(std::uint32_t at, int c, const T& value) const { values.of(c)[at] = value; }
};

/// Tag: results are written to the rows that were read.
struct Back {};

template <class From, class To>
struct MoveRows {
  From from;
  To to;
  const Signal* broken;
  int components;
  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t row = row_of(i, j);
    const auto source = from.row(row);
    if constexpr (std::is_same_v<To, Back>) {
      if (broken && *broken) return;
      for (int c = 0; c < components; ++c) from.put(source, c, from.get(source, c));
    } else {
      const auto target = to.row(row);
      if (broken && *broken) return;
      for (int c = 0; c < components; ++c) to.put(target, c, from.get(source, c));
    }
  }
};

/// Copies one value per list of points from `from` to `to`, unless the failure flag `broken` is given and set.
template <class From, class To>
void move_rows(Stream& stream, std::int64_t rows, int components, const From& from, const To& to,
               const Signal* broken = nullptr) {
  launch_rows(stream, rows, MoveRows<From, To>{from, to, broken, components});
}

template <class T, class Turn, class Item>
CombinedRows<T, Turn, Item> combined(const DeviceRows<Item>& rows, const Operands& with, std::uint32_t block,
                                     const Turn& turn) {
  return {{with.points, here(rows)}, with.mailbox, block, with.op, turn};
}

/// Calls f with a value of the C++ type of a number type.
template <class F>
void with_type(DType type, const F& f) {
  const auto is = [&](DType one, auto value) { return type == one && (f(value), true); };
  if (is(DType::f32, float{}) || is(DType::f64, double{}) || is(DType::i32, std::int32_t{}) ||
      is(DType::i64, std::int64_t{}) || is(DType::c64, Complex<float>{}) || is(DType::c128, Complex<double>{}))
    return;
  throw Error(ErrorCode::unsupported,
              "a gather-scatter of " + to_string(type) + ": it takes f32, f64, i32, i64, c64 and c128",
              {{"option", "type"}, {"given", to_string(type)}});
}

/// Calls f(zero of the C++ number type, functor). The functor rounds a number as its coding in messages does.
template <class F>
void with_turn(DType type, const Wire& wire, const F& f) {
  if (wire == Wire::same) return with_type(type, [&](auto value) { f(value, Kept{}); });
  const int rate = wire.rates[0];
  if (wire.kind == Wire::blockfloat) {
    if (type == DType::f32) return f(float{}, RoundedToUnit<float>{wire.quantum, rate});
    if (type == DType::c64) return f(Complex<float>{}, RoundedToUnit<float>{wire.quantum, rate});
    if (type == DType::c128) return f(Complex<double>{}, RoundedToUnit<double>{wire.quantum, rate});
    return f(double{}, RoundedToUnit<double>{wire.quantum, rate});
  }
  with_cast<void>(type, wire, [&]<class Cast>(Cast) { f(typename Cast::Value{}, Rounded<Cast>{}); });
}

}  // namespace slipstream
