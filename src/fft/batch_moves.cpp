#include "fft/batch_moves.hpp"

#include <algorithm>
#include <numeric>

#include <slipstream/error.hpp>

namespace slipstream::fft {
namespace {

/// Upper bound of the counters and tables at one end of a message, for each pair of buffers.
constexpr std::int64_t bytes_of_table = 16384;

struct Grids {
  Grid from, to;
};

/// Consecutive blocks along one axis.
GridOptions boxes_along(std::size_t axis, const Extent& all, const BatchCut::Counts& counts) {
  GridOptions options;
  std::vector<Block> blocks;
  std::int64_t first = 0;
  for (std::size_t d = 0; d < counts.size(); ++d) {
    Block block;
    block.box = {{0, 0, 0}, all};
    block.box.lo[axis] = first;
    block.box.hi[axis] = first += counts[d];
    block.device = static_cast<int>(d);
    if (!block.box.empty()) blocks.push_back(block);
  }
  options.boxes = blocks;
  return options;
}

Grids grids_of(const Machine& machine, int rank, const BatchCut& cut, const BatchCut::Counts& planes) {
  const auto sum = [](const BatchCut::Counts& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  };
  const std::size_t of_planes = cut.inner ? 1 : 2, of_parts = cut.inner ? 2 : 1;
  Extent all{cut.row, 0, 0};
  all[of_planes] = sum(planes);
  all[of_parts] = sum(cut.parts);
  return {Grid(all, machine, rank, boxes_along(of_planes, all, planes)),
          Grid(all, machine, rank, boxes_along(of_parts, all, cut.parts))};
}

FieldOptions field_of(const BatchCut& cut) {
  FieldOptions options;
  options.name = "batch";
  options.type = cut.type;
  options.components = cut.components;
  options.alignment = 1;
  options.copies = 2;
  return options;
}

/// Messages of all ranks in one batch.
std::vector<MessageInfo> messages_of(const Machine& machine, const BatchCut& cut, const BatchCut::Counts& planes,
                                     const ExchangeOptions& options) {
  const Grids grids = grids_of(machine, 0, cut, planes);
  const Transpose pattern(grids.from, grids.to);
  const FieldOptions field = field_of(cut);
  return plan_messages(grids.from, {PlannedItem{&pattern, field, field}}, options);
}

/// Distinct nonempty batches, in order of first appearance.
std::vector<BatchCut::Counts> distinct(const std::vector<BatchCut::Counts>& batches) {
  std::vector<BatchCut::Counts> found;
  for (const BatchCut::Counts& counts : batches)
    if (std::find(found.begin(), found.end(), counts) == found.end()) found.push_back(counts);
  return found;
}

}  // namespace

std::int64_t BatchCut::all_planes(std::int64_t batch) const {
  const Counts& counts = planes[static_cast<std::size_t>(batch)];
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

std::int64_t BatchCut::planes_before(std::int64_t batch, int device) const {
  const Counts& counts = planes[static_cast<std::size_t>(batch)];
  return std::accumulate(counts.begin(), counts.begin() + device, std::int64_t{0});
}

BatchMoves::BatchMoves(const Communicator& comm, const Machine& machine, BatchCut cut, const Batches& batches,
                       const ExchangeOptions& options)
    : cut_(std::move(cut)) {
  const std::vector<BatchCut::Counts> all = distinct(cut_.planes);
  const std::vector<int> devices = machine.devices_of_rank(comm.rank());
  for (const BatchCut::Counts& counts : cut_.planes)
    shape_of_.push_back(static_cast<int>(std::find(all.begin(), all.end(), counts) - all.begin()));
  for (const BatchCut::Counts& counts : all) {
    Grids grids = grids_of(machine, comm.rank(), cut_, counts);
    Shape& shape = shapes_.emplace_back();
    shape.from = std::make_unique<Grid>(std::move(grids.from));
    shape.to = std::make_unique<Grid>(std::move(grids.to));
    const auto field = [&](const Grid& grid, bool lands) {
      std::vector<OwnArray> arrays;
      for (const std::int64_t id : grid.local())
        for (const int parity : {0, 1}) {
          const auto d = static_cast<std::size_t>(std::find(devices.begin(), devices.end(), grid.block(id).device) -
                                                  devices.begin());
          arrays.push_back({lands ? batches.landing(d, parity) : batches.leaving(d, parity)});
        }
      return std::make_unique<Field>(Field::adopt(comm, grid, field_of(cut_), arrays));
    };
    shape.source = field(*shape.from, false);
    shape.target = field(*shape.to, true);
    shape.pattern = std::make_unique<Transpose>(*shape.from, *shape.to);
    const ExchangeItem item{shape.pattern.get(), shape.source.get(), shape.target.get()};
    shape.exchange = std::make_unique<Exchange>(comm, *shape.from, std::vector{item}, options);
  }
}

void BatchMoves::begin(std::int64_t batch, std::vector<Stream>& streams) {
  Shape& shape = exchange_of(batch);
  for (Field* field : {shape.source.get(), shape.target.get()})
    if (field->physical(0) != batch % 2) field->swap();
  shape.exchange->begin(streams);
}

void BatchMoves::check() {
  for (Shape& shape : shapes_) shape.exchange->check();
}

std::int64_t BatchMoves::bytes_on(Device device) const {
  std::int64_t bytes = 0;
  for (const Shape& shape : shapes_) bytes += shape.exchange->bytes_on(device);
  return bytes;
}

std::vector<MessageInfo> BatchMoves::messages(const Machine& machine, const BatchCut& cut,
                                              const ExchangeOptions& options) {
  BatchCut::Counts all(static_cast<std::size_t>(machine.devices()), 0);
  for (const BatchCut::Counts& counts : cut.planes)
    for (std::size_t d = 0; d < all.size(); ++d) all[d] += counts[d];
  return messages_of(machine, cut, all, options);
}

// A message that the host or a library sends packed has a buffer at both ends. One stored into slots has two at its
// target.
std::int64_t BatchMoves::message_bytes(const Machine& machine, const BatchCut& cut, const ExchangeOptions& options) {
  std::int64_t most = 0;
  std::vector<std::int64_t> of(static_cast<std::size_t>(machine.devices()), 0);
  for (const BatchCut::Counts& counts : distinct(cut.planes))
    for (const MessageInfo& message : messages_of(machine, cut, counts, options)) {
      const auto source = static_cast<std::size_t>(message.source), target = static_cast<std::size_t>(message.target);
      for (const std::size_t end : {source, target}) of[end] += bytes_of_table;
      if (message.route == RouteKind::kernel) continue;
      const bool slots = message.route == RouteKind::direct;
      if (!slots) of[source] += message.bytes;
      of[target] += slots ? std::min(2 * message.bytes, options.knobs.ring) : message.bytes;
    }
  for (const std::int64_t bytes : of) most = std::max(most, bytes);
  return most;
}

}  // namespace slipstream::fft
