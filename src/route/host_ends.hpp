#pragma once
// The ends that staged and gpu_mpi share: two state machines driven by the host. The sender packs, copies to host
// memory (staged only) and sends piece by piece. The receiver does the reverse. The target has two places in turn, so
// that begin never waits for a device.
#include <memory>

#include "mover/ends.hpp"
#include "mover/lower.hpp"
#include "mover/moves.hpp"
#include "mover/parts.hpp"
#include "node/transport.hpp"

namespace slipstream {

/// Members of both ends. MPI sends from, or receives into, `places_`.
class HostEnd {
 protected:
  HostEnd(const Message& message, const EndSite& site, bool staged, bool straight, std::string row);
  std::unique_ptr<Moves> moves_of(std::vector<Mover> movers, const EndSite& site) const;
  /// Runs the movers of the whole message, if they have a launch of their own.
  void move(Stream& lane, const char* what, std::uint64_t sequence) const;
  std::int64_t bytes_held() const;
  void poison_packed(Stream& stream);

  Message message_;
  bool staged_, straight_;  // straight: movers access the place in host memory directly
  Lowering lowering_;
  Pieces pieces_;
  Span<std::byte> packed_, own_place_;
  PlaceRing places_;
  std::unique_ptr<Moves> moves_;  // movers of the whole message; null if the device's one launch runs them
  std::vector<PartMoves> parts_;  // movers by part, which replace moves_
  std::unique_ptr<Stream> lane_;
  Trace* trace_;
  std::string row_;  // name of the end's row in the trace
};

class HostSender final : public Sender, private HostEnd {
 public:
  HostSender(const Message& message, const EndSite& site, bool staged);
  ~HostSender() override;
  bool transfers() const override { return true; }
  void transfer(Stream& stream, std::uint64_t sequence) override;
  bool progress(std::uint64_t sequence) override;
  std::string waiting_for() const override;
  std::int64_t bytes() const override { return bytes_held(); }
  void poison(Stream& stream) override { poison_packed(stream); }

 private:
  enum class State { idle, waiting, copying };
  void make_movers(const EndSite& site);
  void make_parts(const EndSite& site);
  void start(std::uint64_t sequence);
  void pack_next(std::uint64_t sequence);
  const Event& copied(int piece) const { return copied_[copied_.size() == 1 ? 0 : static_cast<std::size_t>(piece)]; }

  const Failure* failure_;
  std::unique_ptr<Outlet> outlet_;
  std::size_t packed_parts_ = 0;
  Event ready_;  // recorded after the work that computes the caller's values
  std::vector<Event> copied_;
  Stream* stream_ = nullptr;
  State state_ = State::idle;
  int sent_ = 0;
};

class HostReceiver final : public Receiver, private HostEnd {
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
  std::int64_t bytes() const override { return bytes_held() + (staged_ ? 0 : bytes_of(own_place_)); }
  void poison(Stream& stream) override { poison_packed(stream); }

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

  bool uploads_;
  Device device_;
  std::unique_ptr<Inlet> inlet_;
  std::size_t unpacked_parts_ = 0;
  Event turn_[2];  // events of alternate exchanges: all readers of the previous exchange are done
  Event received_;
  std::unique_ptr<Stream> unpacking_;
  std::uint64_t opened_ = 0, turned_ = 0;
  std::uint64_t poisoned_ = 0;  // number of leading exchanges whose receive buffers were poisoned at set-up
  int uploaded_ = 0;
  bool waiting_ = false;
};

}  // namespace slipstream
