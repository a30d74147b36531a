#include "gather_scatter/gather_scatter_kernels.hpp"
#include "gather_scatter/gather_scatter_rows.hpp"

namespace slipstream {

void combine_to(Stream& stream, const ListOnDevice& list, const Operands& with, const Values& to) {
  if (list.block == 0)
    return with_type(with.type, [&]<class T>(T) {
      move_rows(stream, list.rows.count, with.components, combined<T>(list.rows, with, UINT32_MAX, OneBlock{}),
                AtPlaces<T>{to});
    });
  with_turn(with.type, with.wire, [&]<class T, class Turn>(T, const Turn& turn) {
    const AtPlaces<T> places{to, list.places.data()};
    move_rows(stream, list.rows.count, with.components, combined<T>(list.rows, with, list.block, turn), places);
    move_rows(stream, list.terms.count, with.components, combined<T>(list.terms, with, list.block, turn), places,
              with.broken);
  });
}

void spread(Stream& stream, const ListOnDevice& list, const Operands& with, const Values& from, bool received) {
  with_type(with.type, [&]<class T>(T) {
    move_rows(stream, list.rows.count, with.components, AtPlaces<T>{from, list.places.data()},
              RowsOfPoints<T, std::uint32_t>{with.points, here(list.rows)}, received ? with.broken : nullptr);
  });
}

void pack_places(Stream& stream, const Buffer<std::uint32_t>& places, const Operands& with) {
  with_type(with.type, [&]<class T>(T) {
    move_rows(stream, static_cast<std::int64_t>(places.size()), with.components,
              AtPlaces<T>{with.unique, places.data()}, AtPlaces<T>{with.mailbox});
  });
}

}  // namespace slipstream
