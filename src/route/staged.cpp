// Anywhere: pack, copy to pinned host memory, MPI, copy to the device, unpack. Both ends are small state machines.
#include <algorithm>
#include <cstring>

#include <slipstream/error.hpp>

#include "route/lower.hpp"
#include "route/routes.hpp"

namespace slipstream {
namespace {

/// What every message starts with, so that mismatched calls are errors and not wrong numbers.
struct Envelope {
  std::uint64_t plan = 0;
  std::uint64_t sequence = 0;
};
constexpr std::size_t envelope_room = 64;
constexpr std::size_t largest_mpi_message = std::size_t{1} << 30;

/// Requests for one message cut into pieces that MPI's int counts can name.
class Requests {
 public:
  Requests() = default;
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  /// A message that never came (its exchange timed out) must not arrive in memory that is gone.
  ~Requests() {
    int ended = 0;
    MPI_Finalized(&ended);
    for (MPI_Request& request : requests_) {
      if (ended || request == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&request);
      MPI_Request_free(&request);
    }
  }
  template <class Start>
  void start(std::size_t bytes, Start start_piece) {
    requests_.clear();
    for (std::size_t at = 0; at < bytes; at += largest_mpi_message) {
      requests_.push_back(MPI_REQUEST_NULL);
      start_piece(at, static_cast<int>(std::min(largest_mpi_message, bytes - at)), &requests_.back());
    }
  }
  bool done() {
    int flag = 1;
    if (!requests_.empty())
      check_mpi(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &flag, MPI_STATUSES_IGNORE),
                "complete a message");
    return flag != 0;
  }

 private:
  std::vector<MPI_Request> requests_;
};

class StagedSender final : public Sender {
 public:
  StagedSender(const Message& message, const SendSite& site)
      : message_(message),
        lowering_(site.device),
        packed_(site.device, message.bytes),
        host_(site.device, envelope_room + message.wire_bytes, Memory::pinned),
        copied_(site.device) {
    if (!message.codec->identity()) wire_ = Buffer<std::byte>(site.device, message.wire_bytes);
    Batch batch;
    for (const auto& places : site.sources)
      batch.movers.push_back(lowering_.to_slot(site.legs, places, {packed_.data(), {}}));
    batches.push_back(std::move(batch));
  }

  bool transfers() const override { return true; }
  void transfer(Stream& stream, std::uint64_t) override {
    const std::byte* from = packed_.data();
    if (!message_.codec->identity()) {
      message_.codec->encode(stream, packed_.data(), message_.bytes, wire_.data());
      from = wire_.data();
    }
    copy(stream, host_.data() + envelope_room, from, message_.wire_bytes);
    stream.record(copied_);
    state_ = State::copying;
  }

  bool progress(std::uint64_t sequence) override {
    if (state_ == State::copying && copied_.done()) {
      const Envelope envelope{message_.plan, sequence};
      std::memcpy(host_.data(), &envelope, sizeof envelope);
      requests_.start(host_.bytes(), [&](std::size_t at, int count, MPI_Request* request) {
        check_mpi(
            MPI_Isend(host_.data() + at, count, MPI_BYTE, message_.target_rank, message_.tag, message_.comm, request),
            "send a message");
      });
      state_ = State::sending;
    }
    if (state_ == State::sending && requests_.done()) state_ = State::idle;
    return state_ == State::idle;
  }

  std::string waiting_for() const override {
    const std::string peer =
        "device " + std::to_string(message_.target) + " on rank " + std::to_string(message_.target_rank);
    switch (state_) {
      case State::copying:
        return "its own copy to the host, bound for " + peer;
      case State::sending:
        return "the send to " + peer;
      case State::idle:
        break;
    }
    return {};
  }

 private:
  enum class State { idle, copying, sending };
  Message message_;
  Lowering lowering_;
  Buffer<std::byte> packed_, wire_, host_;
  Event copied_;
  Requests requests_;
  State state_ = State::idle;
};

class StagedReceiver final : public Receiver {
 public:
  StagedReceiver(const Message& message, const ReceiveSite& site)
      : message_(message),
        lowering_(site.device),
        packed_(site.device, message.bytes),
        host_(site.device, envelope_room + message.wire_bytes, Memory::pinned),
        uploaded_(site.device) {
    if (!message.codec->identity()) wire_ = Buffer<std::byte>(site.device, message.wire_bytes);
    Batch batch;
    if (message.combines) {
      for (const Leg& leg : site.legs) arrived.push_back({&leg, packed_.data() + leg.offset});
    } else {
      for (const auto& places : site.targets)
        batch.movers.push_back(lowering_.from_slot(site.legs, places, {packed_.data(), {}}));
    }
    batches.push_back(std::move(batch));
  }

  void post(std::uint64_t) override {
    uploaded_.synchronize();  // the last exchange's copy may still read the landing place
    requests_.start(host_.bytes(), [&](std::size_t at, int count, MPI_Request* request) {
      check_mpi(
          MPI_Irecv(host_.data() + at, count, MPI_BYTE, message_.source_rank, message_.tag, message_.comm, request),
          "receive a message");
    });
    waiting_ = true;
  }

  bool progress(std::uint64_t sequence) override {
    if (waiting_ && requests_.done()) {
      Envelope envelope;
      std::memcpy(&envelope, host_.data(), sizeof envelope);
      require(envelope.plan == message_.plan && envelope.sequence == sequence,
              "device " + std::to_string(message_.target) + " expected exchange " + std::to_string(sequence) +
                  " and got exchange " + std::to_string(envelope.sequence) + " from device " +
                  std::to_string(message_.source) + ": the ranks call their exchanges in different orders");
      waiting_ = false;
    }
    return !waiting_;
  }

  bool delivers() const override { return true; }
  void deliver(Stream& stream, std::uint64_t) override {
    if (message_.codec->identity()) {
      copy(stream, packed_.data(), host_.data() + envelope_room, message_.bytes);
      stream.record(uploaded_);
    } else {
      copy(stream, wire_.data(), host_.data() + envelope_room, message_.wire_bytes);
      stream.record(uploaded_);
      message_.codec->decode(stream, wire_.data(), message_.bytes, packed_.data());
    }
  }

  std::string waiting_for() const override {
    return waiting_ ? "the message of device " + std::to_string(message_.source) + " on rank " +
                          std::to_string(message_.source_rank)
                    : std::string();
  }

 private:
  Message message_;
  Lowering lowering_;
  Buffer<std::byte> packed_, wire_, host_;
  Event uploaded_;
  Requests requests_;
  bool waiting_ = false;
};

class StagedRoute final : public Route {
 public:
  RouteKind kind() const override { return RouteKind::staged; }
  Facts capability() const override {
    return {{"between", "any two devices"},
            {"patterns", "any"},
            {"operations", "all"},
            {"origin of memory", "any"},
            {"ranks per device", "any"},
            {"devices per rank", "any"},
            {"capturable", "no: the host drives MPI"}};
  }
  Facts execution() const override {
    return {{"host work in begin", "queues kernels and copies, posts receives"},
            {"host work in end", "drives the copies and MPI until all have arrived"},
            {"holds while waiting", "the host"},
            {"in flight at once", "1"},
            {"fields rebindable", "among the field's own copies"},
            {"after a time-out", "old ghost values; the exchange is unusable"}};
  }
  std::string refusal(const Pair&) const override { return ""; }
  bool needs_host() const override { return true; }
  std::unique_ptr<Sender> sender(const Message& message, const SendSite& site) const override {
    return std::make_unique<StagedSender>(message, site);
  }
  std::unique_ptr<Receiver> receiver(const Message& message, const ReceiveSite& site) const override {
    return std::make_unique<StagedReceiver>(message, site);
  }
};

}  // namespace

const Route& staged_route() {
  static const StagedRoute route;
  return route;
}

}  // namespace slipstream
