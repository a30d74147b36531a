#include "route/all_to_all.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include <slipstream/arena.hpp>
#include <slipstream/error.hpp>
#include <slipstream/stream.hpp>

#include "device/kept_memory.hpp"
#include "device/names.hpp"
#include "machine/agree.hpp"
#include "machine/deadline.hpp"
#include "machine/private_communicator.hpp"
#include "machine/records.hpp"
#include "machine/rendezvous.hpp"
#include "machine/timeout.hpp"
#include "mover/lower.hpp"
#include "node/transport.hpp"

namespace slipstream {
namespace {

/// Bytes of the unit of counts passed to MPI, which are int. The MPI type is predefined: derived types do not work with
/// device memory everywhere.
constexpr std::int64_t unit = 16;
MPI_Datatype unit_type() { return MPI_C_DOUBLE_COMPLEX; }

int as_int(std::int64_t units) {
  require(units <= std::numeric_limits<int>::max(), ErrorCode::unsupported,
          "a rank sends or receives " + std::to_string(units * unit) +
              " B in one call of MPI, which counts at most 2^31 pieces of " + std::to_string(unit) +
              " B: choose mpi = sends, or use more ranks",
          {{"option", "mpi"}, {"needed", units}, {"limit", std::numeric_limits<int>::max()}});
  return static_cast<int>(units);
}

constexpr std::pair<const char*, MpiCalls> call_names[] = {{"MPI_Alltoallv", MpiCalls::alltoallv},
                                                           {"MPI_Ialltoallv", MpiCalls::ialltoallv},
                                                           {"MPI_Put between fences", MpiCalls::put_fence},
                                                           {"MPI_Put under locks", MpiCalls::put_lock}};

bool leaves_rank(const Machine& machine, const RouteSetup::Letter& letter) {
  return machine.device(letter.source).rank != machine.device(letter.target).rank;
}

bool by_puts(MpiCalls calls) { return calls == MpiCalls::put_fence || calls == MpiCalls::put_lock; }

/// Messages of a route that travel in one MPI call for all ranks: MPI_Alltoallv, MPI_Ialltoallv, or MPI_Put between
/// fences or under locks. Outgoing messages are contiguous in one buffer, ordered by their target ranks. Incoming
/// messages are contiguous in a second buffer, ordered by their source ranks. Both are pinned host memory for `staged`
/// and device memory for `gpu_mpi`. The call starts when all messages of this rank are packed and all their receive
/// buffers are free.
///
/// All ranks pass two nonblocking barriers before a blocking call. If some ranks have timed out, the second barrier
/// never completes. A late rank therefore times out too, instead of blocking for ever.
///
/// Both buffers are spans of the arena. A window also uses such a span, since MPI_Win_create takes any memory.
///
/// The messages have no envelopes. Calls match by their order on a communicator of this exchange. A rank in another
/// exchange, or in none, therefore only delays the others.
class AllToAll final : public Mail {
 public:
  /// Allocates the buffers of messages. `staged`: in host memory, and only for messages between ranks. Collective.
  AllToAll(const RouteSetup& setup, bool staged)
      : calls_(setup.knobs.mpi),
        rank_(setup.comm.rank()),
        depth_(staged ? 2 : 1),
        farewell_(setup.comm, "the end of an exchange in calls for all ranks") {
    const std::string refusal = refusal_of(setup.comm, calls_);
    find_members(setup, staged);
    on_all_ranks(setup.comm, [&] {
      require(refusal.empty(), ErrorCode::unavailable, refusal, {{"option", "mpi"}, {"given", to_string(calls_)}});
      lay_out(setup, staged);
      allocate(setup, staged);
    });
    const bool member = place_of(rank_) < members_.size();
    // Each step of set-up is collective. If one fails on some rank, all ranks stop before the next one.
    on_all_ranks(setup.comm, [&] {
      check_mpi(MPI_Comm_split(setup.own->mpi(), member ? 0 : MPI_UNDEFINED, rank_, &comm_),
                "gather the ranks of an exchange");
    });
    if (!by_puts(calls_)) return;
    tell_offsets(setup);
    on_all_ranks(setup.comm, [&] {
      if (!member) return;
      check_mpi(MPI_Win_create(in_.data(), static_cast<MPI_Aint>(in_.bytes()), 1, MPI_INFO_NULL, comm_, &window_),
                "open the places of messages to other ranks");
      MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN);
    });
    on_all_ranks(setup.comm, [&] {
      if (member && calls_ == MpiCalls::put_fence) check_mpi(MPI_Win_fence(0, window_), "begin an epoch of a window");
    });
  }

  ~AllToAll() override {
    int ended = 0;
    MPI_Finalized(&ended);
    if (ended) return;
    // All ranks must free an MPI window together. If some cannot, the window must keep this rank's memory.
    if (abandoned_ || !all_are_clean()) {
      keep_memory();
      farewell_.leave_alone();
      return;
    }
    if (comm_ == MPI_COMM_NULL) return;
    if (window_ != MPI_WIN_NULL) {
      if (calls_ == MpiCalls::put_fence) MPI_Win_fence(0, window_);
      MPI_Win_free(&window_);
    }
    MPI_Comm_free(&comm_);
  }

  AllToAll(const AllToAll&) = delete;
  AllToAll& operator=(const AllToAll&) = delete;

  bool carries(const Message& message) const override { return offsets_.contains({message.source, message.target}); }
  PlaceRing outgoing_place(const Message& message) const override {
    return {out_.data() + offsets_.at({message.source, message.target}).first};
  }

  PlaceRing incoming_places(const Message& message) const override {
    return {in_.data() + offsets_.at({message.source, message.target}).second, static_cast<std::size_t>(bytes_in_),
            depth_};
  }

  std::unique_ptr<Outlet> outlet(const Message& message) override {
    return std::make_unique<CallOutlet>(*this, pieces_of(message, depth_ == 2));
  }

  std::unique_ptr<Inlet> inlet(const Message& message) override {
    return std::make_unique<CallInlet>(*this, pieces_of(message, depth_ == 2));
  }

  bool progress(std::uint64_t sequence) override {
    if (sequence != sequence_) {
      sequence_ = sequence;
      phase_ = Phase::gathering;
      packed_ = opened_ = 0;
    }
    if (done_ >= sequence || comm_ == MPI_COMM_NULL) return true;
    if (phase_ == Phase::gathering) {
      if (packed_ < sends_ || opened_ < receives_ || (blocks() && ending_ < sequence)) return false;
      phase_ = blocks() ? Phase::meeting : Phase::calling;
      blocks() ? meet() : call();
    }
    if (phase_ == Phase::meeting) {
      if (!answered()) return false;
      phase_ = Phase::agreeing;
      meet();
    }
    if (phase_ == Phase::agreeing) {
      if (!answered()) return false;
      call();
      phase_ = Phase::calling;
      if (calls_ == MpiCalls::put_lock) {
        phase_ = Phase::leaving;
        meet();
      }
    }
    if (!answered()) return false;
    if (phase_ == Phase::leaving) {
      // Makes the values that other ranks have put in the window visible to this rank.
      check_mpi(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window_), "lock a window");
      check_mpi(MPI_Win_sync(window_), "see what other ranks put");
      check_mpi(MPI_Win_unlock(0, window_), "unlock a window");
    }
    done_ = sequence;
    return true;
  }

  void ending(std::uint64_t sequence) override { ending_ = sequence; }
  std::string waiting_for() const override {
    if (phase_ == Phase::gathering || done_ >= sequence_) return {};
    return "the " + std::to_string(members_.size()) + " ranks that meet in " + name_in(call_names, calls_);
  }

  std::string remark(int source, int target) const override {
    return offsets_.contains({source, target}) ? "travels in one call for all ranks, " + name_in(call_names, calls_)
                                               : "";
  }

  /// Keeps the buffers if a call is pending: a call that some ranks never enter cannot be cancelled.
  void leave() override {
    dirty_ = sequence_ > 0 && done_ < sequence_ && phase_ != Phase::gathering;
    if (!dirty_) return;
    keep_for_ever(std::move(out_));
    keep_for_ever(std::move(in_));
  }

  void keep_memory() override {
    abandoned_ = true;
    keep_for_ever(std::move(out_));
    keep_for_ever(std::move(in_));
  }

  /// Count packed messages and free receive buffers. The host calls MPI once all messages of the exchange are counted.
  void packed() { ++packed_; }
  void opened() { ++opened_; }
  bool over(std::uint64_t sequence) const { return done_ >= sequence; }

 private:
  class CallOutlet final : public Outlet {
   public:
    CallOutlet(AllToAll& mail, const Pieces& pieces) : mail_(mail), pieces_(pieces.count()) {}
    void send(int piece, std::uint64_t sequence) override {
      sequence_ = sequence;
      if (piece + 1 == pieces_) mail_.packed();
    }
    bool sent() override { return mail_.over(sequence_); }
    std::string escort() const override { return "the call for all ranks"; }

   private:
    AllToAll& mail_;
    int pieces_;
    std::uint64_t sequence_ = 0;
  };

  class CallInlet final : public Inlet {
   public:
    CallInlet(AllToAll& mail, const Pieces& pieces) : mail_(mail), pieces_(pieces.count()) {}
    void open(std::uint64_t) override { mail_.opened(); }
    bool early() const override { return false; }
    int arrived(std::uint64_t sequence) override { return mail_.over(sequence) ? pieces_ : 0; }
    std::string escort() const override { return "the call for all ranks"; }

   private:
    AllToAll& mail_;
    int pieces_;
  };

  enum class Phase : std::uint8_t { gathering, meeting, agreeing, calling, leaving };
  /// Place of this rank's messages in another rank's window, in bytes, and the size of one of the window's buffers.
  struct PeerBuffer {
    std::int64_t at = 0, bytes = 0;
  };
  /// Finds the ranks that send or receive by the route. Collective.
  void find_members(const RouteSetup& setup, bool staged) {
    const auto carried = [&](const RouteSetup::Letter& letter) {
      return !staged || leaves_rank(setup.machine, letter);
    };
    const bool mine = std::any_of(setup.letters.begin(), setup.letters.end(), carried);
    const std::vector<std::int64_t> all = setup.comm.all_gather(std::int64_t{mine});
    for (int rank = 0; rank < setup.comm.size(); ++rank)
      if (all[static_cast<std::size_t>(rank)]) members_.push_back(rank);
  }

  /// Lays out blocks of messages. Both ends of a block know all its messages, and order them by source, then target.
  void lay_out(const RouteSetup& setup, bool staged) {
    const auto rank_of = [&](int device) { return setup.machine.device(device).rank; };
    std::map<std::pair<int, int>, std::int64_t> bytes;  // bytes of all messages, by sending and receiving rank
    // offset of each message among those of its two ranks, by source and target device
    std::map<std::pair<int, int>, std::int64_t> within;
    for (const RouteSetup::Letter& letter : setup.letters) {
      const std::pair ranks{rank_of(letter.source), rank_of(letter.target)};
      if (staged && ranks.first == ranks.second) continue;
      within[{letter.source, letter.target}] = bytes[ranks];
      bytes[ranks] += static_cast<std::int64_t>(round_up(letter.bytes, slot_alignment));
      sends_ += ranks.first == rank_;
      receives_ += ranks.second == rank_;
    }
    for (int rank = 0; rank < setup.comm.size(); ++rank)
      require(staged || setup.machine.devices_of_rank(rank).size() == 1, ErrorCode::unsupported,
              std::string("mpi = ") + to_string(calls_) + " with the route gpu_mpi takes one buffer a rank, and rank " +
                  std::to_string(rank) + " has " + std::to_string(setup.machine.devices_of_rank(rank).size()) +
                  " devices: use one device a rank, the route staged, or mpi = sends",
              {{"option", "mpi"}, {"given", to_string(calls_)}, {"rank", rank}});
    const auto block = [&](int from, int to) {
      const auto found = bytes.find({from, to});
      return found == bytes.end() ? std::int64_t{0} : found->second;
    };
    for (std::size_t m = 0; m < members_.size(); ++m) {
      counts_out_.push_back(as_int(block(rank_, members_[m]) / unit));
      counts_in_.push_back(as_int(block(members_[m], rank_) / unit));
      at_out_.push_back(as_int(bytes_out_ / unit));
      at_in_.push_back(as_int(bytes_in_ / unit));
      bytes_out_ += block(rank_, members_[m]);
      bytes_in_ += block(members_[m], rank_);
    }
    for (const auto& [devices, at] : within) {
      const int from = rank_of(devices.first), to = rank_of(devices.second);
      if (from == rank_ || to == rank_)
        offsets_[devices] = {unit * at_out_[place_of(to)] + at, unit * at_in_[place_of(from)] + at};
    }
  }

  /// Exchanges offsets for MPI_Put: where this rank's blocks lie in the other ranks' windows. Each rank sends the
  /// offsets in its own window. A window holds its receive buffers one after another. Collective.
  void tell_offsets(const RouteSetup& setup) {
    std::map<int, std::string> told;
    for (std::size_t m = 0; m < members_.size(); ++m)
      if (counts_in_[m]) append_record(told[members_[m]], PeerBuffer{unit * at_in_[m], bytes_in_});
    peers_.resize(members_.size());
    for (const auto& [rank, text] : rendezvous(*setup.own, std::move(told), setup.timeout))
      peers_[place_of(rank)] = records_of<PeerBuffer>({text}).at(0);
  }

  void allocate(const RouteSetup& setup, bool staged) {
    const std::vector<int> mine = setup.machine.devices_of_rank(rank_);
    if (mine.empty()) return;
    const Arena arena = setup.comm.arena(setup.machine.device(mine.front()).local);
    const Memory memory = staged ? Memory::pinned : Memory::message;
    if (bytes_out_) out_ = arena.take<std::byte>(static_cast<std::size_t>(bytes_out_), memory);
    if (bytes_in_) in_ = arena.take<std::byte>(static_cast<std::size_t>(bytes_in_ * depth_), memory);
  }

  /// Index of a rank among the ranks that send or receive by this route; their number if it is none of them.
  std::size_t place_of(int rank) const {
    return static_cast<std::size_t>(std::find(members_.begin(), members_.end(), rank) - members_.begin());
  }

  bool blocks() const { return calls_ != MpiCalls::ialltoallv; }
  void meet() { check_mpi(MPI_Ibarrier(comm_, &request_), "meet the ranks of an exchange"); }
  bool answered() {
    int flag = 0;
    check_mpi(MPI_Test(&request_, &flag, MPI_STATUS_IGNORE), "complete a call for all ranks");
    return flag != 0;
  }

  void call() {
    std::byte* const to =
        in_.data() + static_cast<std::int64_t>((sequence_ - 1) % static_cast<unsigned>(depth_)) * bytes_in_;
    if (calls_ == MpiCalls::alltoallv) {
      check_mpi(MPI_Alltoallv(out_.data(), counts_out_.data(), at_out_.data(), unit_type(), to, counts_in_.data(),
                              at_in_.data(), unit_type(), comm_),
                "exchange the messages of all ranks");
    } else if (calls_ == MpiCalls::ialltoallv) {
      check_mpi(MPI_Ialltoallv(out_.data(), counts_out_.data(), at_out_.data(), unit_type(), to, counts_in_.data(),
                               at_in_.data(), unit_type(), comm_, &request_),
                "exchange the messages of all ranks");
    } else {
      put();
    }
  }

  /// Puts blocks into other ranks' windows, from the own rank on, so that ranks do not all put to the same one at once.
  void put() {
    const bool locks = calls_ == MpiCalls::put_lock;
    for (std::size_t n = 0; n < members_.size(); ++n) {
      const std::size_t m = (place_of(rank_) + n) % members_.size();
      if (counts_out_[m] == 0) continue;
      const int rank = static_cast<int>(m);
      if (locks) check_mpi(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window_), "lock a window");
      const MPI_Aint place =
          static_cast<MPI_Aint>((sequence_ - 1) % static_cast<unsigned>(depth_)) * peers_[m].bytes + peers_[m].at;
      check_mpi(MPI_Put(out_.data() + unit * at_out_[m], counts_out_[m], unit_type(), rank, place, counts_out_[m],
                        unit_type(), window_),
                "put a message into another rank's window");
      if (locks) check_mpi(MPI_Win_unlock(rank, window_), "unlock a window");
    }
    if (calls_ == MpiCalls::put_fence) check_mpi(MPI_Win_fence(0, window_), "end an epoch of a window");
  }

  /// Whether no rank has a call under way; false also if a rank does not answer in time. The question uses another
  /// communicator than the calls, because a call may stay pending for ever.
  bool all_are_clean() {
    constexpr double seconds = 5;
    return farewell_.greatest(dirty_, seconds) == 0;
  }

  MpiCalls calls_;
  int rank_ = 0;
  int depth_ = 2;  // number of receive buffers, which are used in turn
  std::vector<int> members_;
  // offsets of a message in the send and the receive buffer in bytes, by source and target device
  std::map<std::pair<int, int>, std::pair<std::int64_t, std::int64_t>> offsets_;
  // counts and offsets for MPI_Alltoallv in the send and the receive buffer, by rank, in units of 16 bytes
  std::vector<int> counts_out_, counts_in_, at_out_, at_in_;
  std::vector<PeerBuffer> peers_;
  std::int64_t bytes_out_ = 0, bytes_in_ = 0;
  int sends_ = 0, receives_ = 0;  // number of messages that this rank sends and receives
  Span<std::byte> out_, in_;
  MPI_Comm comm_ = MPI_COMM_NULL;  // communicator of this object alone, because calls match by their order
  PrivateCommunicator farewell_;
  MPI_Win window_ = MPI_WIN_NULL;
  MPI_Request request_ = MPI_REQUEST_NULL;
  Phase phase_ = Phase::gathering;
  std::uint64_t sequence_ = 0, ending_ = 0, done_ = 0;
  int packed_ = 0, opened_ = 0;
  bool dirty_ = false;      // whether an MPI call is still pending
  bool abandoned_ = false;  // whether some rank did not take part in the teardown
};

unsigned char value_of(int source, int target, std::size_t n) {
  return static_cast<unsigned char>(source * 37 + target * 11 + static_cast<int>(n % 251) + 1);
}

/// Sends one message from each rank to each, from device memory to device memory.
class Trial {
 public:
  Trial(const RouteSetup& setup, std::size_t bytes)
      : setup_(setup),
        bytes_(bytes),
        me_(setup.machine.devices_of_rank(setup.comm.rank()).front()),
        device_(setup.machine.device(me_).local),
        host_(device_, bytes, Memory::pinned) {
    setup_.letters.clear();
    setup_.comm = unshared(setup.comm);  // an unshared communicator, because a failed trial leaves calls pending
    for (int source = 0; source < setup.machine.devices(); ++source)
      for (int target = 0; target < setup.machine.devices(); ++target)
        if (source == me_ || target == me_) setup_.letters.push_back({source, target, bytes});
    mail_ = std::make_unique<AllToAll>(setup_, false);
  }
  void write() {
    for (int other = 0; other < setup_.machine.devices(); ++other) {
      for (std::size_t n = 0; n < bytes_; ++n) host_.data()[n] = static_cast<std::byte>(value_of(me_, other, n));
      bring(mail_->outgoing_place(letter(me_, other)).base, host_.data());
      for (std::size_t n = 0; n < bytes_; ++n) host_.data()[n] = std::byte{0};
      bring(mail_->incoming_places(letter(other, me_)).of(1), host_.data());
    }
  }
  std::string run(Liar liar) {
    if (liar) liar(mail_->outgoing_place(letter(me_, me_)).base, bytes_);
    mail_->progress(1);  // starts the MPI call
    for (int other = 0; other < setup_.machine.devices(); ++other) {
      mail_->packed();
      mail_->opened();
    }
    mail_->ending(1);
    return asked_until([&] { return mail_->progress(1); }, gpu_mpi_seconds) ? "" : "the call took too long";
  }
  std::string verify() {
    for (int other = 0; other < setup_.machine.devices(); ++other) {
      bring(host_.data(), mail_->incoming_places(letter(other, me_)).of(1));
      for (std::size_t n = 0; n < bytes_; ++n)
        if (host_.data()[n] != static_cast<std::byte>(value_of(other, me_, n)))
          return "messages of " + std::to_string(bytes_) + " bytes between device memories arrived changed";
    }
    return {};
  }
  /// Keeps for ever the memory that other ranks may still write to, and the window, which only all ranks together can
  /// free.
  void leave() {
    mail_->leave();
    mail_->keep_memory();
  }

 private:
  static Message letter(int source, int target) {
    Message m;
    m.source = source;
    m.target = target;
    return m;
  }
  void bring(std::byte* to, const std::byte* from) {
    Stream stream(device_);
    copy(stream, to, from, bytes_);
    stream.synchronize();
  }

  RouteSetup setup_;
  std::size_t bytes_;
  int me_;
  Device device_;
  Buffer<std::byte> host_;
  std::unique_ptr<AllToAll> mail_;
};

/// Runs a test of MPI's all-to-all calls. Returns its description of a failure, or the text of the exception it throws.
std::string words_of(const std::function<std::string()>& trial) {
  std::string words;
  const Problem thrown = failure_of([&] { words = trial(); });
  return thrown ? thrown->what() : words;
}

}  // namespace

std::string refusal_of(const Communicator& comm, MpiCalls calls) {
  if (!by_puts(calls)) return {};
  std::vector<std::byte> place(unit);
  MPI_Win window = MPI_WIN_NULL;
  std::string failure;
  try {
    check_mpi(MPI_Win_create(place.data(), unit, 1, MPI_INFO_NULL, comm.mpi(), &window), "open a window");
  } catch (const Error& error) {
    failure = "mpi = " + to_string(calls) + " needs windows, and here " + error.what() +
              ": choose mpi = sends, alltoallv or ialltoallv";
  }
  failure = first_failure(comm, failure);
  if (failure.empty()) MPI_Win_free(&window);
  return failure;
}

std::string try_calls(const RouteSetup& setup, Liar liar) {
  // Blocking calls of MPI have no timeout, so a deadline ends the job.
  const Deadline deadline(setup.comm, 3 * gpu_mpi_seconds,
                          "the proof that MPI takes device memory with mpi = " + to_string(setup.knobs.mpi));
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{1} << 20}) {
    std::unique_ptr<Trial> trial;
    std::string problem = text_of(first_failure(setup.comm, failure_of([&] {
                                                  trial = std::make_unique<Trial>(setup, bytes);
                                                  trial->write();
                                                })));
    if (!problem.empty()) return problem;
    problem = first_failure(setup.comm, without_crash([&] { return words_of([&] { return trial->run(liar); }); }));
    if (problem.empty()) problem = first_failure(setup.comm, words_of([&] { return trial->verify(); }));
    if (problem.empty()) continue;
    trial->leave();
    return problem;
  }
  return {};
}

std::shared_ptr<RouteState> all_to_all_mail(const RouteSetup& setup, bool staged) {
  if (setup.knobs.mpi == MpiCalls::sends) return nullptr;
  require(setup.knobs.grouping == Grouping::devices, ErrorCode::unsupported,
          "grouping = nodes sends one message for each pair of nodes, and mpi = " + to_string(setup.knobs.mpi) +
              " one call for all ranks: choose one of them",
          {{"option", "grouping"}});
  const auto leaves = [&](const RouteSetup::Letter& letter) { return leaves_rank(setup.machine, letter); };
  if (setup.comm.all(std::none_of(setup.letters.begin(), setup.letters.end(), leaves))) return nullptr;
  if (!staged && setup.machine.most_devices_of_rank() == 1) {
    const std::string why = answer_of(setup.comm, to_string(setup.knobs.mpi), setup.machine.device(0).local.backend,
                                      [&] { return try_calls(setup); });
    require(why.empty(), ErrorCode::unavailable,
            "mpi = " + to_string(setup.knobs.mpi) + " with the route gpu_mpi: " + why +
                ": choose mpi = sends or another call, or the route staged",
            {{"option", "mpi"}, {"given", to_string(setup.knobs.mpi)}, {"reason", why}});
  }
  return std::make_shared<AllToAll>(setup, staged);
}

}  // namespace slipstream
