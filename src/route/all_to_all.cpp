#include "route/all_to_all.hpp"

#include <algorithm>
#include <limits>

#include <slipstream/error.hpp>

#include "device/kept_memory.hpp"
#include "machine/agree.hpp"
#include "machine/records.hpp"
#include "machine/rendezvous.hpp"
#include "machine/timeout.hpp"
#include "mover/lower.hpp"

namespace slipstream {
namespace {

/// Bytes of the unit of counts passed to MPI, which are int. The MPI type is predefined: derived types do not work with
/// device memory everywhere.
constexpr std::int64_t unit = 16;
MPI_Datatype unit_type() { return MPI_C_DOUBLE_COMPLEX; }

class AllToAllOutlet final : public Outlet {
 public:
  AllToAllOutlet(AllToAll& mail, const Pieces& pieces) : mail_(mail), pieces_(pieces.count()) {}
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

class AllToAllInlet final : public Inlet {
 public:
  AllToAllInlet(AllToAll& mail, const Pieces& pieces) : mail_(mail), pieces_(pieces.count()) {}
  void open(std::uint64_t) override { mail_.opened(); }
  bool early() const override { return false; }
  int arrived(std::uint64_t sequence) override { return mail_.over(sequence) ? pieces_ : 0; }
  std::string escort() const override { return "the call for all ranks"; }

 private:
  AllToAll& mail_;
  int pieces_;
};

int as_int(std::int64_t units) {
  require(units <= std::numeric_limits<int>::max(), ErrorCode::unsupported,
          "a rank sends or receives " + std::to_string(units * unit) +
              " B in one call of MPI, which counts at most 2^31 pieces of " + std::to_string(unit) +
              " B: choose mpi = sends, or use more ranks",
          {{"option", "mpi"}, {"needed", units}, {"limit", std::numeric_limits<int>::max()}});
  return static_cast<int>(units);
}

const char* name_of_call(MpiCalls calls) {
  switch (calls) {
    case MpiCalls::alltoallv:
      return "MPI_Alltoallv";
    case MpiCalls::ialltoallv:
      return "MPI_Ialltoallv";
    case MpiCalls::put_fence:
      return "MPI_Put between fences";
    default:
      return "MPI_Put under locks";
  }
}

bool leaves_rank(const Machine& machine, const RouteSetup::Letter& letter) {
  return machine.device(letter.source).rank != machine.device(letter.target).rank;
}

bool by_puts(MpiCalls calls) { return calls == MpiCalls::put_fence || calls == MpiCalls::put_lock; }

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

AllToAll::AllToAll(const RouteSetup& setup, bool staged)
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
  const bool member = std::find(members_.begin(), members_.end(), rank_) != members_.end();
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

/// Finds the ranks that send or receive by the route. Collective.
void AllToAll::find_members(const RouteSetup& setup, bool staged) {
  const auto carried = [&](const RouteSetup::Letter& letter) { return !staged || leaves_rank(setup.machine, letter); };
  const bool mine = std::any_of(setup.letters.begin(), setup.letters.end(), carried);
  const std::vector<std::int64_t> all = setup.comm.all_gather(std::int64_t{mine});
  for (int rank = 0; rank < setup.comm.size(); ++rank)
    if (all[static_cast<std::size_t>(rank)]) members_.push_back(rank);
}

/// Lays out blocks of messages. Both ends of a block know all its messages, and order them by source, then target.
void AllToAll::lay_out(const RouteSetup& setup, bool staged) {
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
    const int other = members_[m];
    Block b;
    b.rank = static_cast<int>(m);
    b.units = block(rank_, other) / unit;
    b.outgoing = bytes_out_;
    b.incoming = bytes_in_;
    bytes_out_ += block(rank_, other);
    bytes_in_ += block(other, rank_);
    counts_out_.push_back(as_int(block(rank_, other) / unit));
    counts_in_.push_back(as_int(block(other, rank_) / unit));
    at_out_.push_back(as_int(b.outgoing / unit));
    at_in_.push_back(as_int(b.incoming / unit));
    blocks_.push_back(b);
  }
  for (const auto& [devices, at] : within) {
    const int from = rank_of(devices.first), to = rank_of(devices.second);
    if (from != rank_ && to != rank_) continue;
    auto& [sent, received] = offsets_[devices];
    for (std::size_t m = 0; m < members_.size(); ++m) {
      if (members_[m] == to) sent = blocks_[m].outgoing + at;
      if (members_[m] == from) received = blocks_[m].incoming + at;
    }
  }
}

/// Exchanges offsets for MPI_Put: where this rank's blocks lie in the other ranks' windows. Each rank sends the offsets
/// in its own window. A window holds its receive buffers one after another. Collective.
void AllToAll::tell_offsets(const RouteSetup& setup) {
  struct Told {
    std::int64_t there, whole;
  };
  std::map<int, std::string> told;
  for (std::size_t m = 0; m < members_.size(); ++m)
    if (counts_in_[m]) append_record(told[members_[m]], Told{blocks_[m].incoming, bytes_in_});
  const std::map<int, std::string> received = rendezvous(*setup.own, std::move(told), setup.timeout);
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const auto found = received.find(members_[m]);
    if (found == received.end()) continue;
    const Told there = records_of<Told>({found->second}).at(0);
    blocks_[m].there = there.there;
    blocks_[m].whole = there.whole;
  }
}

void AllToAll::allocate(const RouteSetup& setup, bool staged) {
  const std::vector<int> mine = setup.machine.devices_of_rank(rank_);
  if (mine.empty()) return;
  const Arena arena = setup.comm.arena(setup.machine.device(mine.front()).local);
  const Memory memory = staged ? Memory::pinned : Memory::message;
  if (bytes_out_) out_ = arena.take<std::byte>(static_cast<std::size_t>(bytes_out_), memory);
  if (bytes_in_) in_ = arena.take<std::byte>(static_cast<std::size_t>(bytes_in_ * depth_), memory);
}

AllToAll::~AllToAll() {
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

/// Whether no rank has a call under way; false also if a rank does not answer in time. The question uses another
/// communicator than the calls, because a call may stay pending for ever.
bool AllToAll::all_are_clean() {
  constexpr double seconds = 5;
  return farewell_.greatest(dirty_, seconds) == 0;
}

PlaceRing AllToAll::outgoing_place(const Message& message) const {
  // The cast is safe, because the buffer of an outgoing message is only read.
  std::byte* const base = const_cast<std::byte*>(out_.data());
  return {base + offsets_.at({message.source, message.target}).first};
}

PlaceRing AllToAll::incoming_places(const Message& message) const {
  std::byte* const base = const_cast<std::byte*>(in_.data());
  return {base + offsets_.at({message.source, message.target}).second, static_cast<std::size_t>(bytes_in_), depth_};
}

std::unique_ptr<Outlet> AllToAll::outlet(const Message& message) {
  return std::make_unique<AllToAllOutlet>(*this, pieces_of(message, depth_ == 2));
}

std::unique_ptr<Inlet> AllToAll::inlet(const Message& message) {
  return std::make_unique<AllToAllInlet>(*this, pieces_of(message, depth_ == 2));
}

void AllToAll::meet() { check_mpi(MPI_Ibarrier(comm_, &request_), "meet the ranks of an exchange"); }

bool AllToAll::answered() {
  int flag = 0;
  check_mpi(MPI_Test(&request_, &flag, MPI_STATUS_IGNORE), "complete a call for all ranks");
  return flag != 0;
}

bool AllToAll::progress(std::uint64_t sequence) {
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
    check_mpi(MPI_Win_lock(MPI_LOCK_SHARED, blocks_[0].rank, 0, window_), "lock a window");
    check_mpi(MPI_Win_sync(window_), "see what other ranks put");
    check_mpi(MPI_Win_unlock(blocks_[0].rank, window_), "unlock a window");
  }
  done_ = sequence;
  return true;
}

void AllToAll::call() {
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
void AllToAll::put() {
  const std::size_t count = blocks_.size();
  const auto me = static_cast<std::size_t>(std::find(members_.begin(), members_.end(), rank_) - members_.begin());
  for (std::size_t n = 0; n < count; ++n) {
    const Block& b = blocks_[(me + n) % count];
    if (b.units == 0) continue;
    const bool locks = calls_ == MpiCalls::put_lock;
    if (locks) check_mpi(MPI_Win_lock(MPI_LOCK_SHARED, b.rank, 0, window_), "lock a window");
    const MPI_Aint place = static_cast<MPI_Aint>((sequence_ - 1) % static_cast<unsigned>(depth_)) * b.whole + b.there;
    check_mpi(MPI_Put(out_.data() + b.outgoing, as_int(b.units), unit_type(), b.rank, place, as_int(b.units),
                      unit_type(), window_),
              "put a message into another rank's window");
    if (locks) check_mpi(MPI_Win_unlock(b.rank, window_), "unlock a window");
  }
  if (calls_ == MpiCalls::put_fence) check_mpi(MPI_Win_fence(0, window_), "end an epoch of a window");
}

std::string AllToAll::waiting_for() const {
  if (phase_ == Phase::gathering || done_ >= sequence_) return {};
  return "the " + std::to_string(members_.size()) + " ranks that meet in " + name_of_call(calls_);
}

std::string AllToAll::remark(int source, int target) const {
  return offsets_.contains({source, target}) ? std::string("travels in one call for all ranks, ") + name_of_call(calls_)
                                             : "";
}

/// Keeps the buffers if a call is pending: a call that some ranks never enter cannot be cancelled.
void AllToAll::leave() {
  dirty_ = sequence_ > 0 && done_ < sequence_ && phase_ != Phase::gathering;
  if (!dirty_) return;
  keep_for_ever(std::move(out_));
  keep_for_ever(std::move(in_));
}

void AllToAll::keep_memory() {
  abandoned_ = true;
  keep_for_ever(std::move(out_));
  keep_for_ever(std::move(in_));
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
    const std::string why = proof_of_calls(setup);
    require(why.empty(), ErrorCode::unavailable,
            "mpi = " + to_string(setup.knobs.mpi) + " with the route gpu_mpi: " + why +
                ": choose mpi = sends or another call, or the route staged",
            {{"option", "mpi"}, {"given", to_string(setup.knobs.mpi)}, {"reason", why}});
  }
  return std::make_shared<AllToAll>(setup, staged);
}

}  // namespace slipstream
