#include "io/write_values.hpp"

#include <algorithm>
#include <slipstream/error.hpp>

#include "io/hdf5/hdf5_file.hpp"
#include "io/hdf5/hdf5_parallel.hpp"
#include "io/pieces.hpp"
#include "machine/agree.hpp"

namespace slipstream {
namespace {

using Bytes = std::vector<std::byte>;

std::int64_t bytes_per_cell(const ValueSource& source) {
  return source.values_per_cell * static_cast<std::int64_t>(size_of(source.type));
}

template <class T>
void multiply(void* values, std::int64_t count, double factor) {
  T* const each = static_cast<T*>(values);
  for (std::int64_t i = 0; i < count; ++i) each[i] = static_cast<T>(each[i] * factor);
}

Bytes copy_out(const ValueSource& source, const Box& box) {
  Bytes values(box.volume() * bytes_per_cell(source));
  if (!values.empty()) source.fill(box, values.data());
  return values;
}

void write_piece(const Hdf5Handle& array, const ValueSource& source, const Box& box, const Bytes& values,
                 hid_t transfer = H5P_DEFAULT) {
  std::optional<Hdf5Slab> slab;
  if (!values.empty()) slab = source.slab(box);
  write_slab(array, source.dataset, hdf5_type(source.type), slab, values.data(), transfer);
}

/// Splits the boxes of a dataset into pieces, listed by the rank that owns them.
std::vector<std::vector<Box>> pieces_by_rank(const ValueSource& source, int ranks, std::int64_t piece_bytes) {
  std::vector<std::vector<Box>> pieces(ranks);
  for (const auto& [rank, part] : source.parts)
    for (const Box& box : cut_into_pieces(part, bytes_per_cell(source), piece_bytes)) pieces[rank].push_back(box);
  return pieces;
}

std::vector<Hdf5Handle> open_arrays(const Hdf5Handle& file, const std::vector<ValueSource>& sources) {
  std::vector<Hdf5Handle> arrays;
  for (const ValueSource& source : sources) arrays.push_back(open_dataset(file, source.dataset));
  return arrays;
}

void close_values(Hdf5Handle& file, std::vector<Hdf5Handle>& arrays, const std::string& path) {
  arrays.clear();
  hdf5_check(H5Fflush(file.get(), H5F_SCOPE_GLOBAL), "writing '" + path + "'");
  file.close("closing '" + path + "'");
}

constexpr int values_tag = 1;

void send_piece(const Communicator& comm, const Bytes& values) {
  MPI_Send(values.data(), static_cast<int>(values.size()), MPI_BYTE, 0, values_tag, comm.mpi());
}

Bytes receive_piece(const Communicator& comm, int from, std::int64_t bytes) {
  Bytes values(bytes);
  MPI_Status status;
  MPI_Recv(values.data(), static_cast<int>(bytes), MPI_BYTE, from, values_tag, comm.mpi(), &status);
  int received = 0;
  MPI_Get_count(&status, MPI_BYTE, &received);
  require(received == bytes, ErrorCode::unavailable, "rank " + std::to_string(from) + " could not copy its values out");
  return values;
}

}  // namespace

ValueSource source_of(const Field& field, double scale, std::function<void(const Box&, void*)> derived) {
  const DType type = field.options().type;
  const int components = field.options().components;
  ValueSource source{{}, type, components, {}, {}, {}};
  for (const Block& block : field.grid().blocks()) source.parts.emplace_back(block.rank, block.box);
  source.fill = [&field, type, components, scale, derived = std::move(derived)](const Box& box, void* values) {
    field.read(box, values);
    if (derived) derived(box, values);
    const std::int64_t count = box.volume() * components;
    if (scale != 1 && type == DType::f32) multiply<float>(values, count, scale);
    if (scale != 1 && type == DType::f64) multiply<double>(values, count, scale);
  };
  return source;
}

void write_values_in_parallel(const Communicator& comm, const std::string& path,
                              const std::vector<ValueSource>& sources, std::int64_t piece_bytes) {
  Hdf5Handle file, transfer;
  std::vector<Hdf5Handle> arrays;
  on_all_ranks(comm, [&] {
    file = open_on_all_ranks(path, comm.mpi());
    transfer = collective_transfer();
    arrays = open_arrays(file, sources);
  });
  Problem failure;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto pieces = pieces_by_rank(sources[i], comm.size(), piece_bytes);
    const std::vector<Box>& mine = pieces[comm.rank()];
    std::size_t rounds = 0;
    for (const auto& of_rank : pieces) rounds = std::max(rounds, of_rank.size());
    for (std::size_t round = 0; round < rounds; ++round) {
      const Box box = round < mine.size() && !failure ? mine[round] : Box{};
      Bytes values;
      attempt(failure, [&] { values = copy_out(sources[i], box); });
      // Each rank joins each collective write, even after a failure, because the others wait for it.
      attempt(failure, [&] { write_piece(arrays[i], sources[i], box, values, transfer.get()); });
    }
  }
  attempt(failure, [&] { close_values(file, arrays, path); });
  agree(comm, failure);
}

void write_values_by_collecting(const Communicator& comm, const std::string& path,
                                const std::vector<ValueSource>& sources, std::int64_t piece_bytes) {
  Hdf5Handle file;
  std::vector<Hdf5Handle> arrays;
  on_rank_zero(comm, [&] {
    file = open_alone(path);
    arrays = open_arrays(file, sources);
  });
  const bool root = comm.rank() == 0;
  Problem failure;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto pieces = pieces_by_rank(sources[i], comm.size(), piece_bytes);
    for (int owner = 0; owner < comm.size(); ++owner) {
      if (!root && owner != comm.rank()) continue;
      for (const Box& box : pieces[owner]) {
        Bytes values;
        attempt(failure, [&] {
          values = root && owner != 0 ? receive_piece(comm, owner, box.volume() * bytes_per_cell(sources[i]))
                                      : copy_out(sources[i], box);
        });
        // After a failed copy an empty message is sent, because rank 0 waits for it.
        if (!root)
          send_piece(comm, values);
        else if (!failure)
          attempt(failure, [&] { write_piece(arrays[i], sources[i], box, values); });
      }
    }
  }
  if (root) attempt(failure, [&] { close_values(file, arrays, path); });
  agree(comm, failure);
}

}  // namespace slipstream
