#include <algorithm>
#include <cstring>
#include <optional>

#include <slipstream/checkpoint.hpp>
#include <slipstream/error.hpp>

#include "io/checkpoint/checkpoint_file.hpp"
#include "machine/agree.hpp"

namespace slipstream {
namespace {

std::string show_field(DType type, int components) {
  return to_string(type) + " with " + std::to_string(components) + (components == 1 ? " component" : " components");
}

/// From [component][cell] to [cell][component].
std::vector<std::byte> side_by_side(const std::vector<std::byte>& from, std::size_t size, int components) {
  if (components == 1) return from;
  std::vector<std::byte> to(from.size());
  const std::size_t cells = from.size() / size / components;
  for (std::size_t cell = 0; cell < cells; ++cell)
    for (int c = 0; c < components; ++c)
      std::memcpy(to.data() + (cell * components + c) * size, from.data() + (c * cells + cell) * size, size);
  return to;
}

/// The first cell of a box, as counted through it, whose values in this rank's blocks are others; none: box.volume().
std::int64_t first_difference(const Field& field, const Box& box, const std::vector<std::byte>& values) {
  std::vector<std::byte> here(values.size());
  std::memcpy(here.data(), values.data(), values.size());
  field.read(box, here.data());
  const auto at = std::mismatch(here.begin(), here.end(), values.begin()).first - here.begin();
  return at / (static_cast<std::int64_t>(values.size()) / box.volume());
}

void compare(const std::string& path, const std::string& name, const Field& field, const Box& box,
             const std::vector<std::byte>& values) {
  const std::int64_t n = first_difference(field, box, values);
  if (n == box.volume()) return;
  const std::int64_t row = box.extent(0), layer = row * box.extent(1);
  throw Error("the checkpoint '" + path + "' is of another case: its field '" + name + "' differs in cell (" +
              std::to_string(box.lo[0] + n % row) + ", " + std::to_string(box.lo[1] + n % layer / row) + ", " +
              std::to_string(box.lo[2] + n / layer) + "); walls and bodies must be as they were");
}

void check_field(const std::string& path, const CheckpointArray& array, const Field& field) {
  const FieldOptions& here = field.options();
  require(here.type == array.type && here.components == array.components,
          "the checkpoint '" + path + "' is of another case: its field '" + array.name + "' holds " +
              show_field(array.type, array.components) + ", that of this run " +
              show_field(here.type, here.components));
}

void restore_field(const CheckpointReader& reader, const std::string& name, Field& field, bool fixed) {
  const CheckpointArray array = reader.array(name);
  check_field(reader.info().path, array, field);
  const Grid& grid = field.grid();
  std::int64_t missing = 0;
  for (const std::int64_t id : grid.local()) missing += grid.block(id).box.volume();
  for (std::size_t n = 0; n < array.pieces.size(); ++n) {
    const Box& box = array.pieces[n].box;
    bool mine = false;
    for (const std::int64_t id : grid.local()) {
      const std::int64_t cells = intersection(grid.block(id).box, box).volume();
      mine |= cells > 0;
      missing -= cells;
    }
    if (!mine) continue;
    const auto values = side_by_side(reader.values(array, n), size_of(array.type), array.components);
    if (fixed) {
      compare(reader.info().path, name, field, box, values);
    } else {
      field.write(box, values.data());
    }
  }
  require(missing == 0, "the checkpoint '" + reader.info().path + "' does not hold the field '" + name + "' in " +
                            std::to_string(missing) + " cells of this run");
}

/// Makes the fields of the checkpoint that this State has not made yet.
void make_missing(const Communicator& comm, const CheckpointInfo& info, State& state) {
  on_all_ranks(comm, [&] {
    for (const auto& [name, field] : state.fields) {
      bool there = false;
      for (const std::string& other : info.fields) there |= other == name;
      require(there || state.made_when_asked.contains(name),
              "the checkpoint '" + info.path + "' is of another case: it has no field '" + name + "'");
      require(field->grid().extent() == info.extent, "the checkpoint '" + info.path + "' is of another case: it has " +
                                                         to_string(info.extent) + " cells, this run " +
                                                         to_string(field->grid().extent()));
    }
    for (const std::string& name : info.fields)
      require(state.fields.contains(name) || state.made_when_asked.contains(name),
              "the checkpoint '" + info.path + "' is of another case: this run has no field '" + name + "'");
  });
  for (const std::string& name : info.fields)
    if (!state.fields.contains(name)) state.made_when_asked.at(name)();
}

}  // namespace

void restore(const Communicator& comm, const std::string& path, State& state) {
  const QuietHdf5 quiet;
  std::optional<CheckpointReader> reader;
  on_all_ranks(comm, [&] { reader.emplace(path); });
  make_missing(comm, reader->info(), state);
  on_all_ranks(comm, [&] {
    for (const std::string& name : reader->info().fields)
      restore_field(*reader, name, state[name], state.fixed.contains(name));
  });
  state.step = reader->info().step;
  state.time = reader->info().time;
  ++state.restarts;
}

}  // namespace slipstream
