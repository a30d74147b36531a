#include "io/hdf5/hdf5_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <slipstream/error.hpp>

namespace slipstream {

namespace {

/// HDF5 has no predefined half precision, so the type is made: 10 bits of significand, 5 of exponent, then the sign.
hid_t half_type() {
  static const hid_t type = [] {
    const hid_t half = H5Tcopy(H5T_IEEE_F32LE);
    hdf5_check(H5Tset_fields(half, 15, 10, 5, 0, 10), "making the type of f16");
    hdf5_check(H5Tset_ebias(half, 15), "making the type of f16");
    hdf5_check(H5Tset_size(half, 2), "making the type of f16");
    return half;
  }();
  return type;
}

/// HDF5 type of a complex number as in h5py: a compound with members r and i.
hid_t complex_type(hid_t part) {
  const std::size_t size = H5Tget_size(part);
  const hid_t pair = H5Tcreate(H5T_COMPOUND, 2 * size);
  hdf5_check(H5Tinsert(pair, "r", 0, part), "making a type of complex numbers");
  hdf5_check(H5Tinsert(pair, "i", size, part), "making a type of complex numbers");
  return pair;
}

}  // namespace

hid_t hdf5_type(DType type) {
  switch (type) {
    case DType::f16:
      return half_type();
    case DType::u8:
      return H5T_NATIVE_UINT8;
    case DType::i32:
      return H5T_NATIVE_INT32;
    case DType::i64:
      return H5T_NATIVE_INT64;
    case DType::f32:
      return H5T_NATIVE_FLOAT;
    case DType::f64:
      return H5T_NATIVE_DOUBLE;
    case DType::c64: {
      static const hid_t pair = complex_type(H5T_NATIVE_FLOAT);
      return pair;
    }
    case DType::c128: {
      static const hid_t pair = complex_type(H5T_NATIVE_DOUBLE);
      return pair;
    }
  }
  throw Error(ErrorCode::unsupported, "a field has a number type that HDF5 files do not hold");
}

Hdf5Handle access_alone() {
  Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "making HDF5 properties");
  hdf5_check(H5Pset_file_locking(access.get(), false, true), "switching file locks off");
  // Without a chunk cache, a failed write is reported by the write call, not by a later close.
  hdf5_check(H5Pset_cache(access.get(), 0, 0, 0, 0), "switching the chunk cache off");
  return access;
}

Hdf5Handle open_alone(const std::string& path) {
  const Hdf5Handle access = access_alone();
  return {H5Fopen(path.c_str(), H5F_ACC_RDWR, access.get()), H5Fclose, "opening '" + path + "'", {{"file", path}}};
}

Hdf5Handle open_to_read(const std::string& path) {
  const Hdf5Handle access = access_alone();
  return {H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose, "opening '" + path + "'", {{"file", path}}};
}

void finish(Hdf5Handle& file, const std::string& path) {
  hdf5_check(H5Fflush(file.get(), H5F_SCOPE_GLOBAL), "writing '" + path + "'");
  file.close("closing '" + path + "'");
}

Hdf5Handle create_group(const Hdf5Handle& file, const std::string& name) {
  return {H5Gcreate2(file.get(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose,
          "making the group " + name};
}

Hdf5Handle open_dataset(const Hdf5Handle& file, const std::string& name) {
  return {H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT), H5Dclose, "opening the dataset " + name};
}

void write_attribute(const Hdf5Handle& object, const char* name, hid_t type, const Hdf5Sizes& sizes,
                     const void* values) {
  const Hdf5Handle space(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), H5Sclose, name);
  const Hdf5Handle attribute(H5Acreate2(object.get(), name, type, space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                             std::string("making the attribute ") + name);
  hdf5_check(H5Awrite(attribute.get(), type, values), std::string("writing the attribute ") + name);
}

void write_text_attribute(const Hdf5Handle& object, const char* name, const std::string& value) {
  const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "making a string type");
  hdf5_check(H5Tset_size(type.get(), value.size()), "making a string type");
  hdf5_check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), "making a string type");
  const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose, "making a scalar");
  const Hdf5Handle attribute(H5Acreate2(object.get(), name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
                             H5Aclose, std::string("making the attribute ") + name);
  hdf5_check(H5Awrite(attribute.get(), type.get(), value.data()), std::string("writing the attribute ") + name);
}

namespace {
/// Amount of disk space as text, in a unit that suits small disks, too.
std::string amount(std::int64_t bytes) {
  return bytes < std::int64_t{10} << 20 ? std::to_string(bytes >> 10) + " KiB" : std::to_string(bytes >> 20) + " MiB";
}
}  // namespace

void claim_disk(const std::string& path, std::int64_t first, std::int64_t bytes, const std::string& what) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) throw Error(ErrorCode::io, "opening '" + path + "': " + std::strerror(errno), {{"file", path}});
  struct stat status {};
  ::fstat(file, &status);
  int failure = ::fallocate(file, 0, first < 0 ? status.st_size : first, bytes) == 0 ? 0 : errno;
  if (failure == EOPNOTSUPP || failure == ENOSYS) failure = 0;
  if (failure && ::ftruncate(file, status.st_size) != 0) failure = errno;
  ::close(file);
  if (!failure) return;
  std::error_code ignored;
  const auto space = std::filesystem::space(path, ignored);
  const auto available = ignored ? 0 : static_cast<std::int64_t>(space.available);
  throw Error(ErrorCode::io,
              what + " needs " + amount(bytes) + ", the disk has " + amount(available) + " (" + std::strerror(failure) +
                  "); free some space, write to another disk, or write less often",
              {{"file", path}, {"needed", bytes}, {"available", available}});
}

Hdf5Sizes sizes_of(const Hdf5Handle& dataset, const std::string& name) {
  const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose, "reading the size of " + name);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  require(rank >= 0, ErrorCode::io, "reading the size of " + name);
  Hdf5Sizes sizes(rank);
  hdf5_check(H5Sget_simple_extent_dims(space.get(), sizes.data(), nullptr), "reading the size of " + name);
  return sizes;
}

DType type_of(const Hdf5Handle& dataset, const std::string& name) {
  const Hdf5Handle type(H5Dget_type(dataset.get()), H5Tclose, "reading the type of " + name);
  for (const DType known :
       {DType::u8, DType::i32, DType::i64, DType::f16, DType::f32, DType::f64, DType::c64, DType::c128})
    if (H5Tequal(type.get(), hdf5_type(known)) > 0) return known;
  throw Error(ErrorCode::bad_file, "its values are of no type that fields have here");
}

std::vector<std::string> names_in(const Hdf5Handle& file, const char* group_name) {
  const Hdf5Handle group(H5Gopen2(file.get(), group_name, H5P_DEFAULT), H5Gclose, "opening the group of fields");
  H5G_info_t info;
  hdf5_check(H5Gget_info(group.get(), &info), "listing the fields");
  std::vector<std::string> names;
  for (hsize_t n = 0; n < info.nlinks; ++n) {
    const auto call = [&](char* to, std::size_t bytes) {
      return H5Lget_name_by_idx(group.get(), ".", H5_INDEX_NAME, H5_ITER_INC, n, to, bytes, H5P_DEFAULT);
    };
    const ssize_t length = call(nullptr, 0);
    require(length > 0, ErrorCode::io, "listing the fields: " + hdf5_reason());
    std::string name(length + 1, '\0');
    call(name.data(), name.size());
    name.pop_back();
    names.push_back(name);
  }
  return names;
}

void write_slab(const Hdf5Handle& dataset, const std::string& name, hid_t type, const std::optional<Hdf5Slab>& slab,
                const void* values, hid_t transfer) {
  const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose, "reading the size of " + name);
  const Hdf5Sizes count = slab ? slab->count : Hdf5Sizes{1};
  const Hdf5Handle memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), H5Sclose,
                          "sizing a piece of " + name);
  if (slab) {
    hdf5_check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, slab->start.data(), nullptr, count.data(), nullptr),
               "selecting a piece of " + name);
  } else {
    hdf5_check(H5Sselect_none(space.get()), "selecting nothing of " + name);
    hdf5_check(H5Sselect_none(memory.get()), "selecting nothing of " + name);
  }
  hdf5_check(H5Dwrite(dataset.get(), type, memory.get(), space.get(), transfer, values), "writing " + name);
}

}  // namespace slipstream
