#include "route/host_ends.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include <slipstream/error.hpp>
#include <slipstream/trace.hpp>

#include "device/faults.hpp"
#include "device/kept_memory.hpp"
#include "mover/ends.hpp"
#include "mover/lower.hpp"
#include "mover/moves.hpp"
#include "mover/parts.hpp"
#include "node/transport.hpp"

namespace slipstream {
namespace {

/// Whether kernels pack into, or unpack from, host memory directly.
bool goes_straight(const Message& m, bool staged) {
  require(staged || m.knobs.pack != Pack::zero_copy, ErrorCode::unsupported,
          "pack = zero_copy packs into host memory, and the route gpu_mpi sends device memory: choose another "
          "pack, or turn gpu_mpi off",
          {{"option", "pack"}, {"given", "zero_copy"}});
  return staged && (m.knobs.pack == Pack::zero_copy || m.knobs.pack == Pack::memcpy3d);
}

std::string within(const std::string& escort) { return escort.empty() ? "" : ", in " + escort; }

/// Common base of sender and receiver. MPI sends from, or receives into, the buffers `places_`.
class HostEnd {
 protected:
  HostEnd(const Message& message, const EndSite& site, bool staged, bool straight, std::string row)
      : message_(message),
        staged_(staged),
        straight_(straight),
        lowering_(site.device),
        pieces_(pieces_of(message, staged)),
        trace_(site.trace),
        row_(std::move(row)) {
    if (message.knobs.streams != Lanes::one) lane_ = std::make_unique<Stream>(site.device, Priority::high);
  }

  std::unique_ptr<Moves> moves_of(std::vector<Mover> movers, const EndSite& site) const {
    return std::make_unique<Moves>(site.device, std::move(movers), site.arrays, message_.knobs, site.pulse);
  }

  /// Launches the kernel that packs or unpacks the whole message, unless another launch of the device does so.
  void move(Stream& lane, const char* what, std::uint64_t sequence) const {
    if (!moves_) return;
    const DeviceSpan span(trace_, lane, row_, what, "kernel");
    moves_->run(lane, sequence);
    if (message_.knobs.sync) lane.synchronize();
  }

  std::int64_t bytes_held() const {
    std::int64_t bytes = bytes_of(lowering_, packed_) + (moves_ ? moves_->bytes() : 0);
    for (const PartMoves& part : parts_) bytes += part.moves->bytes();
    return bytes;
  }

  void poison_packed(Stream& stream) {
    if (packed_.data()) fill(stream, packed_.data(), poison_byte, packed_.bytes());
  }

  Message message_;
  bool staged_, straight_;  // straight_: kernels pack into the send buffer, or unpack from the receive buffer, directly
  Lowering lowering_;
  Pieces pieces_;
  Span<std::byte> packed_, own_place_;
  PlaceRing places_;
  std::unique_ptr<Moves> moves_;  // copies that pack or unpack the whole message in a launch of their own, or null
  std::vector<PartMoves> parts_;  // copies that pack or unpack each part of a message that is sent in parts
  std::unique_ptr<Stream> lane_;
  Trace* trace_;
  std::string row_;  // name of this sender's or receiver's row in the timeline of the trace
};

class HostSender final : public Sender, private HostEnd {
 public:
  HostSender(const Message& message, const EndSite& site, bool staged)
      // A message's values stored by the caller's kernels first lie in device memory: these kernels store all at once.
      : HostEnd(message, site, staged,
                (goes_straight(message, staged) && !message.produced) || (!staged && mail_of(message)),
                "to device " + std::to_string(message.target)),
        failure_(site.pulse.failure),
        ready_(site.device) {
    // MPI sends from this buffer, unless values go through host memory.
    const Memory memory = staged ? Memory::device : Memory::message;
    if (!straight_) packed_ = site.arena.take<std::byte>(message.bytes, memory);
    if (Mail* mail = mail_of(message)) {
      places_ = mail->outgoing_place(message);
      outlet_ = mail->outlet(message);
    } else if (site.receive_buffer.host) {
      places_ = host_places(message, site.receive_buffer.host);
      outlet_ = mapped_outlet(message, pieces_, site.receive_buffer.host);
    } else {
      if (staged) own_place_ = site.arena.take<std::byte>(message.bytes, Memory::pinned);
      places_.base = staged ? own_place_.data() : packed_.data();
      outlet_ = mpi_outlet(message, pieces_, places_.base);
    }
    outlet_ = throttled(std::move(outlet_), pieces_, message.throttle);
    for (int n = staged && !straight_ ? pieces_.count() : 1; n > 0; --n) copied_.emplace_back(site.device);
    make_movers(site);
  }

  ~HostSender() override {
    if (outlet_->settle()) return;
    keep_for_ever(std::move(packed_));
    keep_for_ever(std::move(own_place_));
  }

  bool transfers() const override { return true; }
  void transfer(Stream& stream, std::uint64_t sequence) override {
    stream_ = &stream;
    packed_parts_ = 0;
    outlet_->begin(sequence);
    if (lane_) stream.record(ready_);
    state_ = State::waiting;
    if (outlet_->room(sequence)) start(sequence);
    while (packed_parts_ < parts_.size()) pack_next(sequence);
  }

  bool progress(std::uint64_t sequence) override {
    if (state_ == State::waiting && outlet_->room(sequence)) start(sequence);
    if (state_ == State::copying) {
      // If the launch that packs has timed out, the values copied to the host are old. They are not sent.
      for (; sent_ < pieces_.count() && copied(sent_).done() && !load_acquire(&failure_->set); ++sent_)
        outlet_->send(sent_, sequence);
      outlet_->drive();
      if (sent_ == pieces_.count() && outlet_->sent()) state_ = State::idle;
    }
    return state_ == State::idle;
  }

  std::string waiting_for() const override {
    const std::string peer = end_of(message_.target, message_.target_rank) + within(outlet_->escort());
    if (state_ == State::idle) return {};
    if (state_ == State::waiting) return "a free receive place at " + peer;
    if (sent_ < pieces_.count()) return "its own packing and copies, bound for " + peer;
    return "the send to " + peer;
  }

  std::int64_t bytes() const override { return bytes_held(); }
  void poison(Stream& stream) override { poison_packed(stream); }

 private:
  enum class State { idle, waiting, copying };
  void make_movers(const EndSite& site) {
    if (message_.parts) return make_parts(site);
    const Slot slot = straight_ ? Slot{places_.base, places_.ring()} : Slot{packed_.data(), {}};
    auto movers = lowering_.to_slot(site.legs, site.sources, slot);
    windows = lowering_.windows();
    if (message_.knobs.pack == Pack::fused || message_.produced) {
      batches.push_back({.movers = std::move(movers)});
    } else {
      moves_ = moves_of(std::move(movers), site);
    }
  }

  void make_parts(const EndSite& site) {
    std::size_t at = 0;
    // If the caller's kernels store some of a message's values, no part of the message is sent before they have. One
    // launch then packs all other values of the message.
    if (message_.produced) batches.emplace_back();
    for (const Chunk& chunk : message_.parts->chunks) {
      auto movers = lowering_.to_slot(chunk.legs, chosen(chunk.parent, site.sources), {packed_.data() + at, {}});
      const std::size_t end = at + round_up(chunk.bytes, slot_alignment);
      if (message_.produced) {
        batches.back().movers.insert(batches.back().movers.end(), movers.begin(), movers.end());
      } else {
        apart.insert(apart.end(), movers.begin(), movers.end());
        parts_.push_back({at, end, moves_of(std::move(movers), site), Event(site.device)});
      }
      at = end;
    }
    windows = lowering_.windows();
  }

  void start(std::uint64_t sequence) {
    Stream& lane = lane_ ? *lane_ : *stream_;
    if (lane_) lane.wait(ready_);
    move(lane, "pack", sequence);
    const DeviceSpan span(staged_ ? trace_ : nullptr, lane, row_, "download", "copy");
    faults::reach(faults::Lane::departure, lane);
    if (staged_ && !straight_) {
      std::size_t part = 0;
      for (int piece = 0; piece < pieces_.count(); ++piece) {
        for (; part < parts_.size() && parts_[part].begin < pieces_.at(piece) + pieces_.size(piece); ++part) {
          if (part == packed_parts_) pack_next(sequence);
          lane.wait(parts_[part].done);
        }
        copy(lane, places_.of(sequence) + pieces_.at(piece), packed_.data() + pieces_.at(piece), pieces_.size(piece));
        lane.record(copied_[piece]);
      }
    } else {
      lane.record(copied_.front());
    }
    sent_ = 0;
    state_ = State::copying;
  }

  void pack_next(std::uint64_t sequence) {
    const PartMoves& part = parts_[packed_parts_++];
    const DeviceSpan span(trace_, *stream_, row_, "pack", "kernel");
    part.moves->run(*stream_, sequence);
    stream_->record(part.done);
  }

  const Event& copied(int piece) const { return copied_[copied_.size() == 1 ? 0 : static_cast<std::size_t>(piece)]; }

  const Failure* failure_;
  std::unique_ptr<Outlet> outlet_;
  std::size_t packed_parts_ = 0;
  Event ready_;  // event recorded after the work that computes the caller's values
  std::vector<Event> copied_;
  Stream* stream_ = nullptr;
  State state_ = State::idle;
  int sent_ = 0;
};

class HostReceiver final : public Receiver, private HostEnd {
 public:
  HostReceiver(const Message& message, const EndSite& site, bool staged)
      : HostEnd(message, site, staged, goes_straight(message, staged) && !message.combines,
                "from device " + std::to_string(message.source)),
        uploads_(staged && !straight_),
        device_(site.device),
        turn_{Event(site.device), Event(site.device)},
        received_(site.device) {
    make_places(site);
    make_movers(site);
  }

  ~HostReceiver() override {
    if (!inlet_->settle()) keep_for_ever(std::move(own_place_));
  }

  void post(Stream&, std::uint64_t sequence) override {
    waiting_ = true;
    uploaded_ = 0;
    unpacked_parts_ = 0;
    open_places(sequence);
  }

  bool transfers() const override { return true; }
  void transfer(Stream& stream, std::uint64_t sequence) override {
    stream.record(turn_[sequence % 2]);
    turned_ = sequence;
  }

  bool progress(std::uint64_t sequence) override {
    open_places(sequence);
    if (!waiting_ || opened_ < sequence) return !waiting_;
    const int arrived_pieces = inlet_->arrived(sequence);
    if (lane_ && delivers()) upload(*lane_, arrived_pieces, sequence);
    if (arrived_pieces < pieces_.count()) return false;
    waiting_ = false;
    if (lane_ && delivers()) {
      if (parts_.empty()) unpack(*lane_, sequence);
      (unpacking_ ? *unpacking_ : *lane_).record(received_);
    }
    return true;
  }

  bool delivers() const override { return uploads_ || moves_; }
  void deliver(Stream& stream, std::uint64_t sequence) override {
    if (lane_) {
      stream.wait(received_);
      return;
    }
    upload(stream, pieces_.count(), sequence);
    unpack(stream, sequence);
  }

  std::string waiting_for() const override {
    if (!waiting_) return {};
    return "the message of " + end_of(message_.source, message_.source_rank) + within(inlet_->escort());
  }

  std::int64_t bytes() const override { return bytes_held() + (staged_ ? 0 : bytes_of(own_place_)); }
  void poison(Stream& stream) override { poison_packed(stream); }

 private:
  void make_places(const EndSite& site) {
    if (uploads_) packed_ = site.arena.take<std::byte>(message_.bytes);
    if (Mail* mail = mail_of(message_)) {
      places_ = mail->incoming_places(message_);
      inlet_ = mail->inlet(message_);
      return;
    }
    if (site.receive_buffer.host) {
      places_ = host_places(message_, site.receive_buffer.host);
      inlet_ = mapped_inlet(message_, pieces_, site.receive_buffer.host);
      // Debug mode fills receive buffers with NaN now, as the sender may write before this receiver's first exchange.
      for (; message_.poison && poisoned_ < static_cast<std::uint64_t>(places_.depth); ++poisoned_)
        poison_place(poisoned_ + 1);
      return;
    }
    // The combining kernel reads from fixed addresses, so there is a single receive buffer.
    places_.depth = message_.combines && !staged_ ? 1 : 2;
    places_.stride = round_up(message_.bytes, slot_alignment);
    own_place_ = site.arena.take<std::byte>(places_.stride * places_.depth, staged_ ? Memory::pinned : Memory::message);
    places_.base = own_place_.data();
    inlet_ = mpi_inlet(message_, pieces_, places_);
  }

  void make_movers(const EndSite& site) {
    const Slot slot = packed_.data() ? Slot{packed_.data(), {}} : Slot{places_.base, places_.ring()};
    batches.emplace_back();
    if (message_.parts && !message_.combines) return make_parts(site);
    auto movers = lowering_.unpack(message_, site.legs, site.targets, slot, arrived);
    if (message_.combines || message_.knobs.pack == Pack::fused) {
      batches.back().movers = std::move(movers);
    } else {
      moves_ = moves_of(std::move(movers), site);
    }
  }

  /// Whether the receive buffer of exchange `sequence` may be overwritten. It was last read `depth` exchanges before,
  /// since `depth` buffers are used in turn. The event of the exchange after that one proves that reading is done.
  bool place_is_free(std::uint64_t sequence) const {
    const std::uint64_t after = sequence - static_cast<std::uint64_t>(places_.depth) + 1;
    if (after == 0) return true;
    return turned_ >= after && turn_[after % 2].done();
  }

  void open_places(std::uint64_t sequence) {
    const std::uint64_t last = inlet_->early() ? sequence + 1 : sequence;
    while (opened_ < last && place_is_free(opened_ + 1)) {
      ++opened_;
      if (message_.poison && opened_ > poisoned_) poison_place(opened_);
      inlet_->open(opened_);
    }
  }

  /// Debug mode: fills a message's receive buffer with NaN, unless several messages travel together in one buffer.
  void poison_place(std::uint64_t sequence) {
    if (mail_of(message_)) return;
    std::byte* const place = places_.of(sequence);
    if (staged_) {
      std::memset(place, poison_byte, message_.bytes);
    } else {
      Stream stream(device_);
      fill(stream, place, poison_byte, message_.bytes);
      stream.synchronize();
    }
  }

  void make_parts(const EndSite& site) {
    std::size_t at = 0;
    for (const Chunk& chunk : message_.parts->chunks) {
      auto movers = lowering_.from_slot(chunk.legs, chosen(chunk.parent, site.targets), {packed_.data() + at, {}});
      const std::size_t end = at + round_up(chunk.bytes, slot_alignment);
      parts_.push_back({at, end, moves_of(std::move(movers), site), Event(site.device)});
      at = end;
    }
    unpacking_ = std::make_unique<Stream>(site.device, Priority::high);
  }

  /// Copies the pieces of a message before number `to` from the host to the device.
  void upload(Stream& lane, int to, std::uint64_t sequence) {
    if (uploaded_ == 0 && to > 0 && lane_) lane.wait(turn_[sequence % 2]);
    if (!uploads_ || uploaded_ == to) {
      uploaded_ = to;
      return;
    }
    const DeviceSpan span(trace_, lane, row_, "upload", "copy");
    for (; uploaded_ < to; unpack_parts(lane, sequence)) {
      copy(lane, packed_.data() + pieces_.at(uploaded_), places_.of(sequence) + pieces_.at(uploaded_),
           pieces_.size(uploaded_));
      ++uploaded_;
    }
  }

  void unpack(Stream& lane, std::uint64_t sequence) {
    faults::reach(faults::Lane::arrival, lane);
    move(lane, "unpack", sequence);
  }

  /// Unpacks the parts of a message that are completely on the device.
  void unpack_parts(Stream& lane, std::uint64_t sequence) {
    const std::size_t brought = std::min(pieces_.at(uploaded_), message_.bytes);
    for (; unpacked_parts_ < parts_.size() && parts_[unpacked_parts_].end <= brought; ++unpacked_parts_) {
      if (unpacked_parts_ == 0) faults::reach(faults::Lane::arrival, *unpacking_);
      const PartMoves& part = parts_[unpacked_parts_];
      lane.record(part.done);
      unpacking_->wait(part.done);
      const DeviceSpan span(trace_, *unpacking_, row_, "unpack", "kernel");
      part.moves->run(*unpacking_, sequence);
    }
  }

  bool uploads_;
  Device device_;
  std::unique_ptr<Inlet> inlet_;
  std::size_t unpacked_parts_ = 0;
  Event turn_[2];  // events at the start of even and odd exchanges: receive buffers of the last exchange have been read
  Event received_;
  std::unique_ptr<Stream> unpacking_;
  std::uint64_t opened_ = 0, turned_ = 0;
  std::uint64_t poisoned_ = 0;  // debug mode: number of first exchanges whose buffers were filled with NaN at set-up
  int uploaded_ = 0;
  bool waiting_ = false;
};

}  // namespace

std::unique_ptr<Sender> HostRoute::sender(const Message& message, const EndSite& site) const {
  return std::make_unique<HostSender>(message, site, staged_);
}

std::unique_ptr<Receiver> HostRoute::receiver(const Message& message, const EndSite& site) const {
  return std::make_unique<HostReceiver>(message, site, staged_);
}

}  // namespace slipstream
