#include "io/vtkhdf/vtkhdf_file.hpp"

#include <algorithm>
#include <slipstream/error.hpp>

#include "io/hdf5/hdf5_file.hpp"
#include "io/vtkhdf/vtkhdf_steps.hpp"

namespace slipstream {
namespace {

using Sizes = Hdf5Sizes;

constexpr hsize_t target_chunk_bytes = hsize_t{16} << 20;
constexpr hsize_t steps_per_chunk = 256;

Sizes row_sizes(const Extent& extent, int components) {
  Sizes sizes{1, static_cast<hsize_t>(extent[2]), static_cast<hsize_t>(extent[1]), static_cast<hsize_t>(extent[0])};
  if (components > 1) sizes.push_back(components);
  return sizes;
}

hsize_t bytes_of(const Sizes& sizes, DType type) {
  hsize_t bytes = size_of(type);
  for (const hsize_t size : sizes) bytes *= size;
  return bytes;
}

/// Extents of a chunk: one row, halved along the slowest axes until it is small. Halves round up, to waste little.
Sizes chunk_sizes(Sizes sizes, DType type) {
  while (bytes_of(sizes, type) > target_chunk_bytes) {
    const auto axis = std::find_if(sizes.begin() + 1, sizes.begin() + 4, [](hsize_t n) { return n > 1; });
    if (axis == sizes.begin() + 4) break;
    *axis = (*axis + 1) / 2;
  }
  return sizes;
}

/// Bytes of disk space that a row of a dataset takes: whole chunks and their index entries.
std::int64_t disk_bytes_of_row(const Extent& extent, const VtkhdfArray& array) {
  const Sizes sizes = row_sizes(extent, array.components);
  const Sizes chunk = chunk_sizes(sizes, array.type);
  hsize_t chunks = 1;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) chunks *= (sizes[axis] + chunk[axis] - 1) / chunk[axis];
  constexpr hsize_t index_entry = 512;
  return static_cast<std::int64_t>(chunks * (bytes_of(chunk, array.type) + index_entry));
}

void write_geometry(const Hdf5Handle& file, const Extent& extent, const std::array<double, 3>& origin,
                    const std::array<double, 3>& spacing) {
  const Hdf5Handle root = create_group(file, "/VTKHDF");
  const std::array<std::int64_t, 2> version{2, 0};
  const std::array<std::int64_t, 6> whole{0, extent[0], 0, extent[1], 0, extent[2]};
  const std::array<double, 9> direction{1, 0, 0, 0, 1, 0, 0, 0, 1};
  write_attribute(root, "Version", H5T_NATIVE_INT64, {2}, version.data());
  write_text_attribute(root, "Type", "ImageData");
  write_attribute(root, "WholeExtent", H5T_NATIVE_INT64, {6}, whole.data());
  write_attribute(root, "Origin", H5T_NATIVE_DOUBLE, {3}, origin.data());
  write_attribute(root, "Spacing", H5T_NATIVE_DOUBLE, {3}, spacing.data());
  write_attribute(root, "Direction", H5T_NATIVE_DOUBLE, {9}, direction.data());
}

/// Creates an empty dataset that is extendible along its first axis.
Hdf5Handle create_growing(const Hdf5Handle& file, const std::string& name, hid_t type, const Sizes& row,
                          const Sizes& chunk) {
  const int rank = static_cast<int>(row.size());
  Sizes now = row, most = row;
  now[0] = 0;
  most[0] = H5S_UNLIMITED;
  const Hdf5Handle space(H5Screate_simple(rank, now.data(), most.data()), H5Sclose, "sizing the dataset " + name);
  const Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "making HDF5 properties");
  hdf5_check(H5Pset_chunk(properties.get(), rank, chunk.data()), "sizing the chunks of " + name);
  // Chunks are allocated early, for parallel writes, and not filled, because values overwrite them.
  hdf5_check(H5Pset_alloc_time(properties.get(), H5D_ALLOC_TIME_EARLY), "allocating " + name);
  hdf5_check(H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER), "allocating " + name);
  return {H5Dcreate2(file.get(), name.c_str(), type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT), H5Dclose,
          "making the dataset " + name};
}

/// Removes a dataset that a failed first step has left, because its shape may differ in the next attempt.
void remove_if_there(const Hdf5Handle& file, const std::string& name) {
  if (H5Lexists(file.get(), name.c_str(), H5P_DEFAULT) > 0)
    hdf5_check(H5Ldelete(file.get(), name.c_str(), H5P_DEFAULT), "removing the dataset " + name);
}

void write_one(const Hdf5Handle& file, const std::string& name, hid_t type, std::int64_t index, const void* value) {
  const Hdf5Handle dataset = open_dataset(file, name);
  const hsize_t start = index, size = index + 1, one = 1;
  hdf5_check(H5Dset_extent(dataset.get(), &size), "growing the dataset " + name);
  const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose, "reading the size of " + name);
  hdf5_check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &start, nullptr, &one, nullptr), "selecting in " + name);
  const Hdf5Handle memory(H5Screate_simple(1, &one, nullptr), H5Sclose, "sizing one value");
  hdf5_check(H5Dwrite(dataset.get(), type, memory.get(), space.get(), H5P_DEFAULT, value), "writing " + name);
}

std::string shown_path(const std::string& name) { return "/VTKHDF/CellData/" + name; }
std::string offsets_path(const std::string& name) { return "/VTKHDF/Steps/CellDataOffsets/" + name; }

/// Makes a virtual dataset that shows readers the first row of the array `name`, without a time axis.
void show_first_row(const Hdf5Handle& file, const std::string& name) {
  const Hdf5Handle values = open_dataset(file, values_path(name));
  const Hdf5Handle type(H5Dget_type(values.get()), H5Tclose, "reading the type of " + name);
  const Hdf5Handle from(H5Dget_space(values.get()), H5Sclose, "reading the size of " + name);
  const int rank = H5Sget_simple_extent_ndims(from.get());
  Sizes count(rank);
  const Sizes start(rank, 0);
  hdf5_check(H5Sget_simple_extent_dims(from.get(), count.data(), nullptr), "reading the size of " + name);
  count[0] = 1;
  hdf5_check(H5Sselect_hyperslab(from.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
             "selecting the first row of " + name);
  const Hdf5Handle to(H5Screate_simple(rank - 1, count.data() + 1, nullptr), H5Sclose, "sizing a view of " + name);
  const Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "making HDF5 properties");
  hdf5_check(H5Pset_virtual(properties.get(), to.get(), ".", values_path(name).c_str(), from.get()),
             "making a view of " + name);
  Hdf5Handle(H5Dcreate2(file.get(), shown_path(name).c_str(), type.get(), to.get(), H5P_DEFAULT, properties.get(),
                        H5P_DEFAULT),
             H5Dclose, "making a view of " + name);
}

/// VTK reads a file with one step as static, so its arrays must not have a time axis. Until the second step, readers
/// get a view of the first row.
void show_array(const Hdf5Handle& file, const std::string& name, bool with_time) {
  remove_if_there(file, shown_path(name));
  if (!with_time) return show_first_row(file, name);
  hdf5_check(H5Lcreate_hard(file.get(), values_path(name).c_str(), file.get(), shown_path(name).c_str(), H5P_DEFAULT,
                            H5P_DEFAULT),
             "linking the dataset " + name);
}

/// The datasets and rows to which a step refers, read from the file.
std::vector<VtkhdfArray> arrays_of_step(const Hdf5Handle& file, std::int64_t step) {
  std::vector<VtkhdfArray> arrays;
  for (const std::string& name : names_in(file, "/Series")) {
    const Hdf5Handle values = open_dataset(file, values_path(name));
    const Sizes sizes = sizes_of(values, name);
    const int components = sizes.size() > 4 ? static_cast<int>(sizes[4]) : 1;
    const std::int64_t row = number_of_step(file, offsets_path(name), step);
    arrays.push_back({name, type_of(values, name), components, "", row, false});
  }
  return arrays;
}

}  // namespace

void create_vtkhdf(const std::string& path, const Extent& extent, const std::array<double, 3>& origin,
                   const std::array<double, 3>& spacing, bool overwrite) {
  const Hdf5Handle access = access_alone();
  Hdf5Handle file(H5Fcreate(path.c_str(), overwrite ? H5F_ACC_TRUNC : H5F_ACC_EXCL, H5P_DEFAULT, access.get()),
                  H5Fclose, "making '" + path + "'", {{"file", path}});
  write_geometry(file, extent, origin, spacing);
  create_group(file, "/Series");
  create_group(file, "/VTKHDF/CellData");
  create_group(file, "/VTKHDF/Steps");
  write_step_count(file, 0);
  create_group(file, "/VTKHDF/Steps/CellDataOffsets");
  create_growing(file, "/VTKHDF/Steps/Values", H5T_NATIVE_DOUBLE, {1}, {steps_per_chunk});
  finish(file, path);
}

VtkhdfSteps go_on_with_vtkhdf(const std::string& path, const Extent& extent, double up_to,
                              std::vector<VtkhdfArray>& arrays) {
  Hdf5Handle file = open_alone(path);
  const Hdf5Handle root(H5Gopen2(file.get(), "/VTKHDF", H5P_DEFAULT), H5Gclose, "opening the group VTKHDF");
  const Hdf5Handle whole(H5Aopen(root.get(), "WholeExtent", H5P_DEFAULT), H5Aclose,
                         "opening the attribute WholeExtent");
  std::array<std::int64_t, 6> cells{};
  hdf5_check(H5Aread(whole.get(), H5T_NATIVE_INT64, cells.data()), "reading the attribute WholeExtent");
  require(cells == std::array<std::int64_t, 6>{0, extent[0], 0, extent[1], 0, extent[2]}, ErrorCode::mismatch,
          "it has another grid", {{"option", "grid"}, {"given", to_string(extent)}});
  const VtkhdfSteps kept = keep_steps(file, up_to);
  arrays.clear();
  if (kept.count > 0) arrays = arrays_of_step(file, kept.count - 1);
  for (const VtkhdfArray& array : arrays)
    if (kept.count == 1) show_array(file, array.name, false);
  finish(file, path);
  return kept;
}

void reserve_rows(const std::string& path, const Extent& extent, const std::vector<VtkhdfArray>& arrays) {
  std::int64_t bytes = std::int64_t{1} << 16;  // bytes of a VTKHDF file for groups, headers and times
  for (const VtkhdfArray& array : arrays)
    bytes += 8 * steps_per_chunk + 4096 + (array.fresh ? disk_bytes_of_row(extent, array) : 0);
  claim_disk(path, -1, bytes, "the next step of '" + path + "'");
  Hdf5Handle file = open_alone(path);
  for (const VtkhdfArray& array : arrays) {
    if (!array.fresh) continue;
    const std::string name = values_path(array.name);
    Sizes sizes = row_sizes(extent, array.components);
    if (array.row == 0) {
      remove_if_there(file, name);
      remove_if_there(file, offsets_path(array.name));
      const auto dataset = create_growing(file, name, hdf5_type(array.type), sizes, chunk_sizes(sizes, array.type));
      if (!array.unit.empty()) write_text_attribute(dataset, "unit", array.unit);
      create_growing(file, offsets_path(array.name), H5T_NATIVE_INT64, {1}, {steps_per_chunk});
    }
    sizes[0] = array.row + 1;
    hdf5_check(H5Dset_extent(open_dataset(file, name).get(), sizes.data()), "growing the dataset " + name);
  }
  finish(file, path);
}

void commit_step(const std::string& path, std::int64_t step, double time, const std::vector<VtkhdfArray>& arrays) {
  Hdf5Handle file = open_alone(path);
  write_one(file, "/VTKHDF/Steps/Values", H5T_NATIVE_DOUBLE, step, &time);
  for (const VtkhdfArray& array : arrays) write_one(file, offsets_path(array.name), H5T_NATIVE_INT64, step, &array.row);
  for (const VtkhdfArray& array : arrays)
    if (step < 2) show_array(file, array.name, step > 0);
  // The step count is written last, so that readers only see complete steps.
  hdf5_check(H5Fflush(file.get(), H5F_SCOPE_GLOBAL), "writing '" + path + "'");
  write_step_count(file, step + 1);
  finish(file, path);
}

std::string values_path(const std::string& name) { return "/Series/" + name; }

Hdf5Slab slab_of(const VtkhdfArray& array, const Box& box) {
  Hdf5Slab slab{{static_cast<hsize_t>(array.row), static_cast<hsize_t>(box.lo[2]), static_cast<hsize_t>(box.lo[1]),
                 static_cast<hsize_t>(box.lo[0])},
                row_sizes(box.extents(), array.components)};
  slab.start.resize(slab.count.size(), 0);
  return slab;
}

}  // namespace slipstream
