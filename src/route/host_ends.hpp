#pragma once
// Sender and receiver of the routes staged and gpu_mpi: two state machines driven by the host. The sender packs, copies
// to host memory (staged only) and sends piece by piece. The receiver does the reverse. It has two receive buffers in
// turn, so that begin never waits for a device.
#include <memory>

#include "mover/ends.hpp"
#include "mover/lower.hpp"
#include "mover/moves.hpp"
#include "mover/parts.hpp"
#include "node/transport.hpp"

namespace slipstream {

class HostSender final : public Sender {
 public:
  HostSender(const Message& message, const EndSite& site, bool staged);
  ~HostSender() override;
  bool transfers() const override { return true; }
  void transfer(Stream& stream, std::uint64_t sequence) override;
  bool progress(std::uint64_t sequence) override;
  std::string waiting_for() const override;
  std::int64_t bytes() const override;
  void poison(Stream& stream) override;

 private:
  enum class State { idle, waiting, copying };
  void make_movers(const EndSite& site);
  void make_parts(const EndSite& site);
  void start(std::uint64_t sequence);
  void pack_next(std::uint64_t sequence);
  const Event& copied(int piece) const { return copied_[copied_.size() == 1 ? 0 : static_cast<std::size_t>(piece)]; }

  Message message_;
  bool staged_, straight_;
  Lowering lowering_;
  Pieces pieces_;
  const Failure* failure_;
  Span<std::byte> packed_, host_;
  PlaceRing places_;
  std::unique_ptr<Outlet> outlet_;
  std::unique_ptr<Moves> moves_;  // copies of the whole message; null if the device's one launch packs
  std::vector<PartMoves> parts_;  // copies by part, which replace moves_ and run on the exchange's stream
  std::size_t packed_parts_ = 0;
  Event ready_;  // event recorded after the work that computes the caller's values
  std::vector<Event> copied_;
  std::unique_ptr<Stream> lane_;
  Stream* stream_ = nullptr;
  State state_ = State::idle;
  int sent_ = 0;
  Trace* trace_;
  std::string row_;  // name of the sender's row in the trace
};

class HostReceiver final : public Receiver {
 public:
  HostReceiver(const Message& message, const EndSite& site, bool staged);
  ~HostReceiver() override;
  void post(Stream&, std::uint64_t sequence) override;
  bool transfers() const override { return true; }
  void transfer(Stream& stream, std::uint64_t sequence) override;
  bool progress(std::uint64_t sequence) override;
  bool delivers() const override { return uploads_ || moves_; }
  void deliver(Stream& stream, std::uint64_t sequence) override;
  std::string waiting_for() const override;
  std::int64_t bytes() const override;
  void poison(Stream& stream) override;

 private:
  void make_places(const EndSite& site);
  void make_movers(const EndSite& site);
  bool place_is_free(std::uint64_t sequence) const;
  void open_places(std::uint64_t sequence);
  void poison_place(std::uint64_t sequence);
  void make_parts(const EndSite& site);
  void upload(Stream& lane, int to, std::uint64_t sequence);
  void unpack(Stream& lane, std::uint64_t sequence);
  void unpack_parts(Stream& lane, std::uint64_t sequence);

  Message message_;
  bool staged_, straight_, uploads_;
  Device device_;
  Lowering lowering_;
  Pieces pieces_;
  Span<std::byte> packed_, receive_buffer_;
  PlaceRing places_;
  std::unique_ptr<Inlet> inlet_;
  std::unique_ptr<Moves> moves_;
  std::vector<PartMoves> parts_;
  std::size_t unpacked_parts_ = 0;
  Event turn_[2];  // events of alternate exchanges, reached when all readers of the previous exchange are done
  Event received_;
  std::unique_ptr<Stream> lane_, unpacking_;
  std::uint64_t opened_ = 0, turned_ = 0;
  std::uint64_t poisoned_ = 0;  // number of first exchanges whose receive buffers were poisoned at set-up
  int uploaded_ = 0;
  bool waiting_ = false;
  Trace* trace_;
  std::string row_;  // name of the receiver's row in the trace
};

}  // namespace slipstream
