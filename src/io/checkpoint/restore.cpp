#include <algorithm>
#include <cstring>
#include <optional>

#include <slipstream/checkpoint.hpp>
#include <slipstream/error.hpp>

#include "grid/cell_text.hpp"
#include "io/checkpoint_file.hpp"
#include "machine/agree.hpp"

namespace slipstream {
namespace {

std::string show_field(DType type, int components) {
  return to_string(type) + " with " + std::to_string(components) + (components == 1 ? " component" : " components");
}

/// Reorders the values of a field from [component][cell] to [cell][component].
std::vector<std::byte> side_by_side(const std::vector<std::byte>& from, std::size_t size, int components) {
  if (components == 1) return from;
  std::vector<std::byte> to(from.size());
  const std::size_t cells = from.size() / size / components;
  for (std::size_t cell = 0; cell < cells; ++cell)
    for (int c = 0; c < components; ++c)
      std::memcpy(to.data() + (cell * components + c) * size, from.data() + (c * cells + cell) * size, size);
  return to;
}

/// Index in the box of the first cell in which the field differs from a checkpoint's values; box.volume() if none.
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
  const std::string cell = cell_text({box.lo[0] + n % row, box.lo[1] + n % layer / row, box.lo[2] + n / layer});
  throw Error(ErrorCode::mismatch,
              "the checkpoint '" + path + "' is of another case: its field '" + name + "' differs in cell " + cell +
                  "; walls and bodies must be as they were",
              {{"file", path}, {"field", name}, {"cell", cell}});
}

void check_field(const std::string& path, const CheckpointArray& array, const Field& field,
                 const Translation* translation) {
  const DType type = field.options().type;
  const int components = translation ? translation->components : field.options().components;
  require(type == array.type && components == array.components, ErrorCode::mismatch,
          "the checkpoint '" + path + "' is of another case: its field '" + array.name + "' holds " +
              show_field(array.type, array.components) + ", that of this run " + show_field(type, components),
          {{"file", path},
           {"field", array.name},
           {"given", show_field(array.type, array.components)},
           {"needed", show_field(type, components)}});
}

/// `translation`: computes the field from the array of another field; null: the field has an array of its own.
void restore_field(const CheckpointReader& reader, const std::string& name, Field& field, bool fixed,
                   const Translation* translation) {
  const CheckpointArray array = reader.array(name);
  check_field(reader.info().path, array, field, translation);
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
    auto values = side_by_side(reader.values(array, n), size_of(array.type), array.components);
    if (translation) {
      std::vector<std::byte> own(static_cast<std::size_t>(box.volume() * field.options().components) *
                                 size_of(array.type));
      translation->by(values.data(), own.data(), box.volume());
      values = std::move(own);
    }
    if (fixed) {
      compare(reader.info().path, name, field, box, values);
    } else {
      field.write(box, values.data());
    }
  }
  require(missing == 0, ErrorCode::not_found,
          "the checkpoint '" + reader.info().path + "' does not hold the field '" + name + "' in " +
              std::to_string(missing) + " cells of this run",
          {{"file", reader.info().path}, {"field", name}, {"missing", missing}});
}

bool holds(const CheckpointInfo& info, const std::string& name) {
  return std::find(info.fields.begin(), info.fields.end(), name) != info.fields.end();
}

/// Finds a way to compute a field that the checkpoint lacks from one that it has; null if there is none.
const Translation* translation_of(const CheckpointInfo& info, const State& state, const std::string& name) {
  const auto found = state.translations.find(name);
  const bool suits = found != state.translations.end() && !holds(info, name) && holds(info, found->second.from);
  return suits ? &found->second : nullptr;
}

/// Names the field of this State that a field of the checkpoint restores; empty if there is none.
std::string target_of(const CheckpointInfo& info, const State& state, const std::string& name) {
  if (state.fields.contains(name) || state.made_when_asked.contains(name)) return name;
  for (const auto& [own, translation] : state.translations)
    if (translation.from == name && translation_of(info, state, own)) return own;
  return {};
}

/// Creates the fields of the checkpoint that this State does not have yet.
void make_missing(const Communicator& comm, const CheckpointReader& reader, State& state) {
  const CheckpointInfo& info = reader.info();
  const std::string other = "the checkpoint '" + info.path + "' is of another case: ";
  on_all_ranks(comm, [&] {
    for (const auto& [name, field] : state.fields) {
      const Translation* const translation = translation_of(info, state, name);
      require(holds(info, name) || state.made_when_asked.contains(name) || translation, ErrorCode::mismatch,
              other + "it has no field '" + name + "'",
              {{"file", info.path}, {"field", name}, {"problem", "field_missing"}});
      if (!holds(info, name) && !translation) continue;
      const Extent there = reader.extent(translation ? translation->from : name), here = field->grid().extent();
      require(
          there == here, ErrorCode::mismatch,
          other + "its field '" + name + "' has " + to_string(there) + " cells, that of this run " + to_string(here),
          {{"file", info.path}, {"field", name}, {"given", to_string(there)}, {"needed", to_string(here)}});
    }
    for (const std::string& name : info.fields)
      require(!target_of(info, state, name).empty(), ErrorCode::mismatch,
              other + "this run has no field '" + name + "'",
              {{"file", info.path}, {"field", name}, {"problem", "field_unknown"}});
  });
  for (const std::string& name : info.fields)
    if (const std::string own = target_of(info, state, name); !state.fields.contains(own))
      state.made_when_asked.at(own)();
}

}  // namespace

void restore(const Communicator& comm, const std::string& path, State& state) {
  const QuietHdf5 quiet;
  std::optional<CheckpointReader> reader;
  on_all_ranks(comm, [&] { reader.emplace(path); });
  make_missing(comm, *reader, state);
  on_all_ranks(comm, [&] {
    for (const std::string& name : reader->info().fields) {
      const std::string own = target_of(reader->info(), state, name);
      restore_field(*reader, name, state[own], state.fixed.contains(own),
                    own == name ? nullptr : translation_of(reader->info(), state, own));
    }
  });
  state.step = reader->info().step;
  state.time = reader->info().time;
  ++state.restarts;
}

}  // namespace slipstream
