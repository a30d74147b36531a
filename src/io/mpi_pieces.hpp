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

/// Snapshots of pieces in device memory, which MPI-IO writes to a file; devices compute the checksums. Requires an MPI
/// that accepts device memory. Calls must come from the MPI thread; none is collective.
class MpiPieces {
 public:
  MpiPieces() = default;
  MpiPieces(const MpiPieces&) = delete;
  MpiPieces& operator=(const MpiPieces&) = delete;
  /// Waits until the writes in progress have ended.
  ~MpiPieces();

  /// Opens an existing file for the pieces of checkpoint arrays to write next. Throws if MPI cannot open it.
  void open(const std::string& path);
  /// Copies a piece of a local block, which must not be interleaved. Returns false if the device lacks memory for the
  /// copy.
  bool add(const Field& field, std::int64_t block, const CheckpointArray& array, std::size_t number);
  /// Waits until all pieces have been copied from their fields, then starts to write them.
  void start();
  /// Whether all writes have completed or failed; does not block. The file is then closed, but not synced to disk.
  bool done();
  void wait();
  /// Reason why writing failed; empty on success. Valid after done().
  const std::string& failure() const { return failure_; }

 private:
  struct Slot {
    Buffer<std::byte> values;
    Buffer<std::uint32_t> remainders, fetched;  // a checkpoint piece's CRC remainders: on the device, on the host
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
