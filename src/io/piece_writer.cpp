#include "io/piece_writer.hpp"

#include <algorithm>
#include <slipstream/error.hpp>

#include "io/copy_piece.hpp"
#include "machine/agree.hpp"

namespace slipstream {
namespace {

/// Reorders values from [cell][component] to [component][cell].
template <class Word>
void separate(const std::byte* from, std::byte* to, std::int64_t cells, int components) {
  const auto* values = reinterpret_cast<const Word*>(from);
  auto* separated = reinterpret_cast<Word*>(to);
  for (std::int64_t cell = 0; cell < cells; ++cell)
    for (int c = 0; c < components; ++c) separated[c * cells + cell] = values[cell * components + c];
}

}  // namespace

PieceWriter::PieceWriter(std::int64_t staging_bytes, Snapshot snapshot)
    : staging_bytes_(staging_bytes), snapshot_(snapshot), thread_(&PieceWriter::work, this) {}

PieceWriter::~PieceWriter() {
  {
    std::lock_guard lock(mutex_);
    quit_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void PieceWriter::open(const std::string& path) {
  RawFile file = RawFile::to_write(path);
  std::lock_guard lock(mutex_);
  file_ = std::move(file);
  failure_.clear();
  ending_ = done_ = false;
}

Stream& PieceWriter::stream_on(Device device) {
  for (auto& [its_device, stream] : streams_)
    if (its_device == device) return stream;
  return streams_.emplace_back(device, Stream(device)).second;
}

/// Returns device memory for a piece; null if the device is full.
PieceWriter::Slot* PieceWriter::acquire_on_device(Device device, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  std::list<Slot>& slots = device_slots_[{device.backend, device.index}];
  for (Slot& slot : slots)
    if (slot.free && slot.memory.size() >= bytes && slot.memory.size() <= 2 * bytes) {
      slot.free = false;
      return &slot;
    }
  try {
    slots.push_back({Buffer<std::byte>(device, bytes), false, true});
    return &slots.back();
  } catch (const OutOfMemory&) {
    return nullptr;
  }
}

PieceWriter::Slot* PieceWriter::acquire(Device device, std::size_t bytes) {
  if (snapshot_ == Snapshot::device)
    if (Slot* const slot = acquire_on_device(device, bytes)) return slot;
  std::unique_lock lock(mutex_);
  std::list<Slot>& slots = slots_[{device.backend, device.index}];
  const std::int64_t most = std::max<std::int64_t>(2, staging_bytes_ / static_cast<std::int64_t>(bytes));
  Slot* found = nullptr;
  const auto look = [&] {
    for (Slot& slot : slots)
      if (slot.free && (!found || found->memory.size() < slot.memory.size())) found = &slot;
    return found != nullptr;
  };
  if (!look() && static_cast<std::int64_t>(slots.size()) < most) found = &slots.emplace_back();
  if (!found) changed_.wait(lock, look);
  if (found->memory.size() < bytes) found->memory = Buffer<std::byte>(device, bytes, Memory::pinned);
  found->free = false;
  return found;
}

void PieceWriter::release(Slot* slot) {
  {
    std::lock_guard lock(mutex_);
    slot->free = true;
  }
  changed_.notify_all();
}

void PieceWriter::add(const Field& field, std::int64_t block, const CheckpointArray& array, std::size_t number) {
  const CheckpointPiece& piece = array.pieces[number];
  const Device device = field.device(block);
  const std::size_t bytes = bytes_of(field, piece);
  Slot* const slot = acquire(device, bytes);
  try {
    Stream& stream = stream_on(device);
    copy_piece(stream, field, block, piece, slot->memory.data());
    CheckpointArray alone;
    alone.name = array.name;
    alone.type = array.type;
    alone.components = array.components;
    alone.values_at = array.values_at;
    alone.checksums_at = array.checksums_at;
    Job job{slot, Event(device), std::move(alone), piece, number, interleaved(field), bytes, slot->memory.data()};
    stream.record(job.copied);
    std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  } catch (...) {
    release(slot);
    throw;
  }
  changed_.notify_all();
}

void PieceWriter::snapshot() {
  for (auto& [device, stream] : streams_) stream.synchronize();
}

void PieceWriter::fail(const std::string& why) {
  std::lock_guard lock(mutex_);
  if (failure_.empty()) failure_ = why;
}

void PieceWriter::end() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
}

bool PieceWriter::done() {
  std::lock_guard lock(mutex_);
  return done_;
}

void PieceWriter::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_; });
}

std::string PieceWriter::failure() {
  std::lock_guard lock(mutex_);
  return failure_;
}

void PieceWriter::work() {
  std::deque<Job> underway;  // at most two pieces: one is fetched while the other is written
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return !jobs_.empty() || !underway.empty() || (ending_ && !done_) || quit_; });
    while (!jobs_.empty() && underway.size() < 2) {
      underway.push_back(std::move(jobs_.front()));
      jobs_.pop_front();
      lock.unlock();
      const std::string failure = text_of(failure_of([&] { start_fetching(underway.back()); }));
      lock.lock();
      if (failure_.empty()) failure_ = failure;
    }
    if (!underway.empty()) {
      Job job = std::move(underway.front());
      underway.pop_front();
      // After a failure the thread only frees the staging memory of pieces.
      const bool failed = !failure_.empty();
      lock.unlock();
      const std::string failure = text_of(failure_of([&] {
        job.copied.synchronize();
        if (!failed) write(job);
      }));
      release(job.slot);
      lock.lock();
      if (failure_.empty()) failure_ = failure;
      continue;
    }
    if (ending_ && !done_) {
      lock.unlock();
      const std::string failure = text_of(failure_of([&] { file_.finish(); }));
      lock.lock();
      if (failure_.empty()) failure_ = failure;
      done_ = true;
      changed_.notify_all();
    }
    if (quit_) return;
  }
}

/// Starts the copy of a piece from device staging to pinned memory.
void PieceWriter::start_fetching(Job& job) {
  if (!job.slot->on_device) return;
  const Device device = job.slot->memory.device();
  Passage& passage = passages_.try_emplace({device.backend, device.index}, device).first->second;
  Buffer<std::byte>& memory = passage.memory[passage.next];
  passage.next = 1 - passage.next;
  if (memory.size() < job.bytes) memory = Buffer<std::byte>(device, job.bytes, Memory::pinned);
  passage.stream.wait(job.copied);
  copy(passage.stream, memory.data(), job.values, job.bytes);
  job.copied = Event(device);
  passage.stream.record(job.copied);
  job.values = memory.data();
}

void PieceWriter::write(const Job& job) {
  const std::int64_t cells = job.piece.box.volume();
  const std::size_t bytes = static_cast<std::size_t>(cells * job.array.bytes_per_cell());
  const std::byte* values = job.values;
  const std::size_t size = size_of(job.array.type);
  if (job.interleaved) {
    ordered_.resize(bytes);
    const auto order = size == 1   ? separate<std::uint8_t>
                       : size == 2 ? separate<std::uint16_t>
                       : size == 4 ? separate<std::uint32_t>
                                   : separate<std::uint64_t>;
    order(values, ordered_.data(), cells, job.array.components);
    values = ordered_.data();
  }
  const std::uint32_t sum = checksum(job.piece, values, bytes);
  file_.write(job.array.values_at + job.piece.first * static_cast<std::int64_t>(size), values, bytes);
  file_.write(job.array.checksums_at + static_cast<std::int64_t>(job.number * sizeof sum), &sum, sizeof sum);
}

}  // namespace slipstream
