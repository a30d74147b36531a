#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <slipstream/field.hpp>

#include "io/hdf5/hdf5_handle.hpp"

namespace slipstream {

/// HDF5 functions common to all file layouts. They run in a single process. Files are opened without locks, so that a
/// viewer with an open file does not stop a run.

using Hdf5Sizes = std::vector<hsize_t>;

hid_t hdf5_type(DType type);

/// Properties of HDF5 to open a file by a single process.
Hdf5Handle access_alone();
/// Opens a file for writing by this rank only.
Hdf5Handle open_alone(const std::string& path);
/// Opens a file for reading; any number of ranks may do so independently.
Hdf5Handle open_to_read(const std::string& path);
/// Flushes and closes a file; both steps may throw.
void finish(Hdf5Handle& file, const std::string& path);

/// A hyperslab of a dataset: its offset and count along each axis.
struct Hdf5Slab {
  Hdf5Sizes start, count;
};
/// Writes a hyperslab of a dataset. Without one, the rank joins a collective transfer with no data.
void write_slab(const Hdf5Handle& dataset, const std::string& name, hid_t type, const std::optional<Hdf5Slab>& slab,
                const void* values, hid_t transfer = H5P_DEFAULT);

Hdf5Handle create_group(const Hdf5Handle& file, const std::string& name);
Hdf5Handle open_dataset(const Hdf5Handle& file, const std::string& name);
/// Extents of a dataset along its axes; `name` is for error messages.
Hdf5Sizes sizes_of(const Hdf5Handle& dataset, const std::string& name);
DType type_of(const Hdf5Handle& dataset, const std::string& name);
/// Names of the members of a group, in HDF5's order.
std::vector<std::string> names_in(const Hdf5Handle& file, const char* group_name);
void write_attribute(const Hdf5Handle& object, const char* name, hid_t type, const Hdf5Sizes& sizes,
                     const void* values);
/// Writes a text attribute as fixed-length ASCII, the only kind that VTK reads.
void write_text_attribute(const Hdf5Handle& object, const char* name, const std::string& value);

/// Reserves `bytes` of disk space for a file from byte `first` on; a negative `first` means the end of the file. Throws
/// if the disk is too full, and leaves the file's size unchanged. `what` names the contents. HDF5 truncates what it
/// does not use. On file systems without this feature, a full disk shows only when values are written.
void claim_disk(const std::string& path, std::int64_t first, std::int64_t bytes, const std::string& what);

}  // namespace slipstream
