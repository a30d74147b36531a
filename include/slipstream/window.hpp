#pragma once
// Transfers by the caller's kernels, which store their results directly at the destinations, without packing.
//
// Consider a produced item (ExchangeItem::produced) whose pattern has the transfers t = 1 ... n. Each goes from a box
// S_t of cells of a block b_t of this device to places elsewhere. Between Exchange::open() and Exchange::post() there
// is a window (b_t, c, S_t, P_t) for each component c that t moves. P_t(p) is the address at which the value of cell p
// of S_t must be stored:
//
//     route     | P_t(p) lies in
//     kernel    | the target's array itself, in memory of this device
//     direct    | the target's array, in the mapped memory of another device or process; in the target's receive buffer
//               | where the array cannot be mapped, rows are shorter than Knobs::in_place or values are combined
//     any other | the message that the engine sends, in memory of this device: the kernel is the packer
//
// The exchange is correct when every P_t(p) has been stored by work that the caller's streams hold before post(). The
// engine does the rest as for values that it moves itself. It frees the destinations (open() is ordered after their
// last use at the targets), sends, signals, unpacks or combines, applies timeouts, and reports. The source's arrays are
// never read: a source may have none (FieldOptions::later). A cell may lie in no window, in one (a transpose), or in
// several (a halo: a corner goes to several neighbours).
//
//     exchange.open(streams);
//     const Windows<double> out = exchange.windows<double>(0, device);
//     launch(stream, cells, MyKernel{..., out});      // calls out.store(block, component, i, j, k, value)
//     exchange.post(streams);
//     ...                                             // work that needs no arriving values
//     exchange.end(streams);
#include <cstdint>

#include <slipstream/signal.hpp>

#include <slipstream/device/function.hpp>

namespace slipstream {

/// Memory where a kernel stores its results for a box of cells, one component, so that no packing is needed.
struct Window {
  std::int32_t item = 0;
  std::int32_t component = 0;                         ///< number of the field component that the kernel stores
  std::int64_t block = 0;                             ///< id of the block of the source's grid
  std::int64_t lo[3] = {0, 0, 0}, hi[3] = {0, 0, 0};  ///< range of cells in the block: 0 is the first interior cell
  std::int64_t base = 0;    ///< address of the first cell (lo), or its distance in bytes from the start of `array`
  std::int32_t array = -1;  ///< index of the array to which `base` is relative; -1: `base` is an address
  std::int64_t stride[3] = {0, 0, 0};  ///< strides in bytes, by axes of the source

  SLIP_FN bool holds(std::int64_t i, std::int64_t j, std::int64_t k) const {
    return i >= lo[0] && i < hi[0] && j >= lo[1] && j < hi[1] && k >= lo[2] && k < hi[2];
  }
};

/// Kernel argument with the places where results on a device must be stored, so that the exchange need not pack them.
/// Valid for one exchange, from open() to post(). Blocks are numbered by their position in Grid::local().
template <class T>
class Windows {
 public:
  Windows() = default;
  Windows(const Window* all, const std::int32_t* first, int components, std::byte* const* arrays, const Signal* broken)
      : all_(all), first_(first), components_(components), arrays_(arrays), broken_(broken) {}

  /// False after a wait of the exchange has timed out. Then receivers may still use their memory, so kernels must store
  /// nothing there. store() checks this, too.
  SLIP_FN bool open() const { return load_acquire(broken_) == 0; }
  /// Stores the value of a cell wherever the exchange must bring it; does nothing if no transfer contains the cell.
  SLIP_FN void store(int block, int component, std::int64_t i, std::int64_t j, std::int64_t k, const T& value) const {
    if (!open()) return;
    const int at = block * components_ + component;
    for (std::int32_t n = first_[at]; n < first_[at + 1]; ++n)
      if (all_[n].holds(i, j, k)) *place(n, i, j, k) = value;
  }
  /// Address where a kernel must store the value of cell (i, j, k) for destination n, a box of cells on some device.
  /// Index n belongs to Exchange::window_list(). The kernel must check first that open() is true.
  SLIP_FN T* place(std::int32_t n, std::int64_t i, std::int64_t j, std::int64_t k) const {
    const Window& w = all_[n];
    const std::int64_t offset = (i - w.lo[0]) * w.stride[0] + (j - w.lo[1]) * w.stride[1] + (k - w.lo[2]) * w.stride[2];
    std::byte* const start = w.array < 0 ? reinterpret_cast<std::byte*>(w.base) : arrays_[w.array] + w.base;
    return reinterpret_cast<T*>(start + offset);
  }

 private:
  const Window* all_ = nullptr;  // windows (addresses for boxes of results), sorted by source block, then component
  // for [source block][component], index of the first window (destination of results); a last entry: their number
  const std::int32_t* first_ = nullptr;
  int components_ = 1;
  std::byte* const* arrays_ = nullptr;
  const Signal* broken_ = nullptr;
};

}  // namespace slipstream
