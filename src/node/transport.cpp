#include "node/transport.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>

#include <slipstream/error.hpp>

#include "mover/lower.hpp"
#include "node/requests.hpp"

namespace slipstream {
namespace {

constexpr std::size_t smallest_piece = 1 << 20, smallest_throttled = 64 << 10, largest_piece = 4 << 20;
constexpr std::size_t largest_mpi_message = std::size_t{1} << 30;  // limit in bytes, because MPI counts in int
constexpr std::size_t most_pieces = 1024;

class MpiOutlet final : public Outlet {
 public:
  MpiOutlet(const Message& m, const Pieces& pieces, std::byte* place) : plan_(m.plan) {
    const auto add = [&](const void* from, std::size_t bytes) {
      requests_.add_send(from, bytes, m.target_rank, m.tag, m.comm);
    };
    add(envelope_.get(), sizeof(Envelope));
    for (int piece = 0; piece < pieces.count(); ++piece) add(place + pieces.at(piece), pieces.size(piece));
  }
  ~MpiOutlet() override {
    if (!requests_.settle()) envelope_.release();  // MPI may still read the envelope (header), so it is not freed
  }
  void send(int piece, std::uint64_t sequence) override {
    if (piece == 0) {
      *envelope_ = {plan_, sequence};
      requests_.start(0);
    }
    requests_.start(piece + 1);
  }
  bool sent() override { return requests_.all_done(); }
  bool settle() override { return requests_.settle(); }

 private:
  std::uint64_t plan_;
  std::unique_ptr<Envelope> envelope_ = std::make_unique<Envelope>();
  Requests requests_;
};

class MpiInlet final : public Inlet {
 public:
  MpiInlet(const Message& message, const Pieces& pieces, const PlaceRing& places)
      : message_(message), pieces_(pieces.count()), depth_(places.depth) {
    const auto add = [&](void* to, std::size_t bytes) {
      requests_.add_receive(to, bytes, message.source_rank, message.tag, message.comm);
    };
    for (int place = 0; place < depth_; ++place) {
      add(envelope_.get(), sizeof(Envelope));
      for (int piece = 0; piece < pieces_; ++piece)
        add(places.of(static_cast<std::uint64_t>(place) + 1) + pieces.at(piece), pieces.size(piece));
    }
  }
  ~MpiInlet() override {
    if (!requests_.settle()) envelope_.release();
  }
  void open(std::uint64_t sequence) override {
    for (int n = 0; n <= pieces_; ++n) requests_.start(first(sequence) + n);
    complete_ = 0;
  }
  bool early() const override { return false; }
  int arrived(std::uint64_t sequence) override {
    while (complete_ <= pieces_ && requests_.done(first(sequence) + complete_))
      if (complete_++ == 0) verify(message_, *envelope_, sequence);
    return std::max(0, complete_ - 1);
  }
  bool settle() override { return requests_.settle(); }

 private:
  int first(std::uint64_t sequence) const { return static_cast<int>((sequence - 1) % depth_) * (pieces_ + 1); }
  Message message_;
  int pieces_, depth_;
  int complete_ = 0;  // number of completed MPI requests of this exchange: the message's header, then its pieces
  std::unique_ptr<Envelope> envelope_ = std::make_unique<Envelope>();
  Requests requests_;
};

/// Header of a receive buffer in shared memory. Only hosts access it.
struct Control {
  alignas(128) Signal full;  ///< number of message pieces written to the buffer, over all exchanges so far
  alignas(128) Signal free;  ///< number of the last exchange whose receive buffer may be written
  alignas(128) Envelope envelope[2];
};
constexpr int mapped_places = 2;
constexpr std::size_t place_alignment = 512;
constexpr std::size_t control_room = place_alignment;
static_assert(sizeof(Control) <= control_room);

Control& control_of(std::byte* buffer) { return *reinterpret_cast<Control*>(buffer); }

class MappedOutlet final : public Outlet {
 public:
  MappedOutlet(const Message& message, const Pieces& pieces, std::byte* buffer)
      : plan_(message.plan), pieces_(pieces.count()), control_(control_of(buffer)) {}
  // Receive buffers are free at first, even before the receiver opens them.
  bool room(std::uint64_t sequence) override {
    return sequence <= mapped_places || load_acquire(&control_.free) >= sequence;
  }
  void send(int piece, std::uint64_t sequence) override {
    if (piece == 0) control_.envelope[(sequence - 1) % mapped_places] = {plan_, sequence};
    store_release(&control_.full, (sequence - 1) * pieces_ + piece + 1);
  }

 private:
  std::uint64_t plan_;
  int pieces_;
  Control& control_;
};

class MappedInlet final : public Inlet {
 public:
  MappedInlet(const Message& message, const Pieces& pieces, std::byte* buffer)
      : message_(message), pieces_(pieces.count()), control_(control_of(buffer)) {}
  void open(std::uint64_t sequence) override { store_release(&control_.free, sequence); }
  bool early() const override { return true; }
  int arrived(std::uint64_t sequence) override {
    const std::uint64_t before = (sequence - 1) * static_cast<std::uint64_t>(pieces_);
    const std::uint64_t full = load_acquire(&control_.full);
    if (full <= before) return 0;
    verify(message_, control_.envelope[(sequence - 1) % mapped_places], sequence);
    return static_cast<int>(std::min<std::uint64_t>(full - before, pieces_));
  }

 private:
  Message message_;
  int pieces_;
  Control& control_;
};

/// Delays messages that the host sends, as a slow link would do.
class ThrottledOutlet final : public Outlet {
 public:
  ThrottledOutlet(std::unique_ptr<Outlet> inner, const Pieces& pieces, const Throttle& throttle)
      : inner_(std::move(inner)), pieces_(pieces), throttle_(throttle) {}

  void begin(std::uint64_t sequence) override {
    begun_ = std::max(Clock::now(), free_);
    free_ = begun_ + after(throttle_.seconds(static_cast<double>(pieces_.bytes)) - throttle_.latency_us * 1e-6);
    inner_->begin(sequence);
  }
  bool room(std::uint64_t sequence) override { return inner_->room(sequence); }
  void send(int piece, std::uint64_t sequence) override {
    const double bytes = static_cast<double>(pieces_.at(piece) + pieces_.size(piece));
    queued_.push_back({piece, sequence, begun_ + after(throttle_.seconds(bytes))});
    drive();
  }
  void drive() override {
    for (; !queued_.empty() && queued_.front().due <= Clock::now(); queued_.pop_front())
      inner_->send(queued_.front().piece, queued_.front().sequence);
    inner_->drive();
  }
  bool sent() override { return queued_.empty() && inner_->sent(); }
  bool settle() override { return inner_->settle(); }
  std::string escort() const override { return inner_->escort(); }

 private:
  using Clock = std::chrono::steady_clock;
  static Clock::duration after(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }
  struct Queued {
    int piece;
    std::uint64_t sequence;
    Clock::time_point due;
  };

  std::unique_ptr<Outlet> inner_;
  Pieces pieces_;
  Throttle throttle_;
  Clock::time_point begun_{}, free_{};  // start of this exchange, and time when the link is free again
  std::deque<Queued> queued_;
};

}  // namespace

std::string end_of(int device, int rank) {
  return "device " + std::to_string(device) + " on rank " + std::to_string(rank);
}

void verify(const Message& message, const Envelope& envelope, std::uint64_t sequence) {
  if (!(envelope.plan == message.plan && envelope.sequence == sequence))
    throw Error(
        ErrorCode::mismatch,
        "device " + std::to_string(message.target) + " expected exchange " + std::to_string(sequence) +
            " and got exchange " + std::to_string(envelope.sequence) + " from device " +
            std::to_string(message.source) + ": the ranks call their exchanges in different orders",
        {{"device", message.target}, {"peer", message.source}, {"sequence", sequence}, {"given", envelope.sequence}});
}

Pieces pieces_of(std::size_t bytes, const Knobs& knobs, bool pipelined, const Throttle& throttle) {
  std::size_t each = largest_mpi_message;
  if (pipelined) each = std::clamp(bytes / 8, smallest_piece, largest_piece);
  if (throttle.slows()) each = std::clamp(bytes / 64, smallest_throttled, largest_piece);
  if (knobs.chunk > 0) each = static_cast<std::size_t>(knobs.chunk);
  each = std::max(each, (bytes + most_pieces - 1) / most_pieces);
  return {bytes, std::min(round_up(each, slot_alignment), largest_mpi_message)};
}

std::unique_ptr<Outlet> mpi_outlet(const Message& message, const Pieces& pieces, std::byte* place) {
  return std::make_unique<MpiOutlet>(message, pieces, place);
}

std::unique_ptr<Outlet> throttled(std::unique_ptr<Outlet> outlet, const Pieces& pieces, const Throttle& throttle) {
  if (!throttle.slows()) return outlet;
  return std::make_unique<ThrottledOutlet>(std::move(outlet), pieces, throttle);
}

std::unique_ptr<Inlet> mpi_inlet(const Message& message, const Pieces& pieces, const PlaceRing& places) {
  return std::make_unique<MpiInlet>(message, pieces, places);
}

std::size_t host_buffer_bytes(const Message& message) {
  return control_room + mapped_places * round_up(message.bytes, place_alignment);
}
PlaceRing host_places(const Message& message, std::byte* buffer) {
  return {buffer + control_room, round_up(message.bytes, place_alignment), mapped_places};
}
std::unique_ptr<Outlet> mapped_outlet(const Message& message, const Pieces& pieces, std::byte* buffer) {
  return std::make_unique<MappedOutlet>(message, pieces, buffer);
}
std::unique_ptr<Inlet> mapped_inlet(const Message& message, const Pieces& pieces, std::byte* buffer) {
  return std::make_unique<MappedInlet>(message, pieces, buffer);
}

}  // namespace slipstream
