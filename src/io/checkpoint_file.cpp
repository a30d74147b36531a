#include "io/checkpoint_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <slipstream/error.hpp>

#include "io/checkpoint_seal.hpp"
#include "io/crc32c.hpp"
#include "io/pieces.hpp"

namespace slipstream {
namespace {

constexpr std::int64_t page = 4096;

std::string fields_path(const std::string& name) { return "/fields/" + name; }
std::string pieces_path(const std::string& name) { return "/pieces/" + name; }
std::string checksums_path(const std::string& name) { return "/checksums/" + name; }

std::int64_t values_of(const CheckpointArray& array, const CheckpointPiece& piece) {
  return piece.box.volume() * array.components;
}

std::int64_t bytes_of(const CheckpointArray& array) {
  return array.values * static_cast<std::int64_t>(size_of(array.type));
}

std::int64_t checksum_bytes(const CheckpointArray& array) {
  return static_cast<std::int64_t>(array.pieces.size() * sizeof(std::uint32_t));
}

/// Upper bound of the size of a checkpoint file with these arrays.
std::int64_t most_bytes(const CheckpointInfo& info, const std::vector<CheckpointArray>& arrays) {
  constexpr std::int64_t per_dataset = 4 * page;  // bytes for a dataset's alignment and headers
  std::int64_t bytes = seal_bytes + 16 * page + static_cast<std::int64_t>(info.case_text.size() + info.notes.size());
  for (const CheckpointArray& array : arrays)
    // A piece takes 56 bytes for its row in the table of pieces, and 4 for its checksum.
    bytes += bytes_of(array) + 15 * checksum_bytes(array) + 3 * per_dataset;
  return bytes;
}

void make_empty(const std::string& path) {
  const int file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
  require(file >= 0, ErrorCode::io, "making '" + path + "': " + std::strerror(errno), {{"file", path}});
  ::close(file);
}

/// Creates a dataset of fixed size and contiguous layout.
Hdf5Handle create_plain(const Hdf5Handle& file, const std::string& name, hid_t type, const Hdf5Sizes& sizes) {
  const Hdf5Handle space(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), H5Sclose,
                         "sizing the dataset " + name);
  const Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "making HDF5 properties");
  hdf5_check(H5Pset_layout(properties.get(), H5D_CONTIGUOUS), "laying out " + name);
  hdf5_check(H5Pset_alloc_time(properties.get(), H5D_ALLOC_TIME_EARLY), "allocating " + name);
  hdf5_check(H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER), "allocating " + name);
  // No creation times are stored, so that equal States give equal files.
  hdf5_check(H5Pset_obj_track_times(properties.get(), false), "making HDF5 properties");
  return {H5Dcreate2(file.get(), name.c_str(), type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT), H5Dclose,
          "making the dataset " + name};
}

std::int64_t place_of(const Hdf5Handle& dataset, const std::string& name) {
  const haddr_t at = H5Dget_offset(dataset.get());
  require(at != HADDR_UNDEF, ErrorCode::bad_file, "the dataset " + name + " has no place in its file");
  return static_cast<std::int64_t>(at);
}

void write_all(const Hdf5Handle& dataset, hid_t type, const void* values, const std::string& name) {
  hdf5_check(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "writing " + name);
}

void write_text(const Hdf5Handle& file, const std::string& name, const std::string& text) {
  const Hdf5Handle dataset = create_plain(file, name, H5T_NATIVE_UINT8, {text.size() + 1});
  write_all(dataset, H5T_NATIVE_UINT8, text.c_str(), name);
}

void create_array(const Hdf5Handle& file, CheckpointArray& array, const Extent& usual) {
  const std::string name = fields_path(array.name);
  const Hdf5Handle values = create_plain(file, name, hdf5_type(array.type), {static_cast<hsize_t>(array.values)});
  const std::int64_t components = array.components;
  write_attribute(values, "components", H5T_NATIVE_INT64, {1}, &components);
  if (array.extent != usual) write_attribute(values, "extent", H5T_NATIVE_INT64, {3}, array.extent.data());
  array.values_at = place_of(values, name);

  std::vector<std::array<std::int64_t, 7>> rows;
  for (const CheckpointPiece& piece : array.pieces) rows.push_back(piece.row());
  const Hdf5Handle pieces = create_plain(file, pieces_path(array.name), H5T_NATIVE_INT64, {rows.size(), 7});
  write_all(pieces, H5T_NATIVE_INT64, rows.data(), pieces_path(array.name));
  const Hdf5Handle sums = create_plain(file, checksums_path(array.name), H5T_NATIVE_UINT32, {rows.size()});
  array.checksums_at = place_of(sums, checksums_path(array.name));
}

Hdf5Handle create_file(const std::string& path) {
  const Hdf5Handle access = access_alone();
  hdf5_check(H5Pset_alignment(access.get(), page, page), "aligning '" + path + "'");
  const Hdf5Handle properties(H5Pcreate(H5P_FILE_CREATE), H5Pclose, "making HDF5 properties");
  hdf5_check(H5Pset_userblock(properties.get(), seal_bytes), "making '" + path + "'");
  return {H5Fcreate(path.c_str(), H5F_ACC_TRUNC, properties.get(), access.get()),
          H5Fclose,
          "making '" + path + "'",
          {{"file", path}}};
}

Hdf5Handle open_attribute(const Hdf5Handle& object, const char* name) {
  return {H5Aopen(object.get(), name, H5P_DEFAULT), H5Aclose, std::string("opening the attribute ") + name};
}

template <class T>
void read_attribute(const Hdf5Handle& object, const char* name, hid_t type, T* values, hssize_t count) {
  const Hdf5Handle attribute = open_attribute(object, name);
  const Hdf5Handle space(H5Aget_space(attribute.get()), H5Sclose, name);
  require(H5Sget_simple_extent_npoints(space.get()) == count, ErrorCode::bad_file,
          std::string("the attribute ") + name + " has another size than it should");
  hdf5_check(H5Aread(attribute.get(), type, values), std::string("reading the attribute ") + name);
}

std::string read_text_attribute(const Hdf5Handle& object, const char* name) {
  const Hdf5Handle attribute = open_attribute(object, name);
  const Hdf5Handle type(H5Aget_type(attribute.get()), H5Tclose, name);
  require(H5Tget_class(type.get()) == H5T_STRING && H5Tis_variable_str(type.get()) == 0, ErrorCode::bad_file,
          std::string("the attribute ") + name + " is no text");
  std::string text(H5Tget_size(type.get()), '\0');
  hdf5_check(H5Aread(attribute.get(), type.get(), text.data()), std::string("reading the attribute ") + name);
  return text;
}

void check_piece(const CheckpointArray& array, const CheckpointPiece& piece, const Box& grid) {
  require(!piece.box.empty() && intersection(piece.box, grid) == piece.box && piece.first >= 0 &&
              piece.first <= array.values - values_of(array, piece),
          ErrorCode::bad_file, "a piece of it leaves the grid or the dataset");
}

}  // namespace

CheckpointArray cut_field(const std::string& name, const Field& field, std::int64_t piece_bytes) {
  CheckpointArray array{name, field.options().type, field.options().components, field.grid().extent(), {}};
  const std::int64_t per_page = page / static_cast<std::int64_t>(size_of(array.type));
  for (const Block& block : field.grid().blocks())
    for (const Box& box : cut_into_pieces(block.box, array.bytes_per_cell(), piece_bytes)) {
      array.pieces.push_back({box, (array.values + per_page - 1) / per_page * per_page, block.rank});
      array.values = array.pieces.back().first + values_of(array, array.pieces.back());
    }
  return array;
}

std::uint32_t checksum(const CheckpointPiece& piece, const void* values, std::size_t bytes) {
  const auto row = piece.row();
  return crc32c(crc32c(0, row.data(), sizeof row), values, bytes);
}

void create_checkpoint(const CheckpointInfo& info, std::vector<CheckpointArray>& arrays) {
  const std::int64_t bytes = most_bytes(info, arrays);
  const std::string what = "the checkpoint '" + info.path + "'";
  // HDF5 crashes at the end of the program after a failed write. So disk space is reserved before HDF5 writes.
  make_empty(info.path);
  claim_disk(info.path, 0, bytes, what);
  Hdf5Handle file = create_file(info.path);
  claim_disk(info.path, 0, bytes, what);
  {
    const Hdf5Handle root(H5Gopen2(file.get(), "/", H5P_DEFAULT), H5Gclose, "opening the root");
    write_attribute(root, "step", H5T_NATIVE_INT64, {1}, &info.step);
    write_attribute(root, "time", H5T_NATIVE_DOUBLE, {1}, &info.time);
    write_attribute(root, "extent", H5T_NATIVE_INT64, {3}, info.extent.data());
    write_text_attribute(root, "written_by", info.written_by);
  }
  write_text(file, "/case", info.case_text);
  write_text(file, "/notes", info.notes);
  for (const char* group : {"/fields", "/pieces", "/checksums"}) create_group(file, group);
  std::vector<ByteRange> values;
  for (CheckpointArray& array : arrays) {
    create_array(file, array, info.extent);
    values.emplace_back(array.values_at, array.values_at + bytes_of(array));
    values.emplace_back(array.checksums_at, array.checksums_at + checksum_bytes(array));
  }
  finish(file, info.path);
  const auto in_all = static_cast<std::int64_t>(std::filesystem::file_size(info.path));
  claim_disk(info.path, 0, in_all, what);
  seal_checkpoint(info.path, info.written_by, values);
}

CheckpointReader::CheckpointReader(const std::string& path) {
  info_.path = path;
  std::error_code ignored;
  require(std::filesystem::is_regular_file(path, ignored), ErrorCode::not_found,
          "there is no checkpoint '" + path + "'", {{"file", path}});
  try {
    check_seal(path);
    file_ = open_to_read(path);
    const Hdf5Handle root(H5Gopen2(file_.get(), "/", H5P_DEFAULT), H5Gclose, "opening the root");
    info_.written_by = read_text_attribute(root, "written_by");
    read_attribute(root, "step", H5T_NATIVE_INT64, &info_.step, 1);
    read_attribute(root, "time", H5T_NATIVE_DOUBLE, &info_.time, 1);
    read_attribute(root, "extent", H5T_NATIVE_INT64, info_.extent.data(), 3);
    info_.fields = names_in(file_, "/fields");
  } catch (const Error& error) {
    throw Error(error.code(), "the checkpoint '" + path + "' cannot be used: " + error.what(),
                joined(error.facts(), {{"file", path}}));
  }
  info_.case_text = text("/case");
  info_.notes = text("/notes");
}

void CheckpointReader::damaged(const std::string& dataset, const Error& error) const {
  throw Error(ErrorCode::bad_file,
              "the checkpoint '" + info_.path + "' is damaged in the dataset " + dataset + ": " + error.what() +
                  "; restart from another one",
              joined(error.facts(), {{"file", info_.path}, {"dataset", dataset}}));
}

std::string CheckpointReader::text(const std::string& name) const {
  try {
    const Hdf5Handle dataset = open_dataset(file_, name);
    const Hdf5Sizes sizes = sizes_of(dataset, name);
    require(sizes.size() == 1 && sizes[0] >= 1, ErrorCode::bad_file, "it is no text");
    std::string text(sizes[0], '\0');
    hdf5_check(H5Dread(dataset.get(), H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()), "reading it");
    text.pop_back();
    return text;
  } catch (const Error& error) {
    damaged(name, error);
  }
}

Extent CheckpointReader::extent(const std::string& name) const {
  const std::string at = fields_path(name);
  try {
    const Hdf5Handle values = open_dataset(file_, at);
    const htri_t own = H5Aexists(values.get(), "extent");
    require(own >= 0, ErrorCode::io, "looking for its extent");
    Extent extent = info_.extent;
    if (own > 0) read_attribute(values, "extent", H5T_NATIVE_INT64, extent.data(), 3);
    return extent;
  } catch (const Error& error) {
    damaged(at, error);
  }
}

CheckpointArray CheckpointReader::array(const std::string& name) const {
  CheckpointArray array;
  array.name = name;
  array.extent = extent(name);
  std::string at = fields_path(name);
  try {
    const Hdf5Handle values = open_dataset(file_, at);
    const Hdf5Sizes sizes = sizes_of(values, at);
    std::int64_t components = 0;
    read_attribute(values, "components", H5T_NATIVE_INT64, &components, 1);
    require(sizes.size() == 1 && components >= 1 && components <= std::numeric_limits<int>::max(), ErrorCode::bad_file,
            "it does not have the shape of a field");
    array.type = type_of(values, at);
    array.components = static_cast<int>(components);
    array.values = static_cast<std::int64_t>(sizes[0]);
    at = pieces_path(name);
    const Hdf5Handle pieces = open_dataset(file_, at);
    const Hdf5Sizes shape = sizes_of(pieces, at);
    require(shape.size() == 2 && shape[1] == 7, ErrorCode::bad_file, "it does not have the shape of a list of pieces");
    std::vector<std::array<std::int64_t, 7>> rows(shape[0]);
    hdf5_check(H5Dread(pieces.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()), "reading it");
    std::int64_t cells = 0;
    for (const auto& r : rows) {
      array.pieces.push_back({{{r[0], r[1], r[2]}, {r[3], r[4], r[5]}}, r[6]});
      check_piece(array, array.pieces.back(), {{0, 0, 0}, array.extent});
      cells += array.pieces.back().box.volume();
    }
    require(cells <= volume(array.extent), ErrorCode::bad_file, "its pieces overlap", {{"problem", "overlap"}});
  } catch (const Error& error) {
    damaged(at, error);
  }
  return array;
}

std::vector<std::byte> CheckpointReader::values(const CheckpointArray& array, std::size_t number) const {
  const CheckpointPiece& piece = array.pieces[number];
  std::vector<std::byte> values(piece.box.volume() * array.bytes_per_cell());
  const auto read = [&](const std::string& name, hid_t type, hsize_t first, hsize_t count, void* to) {
    const Hdf5Handle dataset = open_dataset(file_, name);
    const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose, "reading its size");
    hdf5_check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &first, nullptr, &count, nullptr), "selecting in it");
    const Hdf5Handle memory(H5Screate_simple(1, &count, nullptr), H5Sclose, "sizing a piece");
    hdf5_check(H5Dread(dataset.get(), type, memory.get(), space.get(), H5P_DEFAULT, to), "reading it");
  };
  try {
    std::uint32_t sum = 0;
    read(checksums_path(array.name), H5T_NATIVE_UINT32, number, 1, &sum);
    read(fields_path(array.name), hdf5_type(array.type), piece.first, values_of(array, piece), values.data());
    require(checksum(piece, values.data(), values.size()) == sum, ErrorCode::bad_file,
            "piece " + std::to_string(number) + " does not match its checksum",
            {{"problem", "checksum"}, {"piece", number}});
  } catch (const Error& error) {
    damaged(fields_path(array.name), error);
  }
  return values;
}

}  // namespace slipstream
