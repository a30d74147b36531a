#include "fft/batch_moves.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "exchange/plan.hpp"
#include "mover/lower.hpp"

namespace slipstream::fft {
namespace {

/// Upper bound of memory in bytes for counters and copy descriptions at one end of a message, besides its buffers.
constexpr std::int64_t bytes_of_table = 16384;

struct Grids {
  Grid from, to;
};

/// Shape of a batch: its number of planes on each device, and the length of its rows.
struct BatchShape {
  BatchCut::Counts planes;
  std::int64_t row = 0;
  bool operator==(const BatchShape&) const = default;
};

/// Options of a grid whose blocks divide an axis one after the other, with `counts` layers each.
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

Grids grids_of(const Machine& machine, int rank, const BatchCut& cut, const BatchShape& shape) {
  const auto sum = [](const BatchCut::Counts& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  };
  const std::size_t of_planes = cut.inner ? 1 : 2, of_parts = cut.inner ? 2 : 1;
  Extent all{shape.row, 0, 0};
  all[of_planes] = sum(shape.planes);
  all[of_parts] = sum(cut.parts);
  return {Grid(all, machine, rank, boxes_along(of_planes, all, shape.planes)),
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

/// Messages that redistribute a batch between devices, equal pairs of devices only once: thousands of devices have very
/// many pairs. Nodes are equal if their devices' links, numbers of planes and shares of a plane are.
class Pairwise {
 public:
  Pairwise(const Machine& machine, const BatchCut& cut, const BatchCut::Counts& planes, const ExchangeOptions& options)
      : machine_(machine),
        cut_(cut),
        planes_(planes),
        options_(options),
        one_(one_of(machine)),
        pattern_(one_, one_),
        pairs_(machine, {PlannedItem{&pattern_, field_of(cut), field_of(cut)}}) {
    std::map<std::pair<int, std::vector<Kind>>, std::size_t> known;
    for (int node = 0; node < machine.nodes(); ++node) {
      std::pair<int, std::vector<Kind>> key{machine.links().kind[static_cast<std::size_t>(node)], {}};
      for (const int d : machine.devices_of_node(node)) {
        key.second.push_back(kind_of(d));
        Alike& alike = kinds_[key.second.back()];
        if (alike.first < 0) alike.first = d;
        if (alike.second < 0 && machine.device(alike.first).node != node) alike.second = d;
        ++alike.devices;
      }
      const auto [found, is_new] = known.emplace(std::move(key), nodes_.size());
      if (is_new) nodes_.push_back({node, 0});
      ++nodes_[found->second].second;
    }
  }

  /// One node for each group of nodes with equal links and equal shares of a batch, and the number of nodes in it.
  const std::vector<std::pair<int, std::int64_t>>& nodes() const { return nodes_; }
  /// Target devices of a sender with counts: each of its node, and one that stands for all alike on other nodes.
  std::vector<std::pair<int, std::int64_t>> others(int device) const {
    std::vector<std::pair<int, std::int64_t>> found;
    const int node = machine_.device(device).node;
    std::map<Kind, std::int64_t> here;
    for (const int d : machine_.devices_of_node(node)) {
      found.emplace_back(d, 1);
      ++here[kind_of(d)];
    }
    for (const auto& [kind, alike] : kinds_) {
      const auto near = here.find(kind);
      const std::int64_t far = alike.devices - (near == here.end() ? 0 : near->second);
      if (far > 0) found.emplace_back(machine_.device(alike.first).node == node ? alike.second : alike.first, far);
    }
    return found;
  }
  /// Description of a message; zero bytes mean that no message is sent.
  MessageInfo message(int source, int target, std::int64_t row) const {
    MessageInfo found;
    found.source = source;
    found.target = target;
    found.raw_bytes = planes_[static_cast<std::size_t>(source)] * cut_.parts[static_cast<std::size_t>(target)] * row *
                      cut_.components * static_cast<std::int64_t>(size_of(cut_.type));
    if (found.raw_bytes == 0) return found;
    const Choice choice = choose(pairs_.of(source, target), source, target, options_);
    found.route = choice.route;
    found.reason = choice.reason;
    found.bytes = (found.raw_bytes + bytes_of_leg - 1) / bytes_of_leg * bytes_of_leg;
    found.transfers = 1;
    return found;
  }

 private:
  static constexpr auto bytes_of_leg = static_cast<std::int64_t>(leg_alignment);
  /// Properties that decide a device's messages: its planes and rows, links to other nodes, use by ranks, and backend.
  using Kind = std::tuple<std::int64_t, std::int64_t, int, bool, bool, Backend>;
  struct Alike {
    int first = -1, second = -1;  ///< numbers of two devices on different nodes whose messages are alike; -1: none
    std::int64_t devices = 0;
  };
  Kind kind_of(int d) const {
    const auto n = static_cast<std::size_t>(d);
    const MachineDevice& device = machine_.device(d);
    return {planes_[n],         cut_.parts[n],      machine_.links().group[n],
            machine_.shared(d), device.takes_turns, device.local.backend};
  }
  static Grid one_of(const Machine& machine) {
    Block block;
    block.box = {{0, 0, 0}, {1, 1, 1}};
    GridOptions options;
    options.boxes = {block};
    return Grid({1, 1, 1}, machine, 0, options);
  }

  const Machine& machine_;
  const BatchCut& cut_;
  const BatchCut::Counts& planes_;
  const ExchangeOptions& options_;
  Grid one_;
  Transpose pattern_;
  Pairs pairs_;
  std::map<Kind, Alike> kinds_;
  std::vector<std::pair<int, std::int64_t>> nodes_;
};

template <class T>
std::vector<T> distinct(const std::vector<T>& all) {
  std::vector<T> found;
  for (const T& one : all)
    if (std::find(found.begin(), found.end(), one) == found.end()) found.push_back(one);
  return found;
}

/// Lists the distinct shapes of batches of an out-of-core transform: planes on each device, and length of rows.
std::vector<BatchShape> shapes_of(const BatchCut& cut) {
  std::vector<BatchShape> found;
  for (const BatchCut::Counts& planes : distinct(cut.planes))
    for (const std::int64_t row : distinct(cut.rows)) found.push_back({planes, row});
  return found;
}

}  // namespace

std::int64_t BatchCut::all_planes(std::int64_t batch) const {
  const Counts& counts = planes_of(batch);
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

BatchMoves::BatchMoves(const Communicator& comm, const Machine& machine, BatchCut cut, const Batches& batches,
                       const ExchangeOptions& options)
    : cut_(std::move(cut)) {
  const std::vector<BatchShape> all = shapes_of(cut_);
  const std::vector<int> devices = machine.devices_of_rank(comm.rank());
  const auto count = static_cast<std::int64_t>(cut_.planes.size() * cut_.rows.size());
  for (std::int64_t n = 0; n < count; ++n)
    shape_of_.push_back(static_cast<int>(
        std::find(all.begin(), all.end(), BatchShape{cut_.planes_of(n), cut_.row_of(n)}) - all.begin()));
  for (const BatchShape& one : all) {
    Grids grids = grids_of(machine, comm.rank(), cut_, one);
    Shape& shape = shapes_.emplace_back();
    shape.from = std::make_unique<Grid>(std::move(grids.from));
    shape.to = std::make_unique<Grid>(std::move(grids.to));
    const auto field = [&](const Grid& grid, bool lands) {
      std::vector<OwnArray> arrays;
      for (const std::int64_t id : grid.local())
        for (const int parity : {0, 1}) {
          const auto d = static_cast<std::size_t>(std::find(devices.begin(), devices.end(), grid.block(id).device) -
                                                  devices.begin());
          arrays.push_back({lands ? batches.receive_buffer(d, parity) : batches.send_buffer(d, parity)});
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

std::vector<AlikeMessages> BatchMoves::messages(const Machine& machine, const BatchCut& cut,
                                                const ExchangeOptions& options) {
  BatchCut::Counts all(static_cast<std::size_t>(machine.devices()), 0);
  for (const BatchCut::Counts& planes : cut.planes)
    for (std::size_t d = 0; d < planes.size(); ++d) all[d] += planes[d];
  const std::int64_t row = std::accumulate(cut.rows.begin(), cut.rows.end(), std::int64_t{0});
  const Pairwise pairs(machine, cut, all, options);
  std::vector<AlikeMessages> found;
  for (const auto& [node, nodes] : pairs.nodes())
    for (const int source : machine.devices_of_node(node))
      for (const auto& [target, targets] : pairs.others(source)) {
        const MessageInfo message = pairs.message(source, target, row);
        if (message.bytes > 0) found.push_back({message, nodes, targets});
      }
  return found;
}

// Upper bound of bytes for a device's messages. One that the host or a library sends has a buffer of packed values at
// both ends. One that kernels store directly has two receive buffers at its target, used in turn.
std::int64_t BatchMoves::message_bytes(const Machine& machine, const BatchCut& cut, const ExchangeOptions& options) {
  std::int64_t bytes_of_all = 0;  // bytes of message buffers for all batch sizes, each on the device that needs most
  const std::vector<std::int64_t> rows = distinct(cut.rows);
  const auto bytes_of = [&](const MessageInfo& message, bool leaves) {
    if (message.bytes == 0) return std::int64_t{0};
    const RouteTraits traits = traits_of(message.route);
    std::int64_t bytes = bytes_of_table;
    if (!traits.stores) bytes += message.bytes;
    if (traits.in_place && !leaves) bytes += std::min(2 * message.bytes, options.knobs.ring);
    return bytes;
  };
  for (const BatchCut::Counts& planes : distinct(cut.planes)) {
    const Pairwise pairs(machine, cut, planes, options);
    std::int64_t most = 0;
    for (const auto& [node, nodes] : pairs.nodes())
      for (const int device : machine.devices_of_node(node)) {
        std::int64_t bytes = 0;
        for (const auto& [other, times] : pairs.others(device))
          for (const std::int64_t row : rows)
            bytes += times * (bytes_of(pairs.message(device, other, row), true) +
                              bytes_of(pairs.message(other, device, row), false));
        most = std::max(most, bytes);
      }
    bytes_of_all += most;
  }
  return bytes_of_all;
}

}  // namespace slipstream::fft
