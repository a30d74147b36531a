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
  return source.array.components * static_cast<std::int64_t>(size_of(source.array.type));
}

template <class T>
void multiply(Bytes& bytes, double factor) {
  T* const values = reinterpret_cast<T*>(bytes.data());
  const std::size_t count = bytes.size() / sizeof(T);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(values[i] * factor);
}

/// A piece of a field in the order of the file and in physical units.
Bytes copy_out(const ValueSource& source, const Box& box) {
  Bytes values(box.volume() * bytes_per_cell(source));
  source.field->read(box, values.data());
  if (source.derive && !box.empty()) source.derive(box, values.data());
  if (source.scale != 1 && source.array.type == DType::f32) multiply<float>(values, source.scale);
  if (source.scale != 1 && source.array.type == DType::f64) multiply<double>(values, source.scale);
  return values;
}

/// The pieces of all blocks of every rank.
std::vector<std::vector<Box>> pieces_by_rank(const ValueSource& source, int ranks, std::int64_t piece_bytes) {
  std::vector<std::vector<Box>> pieces(ranks);
  for (const Block& block : source.field->grid().blocks())
    for (const Box& box : cut_into_pieces(block.box, bytes_per_cell(source), piece_bytes))
      pieces[block.rank].push_back(box);
  return pieces;
}

std::vector<Hdf5Handle> open_arrays(const Hdf5Handle& file, const std::vector<ValueSource>& sources) {
  std::vector<Hdf5Handle> arrays;
  for (const ValueSource& source : sources) arrays.push_back(open_array(file, source.array));
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
      Box box = round < mine.size() && !failure ? mine[round] : Box{};
      Bytes values;
      attempt(failure, [&] { values = copy_out(sources[i], box); });
      if (values.empty()) box = Box{};
      // Every rank writes in every round, failed or not: the others wait for it.
      attempt(failure, [&] { write_box(arrays[i], sources[i].array, box, values.data(), transfer.get()); });
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
        // A piece that could not be copied out is sent without values, since rank 0 waits for it.
        if (!root)
          send_piece(comm, values);
        else if (!failure)
          attempt(failure, [&] { write_box(arrays[i], sources[i].array, box, values.data()); });
      }
    }
  }
  if (root) attempt(failure, [&] { close_values(file, arrays, path); });
  agree(comm, failure);
}

}  // namespace slipstream
