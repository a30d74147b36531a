#pragma once
#include <mpi.h>

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/field.hpp>
#include <slipstream/stream.hpp>

#include "io/checkpoint_file.hpp"

namespace slipstream {

/// Pieces of fields that wait on their devices, from where MPI's files take them; their checksums are computed there.
/// For an MPI that takes device memory. All calls are of the thread that MPI knows, none is collective.
class MpiPieces {
 public:
  MpiPieces() = default;
  MpiPieces(const MpiPieces&) = delete;
  MpiPieces& operator=(const MpiPieces&) = delete;
  /// Waits for what is being written.
  ~MpiPieces();

  /// The file of the pieces that follow; made already. Throws where MPI cannot open it.
  void open(const std::string& path);
  /// Takes a piece of a local block, whose values must not be interleaved. False where the device has no memory for it.
  bool add(const Field& field, std::int64_t block, const CheckpointArray& array, std::size_t number);
  /// Waits until all pieces have left their fields, and begins to write them.
  void start();
  /// True once all is written, or cannot be; the file is then closed, but not forced to the disk. Blocks never.
  bool done();
  void wait();
  /// Why not all is written; empty where it is. When done().
  const std::string& failure() const { return failure_; }

 private:
  struct Slot {
    Buffer<std::byte> values;
    Buffer<std::uint32_t> remainders, fetched;  // on the device, pinned
    bool free = true;
  };
  struct Piece {
    Slot* slot;
    CheckpointPiece piece;
    std::size_t bytes;
    std::int64_t at, checksum_at;
    std::uint32_t checksum;
  };
  struct Place {
    explicit Place(Device device);
    Stream stream;
    Buffer<std::uint32_t> table;
    std::list<Slot> slots;
  };
  Slot* acquire(Place& place, Device device, std::size_t bytes);
  void conclude();
  void check(int code, const std::string& what);

  std::string path_, failure_;
  MPI_File file_ = MPI_FILE_NULL;
  std::map<std::pair<Backend, int>, Place> places_;
  std::list<Piece> pieces_;
  std::vector<MPI_Request> requests_;
};

}  // namespace slipstream
