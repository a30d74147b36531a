#pragma once
#include <hdf5.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <slipstream/field.hpp>

namespace slipstream::testing_support {

/// A dataset read by HDF5 alone, as doubles.
struct ReadBack {
  std::vector<hsize_t> sizes;
  std::vector<double> values;
  H5T_class_t kind = H5T_NO_CLASS;
  std::size_t bytes_each = 0;
};

inline ReadBack read_dataset(const std::string& path, const std::string& name) {
  ReadBack result;
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(file, name.c_str(), H5P_DEFAULT);
  const hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset);
  result.sizes.resize(std::max(0, H5Sget_simple_extent_ndims(space)));
  H5Sget_simple_extent_dims(space, result.sizes.data(), nullptr);
  result.values.resize(H5Sget_simple_extent_npoints(space));
  H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, result.values.data());
  result.kind = H5Tget_class(type);
  result.bytes_each = H5Tget_size(type);
  H5Tclose(type);
  H5Sclose(space);
  H5Dclose(dataset);
  H5Fclose(file);
  return result;
}

/// A numeric attribute as doubles, or the bytes of a string attribute.
inline std::vector<double> read_attribute(const std::string& path, const std::string& object, const char* name) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t attribute = H5Aopen_by_name(file, object.c_str(), name, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Aget_space(attribute);
  std::vector<double> values(H5Sget_simple_extent_npoints(space));
  H5Aread(attribute, H5T_NATIVE_DOUBLE, values.data());
  H5Sclose(space);
  H5Aclose(attribute);
  H5Fclose(file);
  return values;
}

/// A value that u8, f32 and f64 represent exactly, different in neighbouring cells, components and steps.
inline int formula(std::int64_t x, std::int64_t y, std::int64_t z, int component, int step) {
  return static_cast<int>((x * 7 + y * 13 + z * 29 + component * 31 + step * 17) % 251);
}

template <class T>
void fill_as(Field& field, int step) {
  const Extent n = field.grid().extent();
  const int components = field.options().components;
  std::vector<T> values;
  values.reserve(volume(n) * components);
  for (std::int64_t z = 0; z < n[2]; ++z)
    for (std::int64_t y = 0; y < n[1]; ++y)
      for (std::int64_t x = 0; x < n[0]; ++x)
        for (int c = 0; c < components; ++c) values.push_back(static_cast<T>(formula(x, y, z, c, step)));
  field.write(field.grid().box(), values.data());
}

inline void fill(Field& field, int step) {
  switch (field.options().type) {
    case DType::u8:
      return fill_as<std::uint8_t>(field, step);
    case DType::i32:
      return fill_as<std::int32_t>(field, step);
    case DType::i64:
      return fill_as<std::int64_t>(field, step);
    case DType::f32:
      return fill_as<float>(field, step);
    case DType::f64:
      return fill_as<double>(field, step);
    default:
      throw Error(ErrorCode::unsupported, "nothing is filled with " + to_string(field.options().type) + " here");
  }
}

/// Expected contents of a dataset of `rows` steps.
inline std::vector<double> expected(const Extent& n, int components, const std::vector<int>& steps, double scale = 1) {
  std::vector<double> values;
  for (const int step : steps)
    for (std::int64_t z = 0; z < n[2]; ++z)
      for (std::int64_t y = 0; y < n[1]; ++y)
        for (std::int64_t x = 0; x < n[0]; ++x)
          for (int c = 0; c < components; ++c) values.push_back(scale * formula(x, y, z, c, step));
  return values;
}

inline std::string make_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "slipstream-XXXXXX").string();
  return ::mkdtemp(name.data());
}

}  // namespace slipstream::testing_support
