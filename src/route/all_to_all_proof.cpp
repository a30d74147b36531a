// Tests MPI calls for all ranks on device memory before an exchange relies on them.
#include <slipstream/error.hpp>
#include <slipstream/stream.hpp>

#include "machine/agree.hpp"
#include "machine/deadline.hpp"
#include "machine/mpi_trials.hpp"
#include "machine/timeout.hpp"
#include "route/all_to_all.hpp"

namespace slipstream {
namespace {

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

MpiQuestion question_of(MpiCalls calls) {
  switch (calls) {
    case MpiCalls::ialltoallv:
      return MpiQuestion::ialltoallv;
    case MpiCalls::put_fence:
      return MpiQuestion::put_fence;
    case MpiCalls::put_lock:
      return MpiQuestion::put_lock;
    default:
      return MpiQuestion::alltoallv;
  }
}

/// Runs a trial and returns its result, or the text of the exception that it throws.
std::string words_of(const std::function<std::string()>& trial) {
  std::string words;
  const Problem thrown = failure_of([&] { words = trial(); });
  return thrown ? thrown->what() : words;
}

}  // namespace

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

std::string proof_of_calls(const RouteSetup& setup) {
  const Backend backend = setup.machine.device(0).local.backend;
  return answer_of(setup.comm, question_of(setup.knobs.mpi), backend, [&] { return try_calls(setup); });
}

}  // namespace slipstream
