#pragma once
// Redistributes batches between devices. Before a move each device holds whole planes. After the move it holds its part
// of every plane.
#include <cstdint>
#include <memory>
#include <vector>

#include <slipstream/batches.hpp>
#include <slipstream/exchange.hpp>
#include <slipstream/transpose.hpp>

namespace slipstream::fft {

/// The distribution of complex values that move in batches. Devices are in the order of the machine.
struct BatchCut {
  using Counts = std::vector<std::int64_t>;  ///< one number for each device, such as its number of planes
  int components = 1;
  /// Order of a batch's values: [component][plane][row][value], or [component][row][plane][value] if `inner`. Before
  /// the transpose a device has all rows of its planes; after it, it has parts[device] rows of all planes.
  bool inner = false;
  Counts parts;
  /// Numbers of planes, lengths of rows: batch n has planes[n / rows.size()] and rows of rows[n % rows.size()] values.
  std::vector<Counts> planes;
  std::vector<std::int64_t> rows;
  DType type = DType::c64;

  const Counts& planes_of(std::int64_t batch) const { return planes[static_cast<std::size_t>(batch) / rows.size()]; }
  std::int64_t row_of(std::int64_t batch) const { return rows[static_cast<std::size_t>(batch) % rows.size()]; }
  std::int64_t all_planes(std::int64_t batch) const;
};

/// Equal messages: number of devices that send them, and of targets for each; `one` is the first message.
struct AlikeMessages {
  MessageInfo one;
  std::int64_t sources = 1, targets = 1;
};

/// Moves batches of planes between devices. Batches with equal numbers of planes and lengths of rows share an exchange.
class BatchMoves final : public BatchMove {
 public:
  /// Prepares exchanges between devices of the buffers in `batches`, which must outlive this object. Collective.
  BatchMoves(const Communicator& comm, const Machine& machine, BatchCut cut, const Batches& batches,
             const ExchangeOptions& options);

  void begin(std::int64_t batch, std::vector<Stream>& streams) override;
  void end(std::int64_t batch, std::vector<Stream>& streams) override { exchange_of(batch).exchange->end(streams); }
  /// Throws Timeout if a wait for another device timed out.
  void check();
  std::int64_t bytes_on(Device device) const;
  const BatchCut& cut() const { return cut_; }

  /// Messages of all ranks in all batches of an out-of-core transform. Pairs of devices with equal links and sizes are
  /// listed once, with their number. Also works for a machine that is only described in a file.
  static std::vector<AlikeMessages> messages(const Machine& machine, const BatchCut& cut,
                                             const ExchangeOptions& options);
  /// Upper bound of a device's bytes for messages of out-of-core batches, without the buffers of the batches.
  static std::int64_t message_bytes(const Machine& machine, const BatchCut& cut, const ExchangeOptions& options);

 private:
  struct Shape {
    std::unique_ptr<Grid> from, to;
    std::unique_ptr<Field> source, target;
    std::unique_ptr<Transpose> pattern;
    std::unique_ptr<Exchange> exchange;
  };
  Shape& exchange_of(std::int64_t batch) {
    return shapes_[static_cast<std::size_t>(shape_of_[static_cast<std::size_t>(batch)])];
  }

  BatchCut cut_;
  std::vector<Shape> shapes_;
  std::vector<int> shape_of_;  // for each batch of planes, the index in `shapes_` of its exchange between devices
};

}  // namespace slipstream::fft
