#include "io/mpi_pieces.hpp"

#include <slipstream/communicator.hpp>
#include <slipstream/error.hpp>

#include "device/upload.hpp"
#include "io/copy_piece.hpp"
#include "io/crc32c.hpp"
#include "io/remainders_kernels.hpp"

namespace slipstream {
namespace {

std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  return {text, static_cast<std::size_t>(length)};
}

Buffer<std::uint32_t> table_on(Device device) {
  const auto& table = crc32c_segments::table();
  return upload(device, std::vector<std::uint32_t>(table.begin(), table.end()));
}

}  // namespace

MpiPieces::Place::Place(Device device) : stream(device), table(table_on(device)) {}

MpiPieces::~MpiPieces() { wait(); }

void MpiPieces::open(const std::string& path) {
  path_ = path;
  failure_.clear();
  const int code = MPI_File_open(MPI_COMM_SELF, path.c_str(), MPI_MODE_WRONLY, MPI_INFO_NULL, &file_);
  require(code == MPI_SUCCESS, ErrorCode::io, "MPI could not open '" + path + "' to write into it: " + text_of(code),
          {{"file", path}});
}

MpiPieces::Slot* MpiPieces::acquire(Place& place, Device device, std::size_t bytes) {
  for (Slot& slot : place.slots)
    if (slot.free && slot.values.size() >= bytes && slot.values.size() <= 2 * bytes) return &slot;
  const std::size_t count = crc32c_segments::count(bytes);
  try {
    place.slots.push_back({Buffer<std::byte>(device, bytes), Buffer<std::uint32_t>(device, count),
                           Buffer<std::uint32_t>(device, count, Memory::pinned)});
    return &place.slots.back();
  } catch (const OutOfMemory&) {
    return nullptr;
  }
}

bool MpiPieces::add(const Field& field, std::int64_t block, const CheckpointArray& array, std::size_t number) {
  const CheckpointPiece& piece = array.pieces[number];
  const Device device = field.device(block);
  const std::size_t bytes = bytes_of(field, piece);
  Place& place = places_.try_emplace({device.backend, device.index}, device).first->second;
  Slot* const slot = acquire(place, device, bytes);
  if (!slot) return false;
  slot->free = false;
  const std::size_t count = crc32c_segments::count(bytes);
  copy_piece(place.stream, field, block, piece, slot->values.data());
  find_remainders(place.stream, slot->values.data(), bytes, place.table.data(), slot->remainders.data());
  copy(place.stream, slot->fetched.data(), slot->remainders.data(), count * sizeof(std::uint32_t));
  const auto size = static_cast<std::int64_t>(size_of(array.type));
  pieces_.push_back({slot, piece, bytes, array.values_at + piece.first * size,
                     array.checksums_at + static_cast<std::int64_t>(number * sizeof(std::uint32_t)), 0});
  return true;
}

void MpiPieces::check(int code, const std::string& what) {
  if (code != MPI_SUCCESS && failure_.empty()) failure_ = what + " '" + path_ + "': " + text_of(code);
}

void MpiPieces::start() {
  for (auto& [key, place] : places_) place.stream.synchronize();
  for (Piece& piece : pieces_) {
    const std::size_t count = crc32c_segments::count(piece.bytes);
    const auto row = piece.piece.row();
    piece.checksum =
        crc32c_segments::joined(crc32c(0, row.data(), sizeof row), {piece.slot->fetched.data(), count}, piece.bytes);
    const auto write = [&](std::int64_t at, const void* values, std::size_t bytes) {
      MPI_Request request = MPI_REQUEST_NULL;
      check(MPI_File_iwrite_at(file_, at, values, static_cast<int>(bytes), MPI_BYTE, &request), "writing");
      if (request != MPI_REQUEST_NULL) requests_.push_back(request);
    };
    write(piece.at, piece.slot->values.data(), piece.bytes);
    write(piece.checksum_at, &piece.checksum, sizeof piece.checksum);
  }
}

bool MpiPieces::done() {
  int all = 1;
  if (!requests_.empty())
    check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all, MPI_STATUSES_IGNORE), "writing");
  if (all) conclude();
  return all != 0;
}

void MpiPieces::wait() {
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended) return;
  if (!requests_.empty())
    check(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE), "writing");
  conclude();
}

void MpiPieces::conclude() {
  requests_.clear();
  for (Piece& piece : pieces_) piece.slot->free = true;
  pieces_.clear();
  if (file_ != MPI_FILE_NULL) check(MPI_File_close(&file_), "closing");
}

}  // namespace slipstream
