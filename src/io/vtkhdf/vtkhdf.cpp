#include <slipstream/vtkhdf.hpp>

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iomanip>
#include <limits>
#include <slipstream/error.hpp>
#include <sstream>

#include "io/hdf5/hdf5_parallel.hpp"
#include "io/vtkhdf/vtkhdf_file.hpp"
#include "io/write_values.hpp"
#include "machine/agree.hpp"

namespace slipstream {

struct VtkhdfSeries::State {
  Communicator comm;
  Extent extent;
  std::string path;
  Options options;
  std::vector<VtkhdfArray> arrays;
  std::int64_t steps = 0;
  double last_time = -std::numeric_limits<double>::infinity();
  bool closed = false;
};

namespace {

namespace fs = std::filesystem;

void check_options(const VtkhdfSeries::Options& options) {
  for (const double edge : options.spacing)
    require(std::isfinite(edge) && edge > 0, "VTKHDF output needs a cell spacing above zero on all three axes",
            {{"option", "spacing"}, {"given", edge}});
  for (const double corner : options.origin)
    require(std::isfinite(corner), "VTKHDF output needs a finite origin", {{"option", "origin"}});
  require(options.piece_bytes > 0 && options.piece_bytes <= std::numeric_limits<int>::max(),
          "VTKHDF output in pieces of " + std::to_string(options.piece_bytes) +
              " bytes is not possible: choose 1 to 2147483647",
          {{"option", "piece_bytes"}, {"given", options.piece_bytes}});
}

void check_ranks(const Communicator& comm, const Grid& grid) {
  require(grid.rank() == comm.rank() && grid.machine().ranks() == comm.size(), ErrorCode::mismatch,
          "VTKHDF output is given a communicator of " + std::to_string(comm.size()) + " ranks, but a grid of " +
              std::to_string(grid.machine().ranks()) + ": pass the communicator that the grid's machine was made with",
          {{"given", comm.size()}, {"needed", grid.machine().ranks()}});
}

void check_path(const std::string& path, bool overwrite) {
  require(!path.empty(), "VTKHDF output needs the name of a file", {{"option", "path"}});
  std::error_code ignored;
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  require(fs::is_directory(folder, ignored), ErrorCode::not_found,
          "cannot write '" + path + "': '" + folder.string() + "' is not a folder; make it, or choose another path",
          {{"file", path}, {"folder", folder.string()}});
  require(::access(folder.c_str(), W_OK) == 0, ErrorCode::io,
          "cannot write '" + path + "': " + std::strerror(errno) + "; choose a folder that you may write to",
          {{"file", path}, {"folder", folder.string()}});
  if (!fs::exists(path, ignored)) return;
  require(fs::is_regular_file(path, ignored), ErrorCode::io,
          "cannot write '" + path + "': it is no ordinary file; choose another path", {{"file", path}});
  require(overwrite, ErrorCode::io,
          "'" + path + "' exists already; choose another path, remove it, or ask to overwrite",
          {{"file", path}, {"problem", "exists"}});
}

void check_items(const Communicator& comm, const Extent& extent, const std::vector<VtkhdfSeries::Item>& items) {
  require(!items.empty(), "a step of VTKHDF output needs at least one field", {{"option", "items"}});
  for (const auto& item : items) {
    const std::string what = "field '" + item.name + "' of VTKHDF output ";
    require(!item.name.empty() && item.name != "." && item.name.find('/') == std::string::npos,
            what + "has a name that HDF5 cannot hold: leave out slashes", {{"field", item.name}, {"option", "name"}});
    require(item.field != nullptr, what + "is missing (a null pointer)", {{"field", item.name}, {"option", "field"}});
    require(item.field->grid().extent() == extent, ErrorCode::mismatch,
            what + "lies on a grid of another size than the series", {{"field", item.name}, {"option", "grid"}});
    check_ranks(comm, item.field->grid());
    const DType type = item.field->options().type;
    require(std::isfinite(item.scale), what + "has a scale that is not a finite number",
            {{"field", item.name}, {"option", "scale"}});
    require(item.scale == 1 || type == DType::f32 || type == DType::f64, ErrorCode::unsupported,
            what + "holds " + to_string(type) + ", which cannot be scaled: leave its scale at 1",
            {{"field", item.name}, {"option", "scale"}});
    require(std::count_if(items.begin(), items.end(), [&](const auto& o) { return o.name == item.name; }) == 1,
            what + "is given twice in one step", {{"field", item.name}, {"option", "items"}});
  }
}

/// Text of all inputs that must agree on all ranks; a difference would deadlock.
std::string describe(double time, const std::vector<VtkhdfSeries::Item>& items) {
  std::ostringstream text;
  text << std::hexfloat << "time " << time;
  for (const auto& item : items) {
    text << ", '" << item.name << "' x " << item.scale << ' ' << item.unit << (item.derive ? " derived" : "");
    if (item.field) text << ' ' << to_string(item.field->options().type) << ' ' << item.field->options().components;
  }
  return text.str();
}

void check_same_call(const Communicator& comm, double time, const std::vector<VtkhdfSeries::Item>& items) {
  const std::string mine = describe(time, items);
  const std::string first = comm.broadcast(mine, 0);
  on_all_ranks(comm, [&] {
    require(mine == first, ErrorCode::mismatch,
            "ranks write different steps of VTKHDF output: rank 0 has " + first + "; rank " +
                std::to_string(comm.rank()) + " has " + mine,
            {{"rank", comm.rank()}});
  });
}

/// Arrays of the next time step in a VTKHDF file: the given fields are written anew, others refer to earlier steps.
std::vector<VtkhdfArray> next_arrays(const std::vector<VtkhdfArray>& before, bool first,
                                     const std::vector<VtkhdfSeries::Item>& items) {
  std::vector<VtkhdfArray> arrays = before;
  for (VtkhdfArray& array : arrays) array.fresh = false;
  for (const auto& item : items) {
    const DType type = item.field->options().type;
    const int components = item.field->options().components;
    if (first) {
      arrays.push_back({item.name, type, components, item.unit});
      continue;
    }
    const auto array = std::find_if(arrays.begin(), arrays.end(), [&](const auto& a) { return a.name == item.name; });
    require(array != arrays.end(), ErrorCode::mismatch,
            "field '" + item.name + "' was not in the first step of the series: give it there",
            {{"field", item.name}, {"option", "items"}});
    require(array->type == type && array->components == components, ErrorCode::mismatch,
            "field '" + item.name + "' was " + to_string(array->type) + " x " + std::to_string(array->components) +
                " in the first step and is " + to_string(type) + " x " + std::to_string(components) + " now",
            {{"field", item.name}, {"option", "type"}});
    ++array->row;
    array->fresh = true;
  }
  return arrays;
}

std::vector<ValueSource> sources_of(const std::vector<VtkhdfArray>& arrays,
                                    const std::vector<VtkhdfSeries::Item>& items) {
  std::vector<ValueSource> sources;
  for (const auto& item : items)
    for (const VtkhdfArray& array : arrays)
      if (array.name == item.name) {
        ValueSource& source = sources.emplace_back(source_of(*item.field, item.scale, item.derive));
        source.dataset = values_path(array.name);
        source.slab = [array](const Box& box) { return slab_of(array, box); };
      }
  return sources;
}

/// State of a file's steps, as text that rank 0 broadcasts to the other ranks.
std::string state_text(std::int64_t steps, double last_time, const std::vector<VtkhdfArray>& arrays) {
  std::ostringstream text;
  text << steps << ' ' << std::bit_cast<std::int64_t>(last_time) << ' ' << arrays.size();
  for (const VtkhdfArray& array : arrays)
    text << ' ' << static_cast<int>(array.type) << ' ' << array.components << ' ' << array.row << ' '
         << std::quoted(array.name);
  return text.str();
}

void read_state(const std::string& text, std::int64_t& steps, double& last_time, std::vector<VtkhdfArray>& arrays) {
  std::istringstream in(text);
  std::int64_t bits = 0;
  std::size_t count = 0;
  in >> steps >> bits >> count;
  last_time = std::bit_cast<double>(bits);
  arrays.assign(count, {});
  for (VtkhdfArray& array : arrays) {
    int type = 0;
    in >> type >> array.components >> array.row >> std::quoted(array.name);
    array.type = static_cast<DType>(type);
    array.fresh = false;
  }
}

}  // namespace

VtkhdfSeries::VtkhdfSeries(const Communicator& comm, const Grid& grid, std::string path, Options options)
    : state_(new State{comm, grid.extent(), std::move(path), options, {}}) {
  const QuietHdf5 quiet;
  State& s = *state_;
  s.options.collect = options.collect || !hdf5_is_parallel() || comm.size() == 1;
  on_all_ranks(comm, [&] {
    check_options(options);
    check_ranks(comm, grid);
  });
  on_rank_zero(comm, [&] {
    check_path(s.path, options.overwrite || options.up_to);
    if (options.up_to && fs::exists(s.path)) {
      try {
        const VtkhdfSteps kept = go_on_with_vtkhdf(s.path, s.extent, *options.up_to, s.arrays);
        s.steps = kept.count;
        s.last_time = kept.last_time;
      } catch (const Error& error) {
        throw Error(error.code() == ErrorCode::mismatch ? error.code() : ErrorCode::bad_file,
                    "cannot go on with '" + s.path + "': " + error.what() + "; write to another path",
                    joined(error.facts(), {{"file", s.path}}));
      }
    } else {
      create_vtkhdf(s.path, s.extent, options.origin, options.spacing, options.overwrite);
    }
  });
  read_state(comm.broadcast(comm.rank() == 0 ? state_text(s.steps, s.last_time, s.arrays) : "", 0), s.steps,
             s.last_time, s.arrays);
  // Arguments are checked before the file is opened: a collective open that fails on some ranks only may deadlock.
  on_all_ranks(comm, [&] {
    require(
        s.options.collect || ::access(s.path.c_str(), R_OK | W_OK) == 0, ErrorCode::io,
        "cannot write '" + s.path + "', which rank 0 made: choose a folder that all nodes share, or let rank 0 collect",
        {{"file", s.path}});
  });
}

VtkhdfSeries::VtkhdfSeries(VtkhdfSeries&&) noexcept = default;
VtkhdfSeries& VtkhdfSeries::operator=(VtkhdfSeries&&) noexcept = default;
VtkhdfSeries::~VtkhdfSeries() = default;

void VtkhdfSeries::write(double time, const std::vector<Item>& items) {
  const QuietHdf5 quiet;
  State& s = *state_;
  check_same_call(s.comm, time, items);
  std::vector<VtkhdfArray> arrays;
  on_all_ranks(s.comm, [&] {
    require(!s.closed, ErrorCode::wrong_state, "'" + s.path + "' is closed: write before close()",
            {{"file", s.path}, {"problem", "closed"}});
    require(std::isfinite(time) && time > s.last_time, ErrorCode::wrong_state,
            "times of '" + s.path + "' must grow: " + std::to_string(time) + " follows " + std::to_string(s.last_time),
            {{"file", s.path}, {"option", "time"}, {"given", time}, {"last", s.last_time}});
    check_items(s.comm, s.extent, items);
    arrays = next_arrays(s.arrays, s.steps == 0, items);
  });
  const std::vector<ValueSource> sources = sources_of(arrays, items);
  on_rank_zero(s.comm, [&] { reserve_rows(s.path, s.extent, arrays); });
  const auto write_values = s.options.collect ? write_values_by_collecting : write_values_in_parallel;
  write_values(s.comm, s.path, sources, s.options.piece_bytes);
  on_rank_zero(s.comm, [&] { commit_step(s.path, s.steps, time, arrays); });
  s.arrays = std::move(arrays);
  s.last_time = time;
  ++s.steps;
}

void VtkhdfSeries::close() { state_->closed = true; }
const std::string& VtkhdfSeries::path() const { return state_->path; }
std::int64_t VtkhdfSeries::steps() const { return state_->steps; }
double VtkhdfSeries::last_time() const { return state_->last_time; }

}  // namespace slipstream
