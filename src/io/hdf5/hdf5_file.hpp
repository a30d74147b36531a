#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <slipstream/field.hpp>

#include "io/hdf5/hdf5_handle.hpp"

namespace slipstream {

/// What files of fields share, whatever their layout. All of it is work of one process alone; files are opened without
/// locks, because a viewer that holds one open must not stop a run.

using Hdf5Sizes = std::vector<hsize_t>;

hid_t hdf5_type(DType type);

/// How one process opens or makes a file.
Hdf5Handle access_alone();
/// Opens a file for writing by this rank alone.
Hdf5Handle open_alone(const std::string& path);
/// Opens a file for reading, by any number of ranks, each for itself.
Hdf5Handle open_to_read(const std::string& path);
/// Flushes and closes, which both can fail.
void finish(Hdf5Handle& file, const std::string& path);

/// A part of a dataset, by its axes.
struct Hdf5Slab {
  Hdf5Sizes start, count;
};
/// Writes a part of a dataset. Without a slab it takes part in a collective transfer with nothing to write.
void write_slab(const Hdf5Handle& dataset, const std::string& name, hid_t type, const std::optional<Hdf5Slab>& slab,
                const void* values, hid_t transfer = H5P_DEFAULT);

Hdf5Handle create_group(const Hdf5Handle& file, const std::string& name);
Hdf5Handle open_dataset(const Hdf5Handle& file, const std::string& name);
/// `name` is for messages.
Hdf5Sizes sizes_of(const Hdf5Handle& dataset, const std::string& name);
DType type_of(const Hdf5Handle& dataset, const std::string& name);
/// Names of what a group holds, in their order.
std::vector<std::string> names_in(const Hdf5Handle& file, const char* group_name);
void write_attribute(const Hdf5Handle& object, const char* name, hid_t type, const Hdf5Sizes& sizes,
                     const void* values);
/// Of fixed length and ASCII: VTK reads no other kind.
void write_text_attribute(const Hdf5Handle& object, const char* name, const std::string& value);

/// Claims `bytes` of the disk from byte `first` of a file on, or where `first` is negative behind its end, while
/// nothing of `what` is in it: throws, with the file as long as it was, where the disk is too full. HDF5 cuts off what
/// it does not use. File systems that cannot do this show a full disk only when values are written.
void claim_disk(const std::string& path, std::int64_t first, std::int64_t bytes, const std::string& what);

}  // namespace slipstream
