#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/communicator.hpp>
#include <slipstream/grid.hpp>
#include <slipstream/stream.hpp>

#include <slipstream/device/half.hpp>

namespace slipstream {

/// f16 is a storage format: its values are moved, but not added or compared here. The types c64 and c128 are complex
/// numbers of f32 and f64, real part first. They have no order, so min and max refuse them.
enum class DType : std::uint8_t { u8, i32, i64, f32, f64, f16, c64, c128 };
std::size_t size_of(DType type);
bool is_complex(DType type);
std::string to_string(DType type);
DType dtype_from_string(const std::string& name);
template <class T>
constexpr DType dtype_of();

/// Order of the axes in memory, slowest first: soa = component, z, y, x; aos = z, y, x, component; soa_z = component,
/// x, y, z. Ghosts on the last axis are strided, one value in each piece of memory, and so are the most expensive to
/// exchange. Take soa_z for blocks that are cut along x and not along z. With aos a cell's values are adjacent.
enum class Layout : std::uint8_t { soa, aos, soa_z };
/// The axis of the rows: cells along it are neighbours in memory.
constexpr int row_axis(Layout layout) { return layout == Layout::soa_z ? 2 : 0; }
/// Reorders values given for x, y and z into the order of memory, rows first. It is its own inverse.
constexpr Extent by_rows(Layout layout, const Extent& e) {
  return row_axis(layout) == 2 ? Extent{e[2], e[1], e[0]} : e;
}
/// The layout with separate components whose exchanges cost least. It is soa_z on GPUs where devices share the grid
/// along x and no block is cut along z. It is soa elsewhere, and where rows along z would be shorter than a warp.
Layout suited_layout(const Grid& grid);
std::string to_string(Layout layout);
Layout layout_from_string(const std::string& name);

struct FieldOptions {
  std::string name;
  DType type = DType::f32;
  int components = 1;
  Extent ghost{0, 0, 0};  ///< number of ghost layers per axis
  Layout layout = Layout::soa;
  /// Alignment in bytes: the first interior cell of every row starts on a multiple of this; 1: rows are packed. The
  /// default is a sector of a GPU's memory, because wider gaps between rows make thin ghosts more expensive to fill.
  int alignment = 32;
  int copies = 1;       ///< number of arrays per block: 2 for a pair that a step swaps
  bool shared = false;  ///< whether other processes of the node may map the arrays (route `direct`)
  /// Number of unused layers of elements behind the last ghosts of each axis.
  Extent padding{0, 0, 0};
  std::int64_t apart = 0;  ///< least memory stride between two components, in array values; no effect in layout aos
  /// For every block of the grid, by id: -1, or the number of stored values of a component. These lie one after the
  /// other, in an order that only their owner knows. Exchanges address values of such a block by lists of elements; it
  /// cannot be read by cells. None: every block is stored as a box.
  std::shared_ptr<const std::vector<std::int64_t>> packed = nullptr;
  /// Puts the arrays into pinned memory of the host. The device copies from and to it, and its kernels reach it over
  /// the link. Exchanges refuse such fields.
  bool pinned = false;
  bool later = false;  ///< whether the field has no arrays before make_arrays()
  bool adopted =
      false;  ///< set by Field::adopt: the caller owns the arrays; `shared` says whether other processes can map them
};

/// An array of the caller: one block, one copy. Rows are contiguous in x (soa), in z (soa_z) or in components, then x
/// (aos).
struct OwnArray {
  void* data = nullptr;  ///< address of the first value: component 0 of the corner of the ghosts
  /// Strides that the caller expects, in elements, x first; the field checks them. Zeros are not compared. An axis one
  /// layer long may have any stride.
  Extent stride{0, 0, 0};
  std::int64_t component_stride = 0;
};

/// Memory layout of one block; all sizes are in elements, 64-bit.
struct BlockShape {
  Extent extent{0, 0, 0};  ///< number of interior cells along each axis
  Extent ghost{0, 0, 0};
  std::int64_t stride[3] = {0, 0, 0};
  std::int64_t component_stride = 0;
  std::int64_t origin = 0;    ///< index of the element of interior cell (0, 0, 0), component 0
  std::int64_t elements = 0;  ///< number of elements allocated for the array of the block
  int row_axis = 0;           ///< axis along which cells are neighbours in memory
};
/// Shape of a block that is stored as a box.
BlockShape block_shape(const Extent& extent, const FieldOptions& options);
/// Shape of any block of the grid. A packed block has the extent of its cells and no strides along y and z.
BlockShape block_shape(const Grid& grid, std::int64_t block, const FieldOptions& options);

/// Address and layout of the array of a block.
struct BlockData {
  std::byte* origin = nullptr;  ///< address of interior cell (0, 0, 0), component 0
  BlockShape shape;
  DType type = DType::f32;
};

/// Element access by local cell coordinates: 0 .. extent - 1 inside, negative or beyond in the ghosts.
template <class T>
struct View {
  T* origin = nullptr;
  std::int64_t stride[3] = {0, 0, 0};
  std::int64_t component_stride = 0;
};

/// A field: arrays of values on the blocks of this rank, with ghost cells.
class Field {
 public:
  Field(const Grid& grid, FieldOptions options);
  /// A field over arrays of the caller, who keeps owning them and frees them after the field and its exchanges.
  /// `arrays` lists them in the order of grid.local(), the copies of a block next to each other. The strides of a block
  /// must follow from its extent, because other ranks compute them. So rows are packed, ghosts included, except for
  /// options.padding; options.alignment is not used. Collective: all ranks must give the same options, and an array
  /// that one rank refuses is an Error on all. The option `shared` becomes true where all arrays of all ranks can be
  /// mapped.
  static Field adopt(const Communicator& comm, const Grid& grid, FieldOptions options,
                     const std::vector<OwnArray>& arrays);

  const Grid& grid() const { return *grid_; }
  const FieldOptions& options() const { return options_; }
  const BlockShape& shape(std::int64_t block) const;
  Device device(std::int64_t block) const;
  /// First byte of an array of a block; `copy` 0 is the current one.
  std::byte* data(std::int64_t block, int copy = 0) const;
  /// First byte of one of a block's alternating arrays, by a fixed number: swap() does not change which array it means.
  std::byte* array(std::int64_t block, int array) const;
  int physical(int copy) const { return (current_ + copy) % options_.copies; }
  /// Swaps the field's arrays: copy 1 becomes the current one, for all blocks.
  void swap() { current_ = (current_ + 1) % options_.copies; }
  std::int64_t bytes_on(Device device) const;
  /// Says why an array of the caller cannot hold a block of this rank; empty where it can.
  std::string refusal(std::int64_t block, const void* array) const;
  /// drop_arrays() frees the arrays of a field that owns them. make_arrays() allocates them again, filled with zeros,
  /// where there are none. Exchanges that were made before refuse the new arrays. An array that other processes store
  /// to is freed only after their exchange has ended, too.
  void drop_arrays();
  void make_arrays();
  /// Number of calls of drop_arrays() and make_arrays() that changed the arrays.
  std::uint64_t generation() const { return generation_; }
  /// Keeps an array alive after drop_arrays() and after the field's end; null where the caller owns the array.
  std::shared_ptr<const void> owner(std::int64_t block, int array) const;

  template <class T>
  View<T> view(std::int64_t block, int copy = 0) const {
    require(dtype_of<T>() == options_.type, ErrorCode::mismatch,
            "field " + options_.name + " holds " + to_string(options_.type));
    const BlockShape& s = shape(block);
    return {reinterpret_cast<T*>(data(block, copy)) + s.origin,
            {s.stride[0], s.stride[1], s.stride[2]},
            s.component_stride};
  }

  /// Bytes that a field would need for a block; allocates nothing.
  static std::int64_t bytes_needed(const Extent& extent, const FieldOptions& options);

  /// Copies a box of global cells out, as [z][y][x][component] (component fastest), for cells of local blocks; `to` is
  /// unchanged for other cells. `to` has box.volume() * components elements.
  void read(const Box& box, void* to, int copy = 0) const;
  /// Sets interior cells (with `ghosts` ghost cells, too) of local blocks from a box of global cells; inverts read().
  void write(const Box& box, const void* from, int copy = 0, bool ghosts = false);

 private:
  struct Storage {
    std::int64_t block = 0;
    Device device;
    BlockShape shape;
    std::vector<std::byte*> arrays;  // address of each array of the block: one per copy of the field's values
    // arrays that the field owns; none where they are the caller's
    std::vector<std::shared_ptr<Buffer<std::byte>>> owned;
  };
  struct WithoutArrays {};
  Field(const Grid& grid, FieldOptions options, WithoutArrays);
  /// Takes arrays of the caller. Throws Error where one cannot hold its block.
  void take(const std::vector<OwnArray>& arrays);
  const Storage& storage(std::int64_t block) const;
  void require_boxes() const;
  const Grid* grid_;
  FieldOptions options_;
  std::vector<Storage> storage_;
  int current_ = 0;
  std::uint64_t generation_ = 0;
};

template <>
constexpr DType dtype_of<std::uint8_t>() {
  return DType::u8;
}
template <>
constexpr DType dtype_of<std::int32_t>() {
  return DType::i32;
}
template <>
constexpr DType dtype_of<std::int64_t>() {
  return DType::i64;
}
template <>
constexpr DType dtype_of<float>() {
  return DType::f32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::f64;
}
template <>
constexpr DType dtype_of<Half>() {
  return DType::f16;
}
template <>
constexpr DType dtype_of<std::complex<float>>() {
  return DType::c64;
}
template <>
constexpr DType dtype_of<std::complex<double>>() {
  return DType::c128;
}

}  // namespace slipstream
