#include <slipstream/guard.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include <slipstream/buffer.hpp>
#include <slipstream/error.hpp>

#include "grid/cell_text.hpp"
#include "solver/common/cell_rows.hpp"
#include "solver/common/guard_kernels.hpp"

namespace slipstream {
namespace {

/// A guarded quantity in a grid block of this rank. `first_row`: number of its first row of cells on its device.
struct GuardedBlock {
  std::size_t quantity = 0;
  std::int64_t block = 0;
  std::int64_t first_row = 0;
};

/// The first invalid value as ranks send it to each other, with the index of its quantity.
struct Told {
  std::int64_t quantity = -1;
  double value = 0;
  Extent cell{0, 0, 0};
};

std::string place_text(const std::array<double, 3>& place) {
  std::ostringstream text;
  text << "(" << place[0] << ", " << place[1] << ", " << place[2] << ")";
  return text.str();
}

}  // namespace

Diverged::Diverged(const Finding& finding, const std::string& text, const Facts& more)
    : Error(ErrorCode::diverged, text,
            joined({{"quantity", finding.quantity},
                    {"value", finding.value},
                    {"step", finding.step},
                    {"rank", finding.rank},
                    {"cell", cell_text(finding.cell)},
                    {"position", place_text(finding.position)}},
                   more)),
      finding(finding) {}

struct Guard::Impl {
  struct Side {
    Device device;
    std::vector<GuardedBlock> parts;
    std::int64_t rows = 0;
    Buffer<RowFinding> row_findings;
    Buffer<DeviceFinding> first;  // first invalid value, in pinned memory
    std::optional<Event> done;
  };

  Impl(const Communicator& comm, std::vector<Watched> wanted, GuardOptions o)
      : comm(comm), watched(std::move(wanted)), options(std::move(o)) {
    require(options.every >= 1, "a guard inspects every 1 or more steps",
            {{"option", "every"}, {"given", options.every}});
    require(!watched.empty(), "a guard without a quantity to watch", {{"option", "watched"}});
    for (const auto& [name, range] : options.ranges) {
      std::string names;
      for (const Watched& one : watched) names += (names.empty() ? "" : ", ") + one.name;
      require((", " + names + ", ").find(", " + name + ", ") != std::string::npos, ErrorCode::not_found,
              "a guard knows no quantity '" + name + "': choose among " + names,
              {{"quantity", name}, {"choices", names}});
      require(range[0] <= range[1], "the range of '" + name + "' is empty", {{"option", "ranges"}, {"quantity", name}});
    }
    for (const Watched& one : watched) {
      const DType type = one.field->options().type;
      require(one.inspect || type == DType::f32 || type == DType::f64, ErrorCode::unsupported,
              "'" + one.name + "' holds " + to_string(type) + ", which a guard cannot watch",
              {{"quantity", one.name}, {"type", to_string(type)}});
    }
  }

  /// Lists the guarded blocks before the first check, because fields may be created after the guard.
  void list_parts(const std::vector<Stream>& streams) {
    for (const Stream& stream : streams) sides.push_back({stream.device(), {}, 0, {}, {}, {}});
    for (std::size_t q = 0; q < watched.size(); ++q) {
      const Field& field = *watched[q].field;
      for (const std::int64_t id : field.grid().local())
        for (Side& side : sides)
          if (side.device == field.device(id)) {
            side.parts.push_back({q, id, side.rows});
            side.rows += rows_of(field.shape(id)).count();
          }
    }
    for (Side& side : sides) {
      side.row_findings = Buffer<RowFinding>(side.device, static_cast<std::size_t>(side.rows));
      side.first = Buffer<DeviceFinding>(side.device, 1, Memory::pinned);
      side.done.emplace(side.device);
    }
  }

  std::array<double, 2> range(const std::string& name) const {
    const auto found = options.ranges.find(name);
    const double most = std::numeric_limits<double>::max();
    return found == options.ranges.end() ? std::array<double, 2>{-most, most} : found->second;
  }

  void queue(Stream& stream, Side& side, std::size_t quantity) const {
    std::vector<InspectedBlock> inspected;
    for (const GuardedBlock& part : side.parts)
      if (part.quantity == quantity) inspected.push_back({part.block, side.row_findings.data() + part.first_row});
    const Watched& one = watched[quantity];
    const std::array<double, 2> sound = range(one.name);
    if (one.inspect) return one.inspect(stream, inspected, sound[0], sound[1]);
    inspect_rows(stream, *one.field, inspected, sound[0], sound[1]);
  }

  void inspect(std::vector<Stream>& streams, std::int64_t now) {
    if (sides.empty()) list_parts(streams);
    for (std::size_t i = 0; i < sides.size(); ++i) {
      Side& side = sides[i];
      for (std::size_t quantity = 0; quantity < watched.size(); ++quantity) queue(streams[i], side, quantity);
      first_of_rows(streams[i], side.row_findings.data(), side.rows, side.first.data());
      streams[i].record(*side.done);
    }
    step = now;
    pending = true;
  }

  /// Returns the first invalid value on this rank, ordered by quantity and position.
  Told mine() {
    Told told;
    for (Side& side : sides) {
      side.done->synchronize();
      const DeviceFinding& first = *side.first.data();
      if (first.row < 0 || told.quantity >= 0) continue;
      const GuardedBlock* part = &side.parts.front();
      for (const GuardedBlock& other : side.parts)
        if (other.first_row <= first.row) part = &other;
      const Field& field = *watched[part->quantity].field;
      const auto cell = rows_of(field.shape(part->block)).cell(first.row - part->first_row, first.found.at);
      const Extent& lo = field.grid().block(part->block).box.lo;
      told = {static_cast<std::int64_t>(part->quantity),
              first.found.value,
              {lo[0] + cell.x, lo[1] + cell.y, lo[2] + cell.z}};
    }
    return told;
  }

  std::optional<Finding> look() {
    if (!std::exchange(pending, false)) return {};
    const Told told = mine();
    if (comm.all(told.quantity < 0)) return {};
    const auto texts = comm.all_gather(std::string(reinterpret_cast<const char*>(&told), sizeof told));
    for (int rank = 0;; ++rank) {
      Told theirs;
      std::memcpy(&theirs, texts[rank].data(), sizeof theirs);
      if (theirs.quantity < 0) continue;
      Finding finding{watched[theirs.quantity].name, theirs.value, step, rank, theirs.cell, {}};
      for (int a = 0; a < 3; ++a)
        finding.position[a] = options.origin[a] + (static_cast<double>(theirs.cell[a]) + 0.5) * options.spacing[a];
      return finding;
    }
  }

  Communicator comm;
  std::vector<Watched> watched;
  GuardOptions options;
  std::vector<Side> sides;
  std::int64_t step = 0;
  bool pending = false;
};

Guard::Guard(const Communicator& comm, std::vector<Watched> watched, GuardOptions options)
    : impl_(std::make_unique<Impl>(comm, std::move(watched), std::move(options))) {}
Guard::~Guard() = default;

std::int64_t Guard::every() const { return impl_->options.every; }
void Guard::inspect(std::vector<Stream>& streams, std::int64_t step) { impl_->inspect(streams, step); }
std::optional<Finding> Guard::look() { return impl_->look(); }

std::string Guard::explain(const Finding& f) const {
  std::ostringstream text;
  text << f.quantity << (std::isfinite(f.value) ? " is " : " is not finite (") << f.value
       << (std::isfinite(f.value) ? "" : ")");
  const auto range = impl_->range(f.quantity);
  if (std::isfinite(f.value)) text << ", outside of " << range[0] << " to " << range[1] << ",";
  text << " at step " << f.step << " on rank " << f.rank << " in cell " << cell_text(f.cell) << ", position "
       << place_text(f.position);
  return text.str();
}

}  // namespace slipstream
