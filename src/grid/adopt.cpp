// Fields on arrays of the caller: checks the arrays, and makes all ranks agree on the result.
#include <algorithm>
#include <sstream>

#include <slipstream/field.hpp>

#include "machine/agree.hpp"

namespace slipstream {
namespace {

std::string strides_text(const Extent& stride, std::int64_t component) {
  std::ostringstream text;
  text << "x " << stride[0] << ", y " << stride[1] << ", z " << stride[2] << ", component " << component;
  return text.str();
}

/// Whether the caller's strides equal those of the block's shape. Strides of axes with one layer are ignored.
bool same_strides(const OwnArray& array, const BlockShape& shape, int components) {
  for (int a = 0; a < 3; ++a)
    if (array.stride[a] != 0 && array.stride[a] != shape.stride[a] && shape.extent[a] + 2 * shape.ghost[a] > 1)
      return false;
  return array.component_stride == 0 || components == 1 || array.component_stride == shape.component_stride;
}

/// Number of elements of an array from the corner of the ghosts to the last element of any cell.
std::int64_t span_of(const BlockShape& shape, int components) {
  std::int64_t last = (components - 1) * shape.component_stride;
  for (int a = 0; a < 3; ++a) last += (shape.extent[a] + 2 * shape.ghost[a] - 1) * shape.stride[a];
  return last + 1;
}

/// Text of all options of a field from which neighbours derive addresses.
std::string fingerprint(const FieldOptions& o) {
  std::ostringstream text;
  text << o.name << ' ' << to_string(o.type) << ' ' << to_string(o.layout) << ", " << o.components << " components, "
       << o.copies << " copies, " << o.apart << " apart";
  for (int a = 0; a < 3; ++a)
    text << ", "
         << "xyz"[a] << ": ghost " << o.ghost[a] << " padding " << o.padding[a];
  return text.str();
}

}  // namespace

std::string Field::refusal(std::int64_t block, const void* array) const {
  const Storage& at = storage(block);
  const auto size = static_cast<std::int64_t>(size_of(options_.type));
  std::string why = memory_problem(at.device, array, span_of(at.shape, options_.components) * size);
  if (why.empty() && reinterpret_cast<std::uintptr_t>(array) % size != 0)
    why = "the address of the array is no multiple of the " + std::to_string(size) + " bytes of its values";
  return why;
}

void Field::take(const std::vector<OwnArray>& arrays) {
  const std::string name = "field " + options_.name;
  const auto size = static_cast<std::int64_t>(size_of(options_.type));
  const std::size_t wanted = storage_.size() * static_cast<std::size_t>(options_.copies);
  require(arrays.size() == wanted, ErrorCode::mismatch,
          name + " was given " + std::to_string(arrays.size()) + " arrays for " + std::to_string(storage_.size()) +
              " blocks of " + std::to_string(options_.copies) + " copies on this rank",
          {{"field", options_.name}, {"given", arrays.size()}, {"needed", wanted}});
  options_.shared = true;
  std::vector<std::pair<std::byte*, std::byte*>> ranges;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    Storage& storage = storage_[i / options_.copies];
    const OwnArray& array = arrays[i];
    const std::string what = name + ", block " + std::to_string(storage.block);
    const std::int64_t bytes = span_of(storage.shape, options_.components) * size;
    if (!same_strides(array, storage.shape, options_.components)) {
      const std::string needed = strides_text(
          {storage.shape.stride[0], storage.shape.stride[1], storage.shape.stride[2]}, storage.shape.component_stride);
      const std::string given = strides_text(array.stride, array.component_stride);
      throw Error(ErrorCode::mismatch,
                  what + ": the array's strides are " + given + " elements, but must be " + needed + " (" +
                      to_string(options_.layout) + "): pack the array, state its padding or choose another layout",
                  {{"field", options_.name}, {"block", storage.block}, {"given", given}, {"needed", needed}});
    }
    if (const std::string why = refusal(storage.block, array.data); !why.empty()) {
      const bool aligned = reinterpret_cast<std::uintptr_t>(array.data) % size == 0;
      const char* const problem = !array.data ? "null" : aligned ? "memory" : "alignment";
      throw Error(ErrorCode::invalid_argument, what + ": " + why,
                  {{"field", options_.name}, {"block", storage.block}, {"problem", problem}});
    }
    auto* const first = static_cast<std::byte*>(array.data);
    ranges.emplace_back(first, first + bytes);
    options_.shared = options_.shared && mappable(storage.device, array.data);
    storage.arrays.push_back(first);
  }
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first < ranges[i - 1].second)
      throw Error(ErrorCode::invalid_argument,
                  name + ": two of its arrays overlap in memory; give every block and copy its own",
                  {{"field", options_.name}, {"problem", "shared"}});
}

Field Field::adopt(const Communicator& comm, const Grid& grid, FieldOptions options,
                   const std::vector<OwnArray>& arrays) {
  options.alignment = 1;
  options.adopted = true;
  Field field(grid, std::move(options), WithoutArrays{});
  on_all_ranks(comm, [&] { field.take(arrays); });
  const std::vector<std::string> all = comm.all_gather(fingerprint(field.options_));
  for (int rank = 0; rank < comm.size(); ++rank)
    require(all[rank] == all[0], ErrorCode::mismatch,
            "ranks 0 and " + std::to_string(rank) + " have different descriptions of a field: \"" + all[0] +
                "\" and \"" + all[rank] + "\"",
            {{"rank", rank}});
  field.options_.shared = comm.all(field.options_.shared);
  return field;
}

}  // namespace slipstream
