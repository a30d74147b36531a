#include <dlfcn.h>
#include <unistd.h>

#include <bit>
#include <climits>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>

#include <slipstream/communicator.hpp>
#include <slipstream/error.hpp>

#include "device/decimal_point.hpp"
#include "machine/end.hpp"
#include "machine/sum.hpp"
#include "machine/timeout.hpp"

namespace slipstream {

void check_mpi(int code, const std::string& what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(ErrorCode::unavailable, "MPI could not " + what + ": " + std::string(text, length),
              {{"library", "MPI"}, {"result", code}});
}

namespace {

bool mpi_alive() {
  int started = 0, ended = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  return started && !ended;
}

int thread_level() {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  return level;
}

/// Whether this thread may call MPI. At MPI_THREAD_SERIALIZED callers must synchronise their calls.
bool thread_may_call() {
  if (thread_level() >= MPI_THREAD_SERIALIZED) return true;
  int main = 0;
  MPI_Is_thread_main(&main);
  return main != 0;
}

void require_thread() {
  require(thread_may_call(), ErrorCode::wrong_state,
          "a thread that did not start MPI must not call it, because MPI was started for one thread "
          "(MPI_THREAD_FUNNELED or "
          "less): call from the thread that started MPI, or start it with MPI_THREAD_SERIALIZED or "
          "MPI_THREAD_MULTIPLE",
          {{"problem", "thread"}});
}

/// Duplicated MPI communicators that were not freed yet, in the order of creation. MPI_Comm_free is collective, so
/// ranks must free in the same order.
class Duplicates {
 public:
  /// The list of duplicates, never destroyed, because communicators may outlive static objects.
  static Duplicates& all() {
    static auto& one = *new Duplicates;
    return one;
  }
  std::shared_ptr<MPI_Comm> keep(MPI_Comm comm) {
    std::unique_lock lock(mutex_);
    const std::uint64_t number = ++made_;
    open_.emplace(number, comm);
    lock.unlock();
    return {new MPI_Comm(comm), [number](const MPI_Comm* held) {
              delete held;
              all().free(number);
            }};
  }
  void free_all() {
    const std::lock_guard lock(mutex_);
    for (auto& [number, comm] : open_) MPI_Comm_free(&comm);
    open_.clear();
  }

 private:
  /// Frees a communicator. If this thread may not call MPI, MPI_Finalize does so. The lock is released during MPI
  /// calls, because threads of other ranks may free in another order.
  void free(std::uint64_t number) {
    if (!mpi_alive() || !thread_may_call()) return;
    std::unique_lock lock(mutex_);
    const auto found = open_.extract(number);
    lock.unlock();
    if (found) MPI_Comm_free(&found.mapped());
  }

  std::mutex mutex_;
  std::uint64_t made_ = 0;
  std::map<std::uint64_t, MPI_Comm> open_;
};

void end_mpi() {
  if (!mpi_alive()) return;
  Duplicates::all().free_all();
  MPI_Finalize();
}

bool started_here = false, common_end = false;

/// Seconds that a failed rank waits at its end for the other ranks.
double end_wait() {
  const DecimalPoint point;
  const char* const text = std::getenv("SLIPSTREAM_END_WAIT");
  const double seconds = text ? std::atof(text) : 0;
  return seconds > 0 ? seconds : 30;
}

/// Exit handler. A failed rank ends the job: MPI_Finalize would wait forever for ranks that do not know of the failure.
void leave(int status, void*) {
  if (!mpi_alive()) return;
  if (status != 0 && !common_end && !all_ranks_end(end_wait())) {
    int rank = 0, size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::fprintf(stderr, "slipstream: rank %d ended with exit code %d, the others went on; all %d ranks end\n", rank,
                 status, size);
    std::fflush(nullptr);
    end_job(MPI_COMM_WORLD, status);
  }
  end_mpi();
}

/// Makes MPI's symbols global: Open MPI's plug-ins need this, and a Python module loads MPI with local symbols.
void make_symbols_global() {
  Dl_info where{};
  if (dladdr(reinterpret_cast<void*>(&MPI_Init_thread), &where) && where.dli_fname)
    dlopen(where.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

/// Saves the environment variables and signal handlers of the process, and restores them at the end of its lifetime.
/// MPI_Init sets variables with which an mpiexec started from this process fails, and installs signal handlers.
class HostState {
 public:
  HostState() {
    for (int number = 1; number < NSIG; ++number) {
      struct sigaction action {};
      if (sigaction(number, nullptr, &action) == 0) handlers_.emplace(number, action);
    }
  }
  ~HostState() {
    for (const auto& [name, value] : environment())
      if (!variables_.contains(name)) unsetenv(name.c_str());
    for (const auto& [name, value] : variables_) {
      const char* const now = std::getenv(name.c_str());
      if (!now || value != now) setenv(name.c_str(), value.c_str(), 1);
    }
    for (const auto& [number, action] : handlers_) {
      struct sigaction now {};
      if (sigaction(number, nullptr, &now) != 0) continue;
      if (now.sa_handler != action.sa_handler || now.sa_flags != action.sa_flags) sigaction(number, &action, nullptr);
    }
  }
  HostState(const HostState&) = delete;
  HostState& operator=(const HostState&) = delete;

 private:
  using Environment = std::map<std::string, std::string>;
  static Environment environment() {
    Environment found;
    for (char** entry = environ; entry && *entry; ++entry) {
      const std::string text = *entry;
      const std::size_t equals = text.find('=');
      if (equals != std::string::npos) found.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return found;
  }

  const Environment variables_ = environment();
  std::map<int, struct sigaction> handlers_;
};

void start_mpi() {
  int started = 0;
  MPI_Initialized(&started);
  if (started) return;
  make_symbols_global();
  const HostState kept;
  // Without a launcher Open MPI would start a daemon, which is slow and needs ssh in the PATH.
  if (!started_by_mpi()) setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  // Without /sys, as in some containers, hwloc would print warnings between the messages of this library.
  setenv("HWLOC_HIDE_ERRORS", "2", 0);
  int provided = MPI_THREAD_SINGLE;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "start");
  started_here = true;
  on_exit(leave, nullptr);
}

int message_size(std::size_t bytes) {
  require(bytes <= static_cast<std::size_t>(INT_MAX), ErrorCode::unsupported,
          "a text of more than 2 GB cannot travel in one MPI message");
  return static_cast<int>(bytes);
}

/// Starts a nonblocking collective and waits for its end. Unlike MPI's own waits it gives its core to ranks that still
/// work. It has no timeout, because another rank may read meshes for an hour.
void collect(const std::function<int(MPI_Request*)>& begin, const char* what) {
  require_thread();
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(begin(&request), what);
  const auto over = [&] {
    int flag = 0;
    check_mpi(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), what);
    return flag != 0;
  };
  asked_until(over, std::numeric_limits<double>::infinity());
}

}  // namespace

bool started_by_mpi() {
  static const bool launched = [] {
    for (const char* name :
         {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_SIZE"})
      if (std::getenv(name)) return true;
    return false;
  }();
  return launched;
}

bool mpi_started_here() { return started_here; }

void expect_common_end() { common_end = true; }

bool all_ranks_end(double seconds) {
  static std::optional<bool> known;
  if (!mpi_alive()) return true;
  if (known) return *known;
  // MPI_COMM_WORLD is safe here, because this library never waits on it otherwise.
  MPI_Request request = MPI_REQUEST_NULL;
  int all = 0;
  if (MPI_Ibarrier(MPI_COMM_WORLD, &request) == MPI_SUCCESS)
    asked_until([&] { return MPI_Test(&request, &all, MPI_STATUS_IGNORE) != MPI_SUCCESS || all; }, seconds);
  known = all != 0;
  return *known;
}

Communicator Communicator::world() {
  started_by_mpi();  // called before MPI starts, because MPI changes the environment variables that this looks up
  static const auto* const world = [] {
    start_mpi();
    return new Communicator(MPI_COMM_WORLD);
  }();
  require(mpi_alive(), ErrorCode::wrong_state,
          "MPI has been finalised by the code that started it: do not use its communicators any more",
          {{"problem", "finalised"}});
  return *world;
}

Communicator::Communicator(MPI_Comm comm) {
  require(mpi_alive(), ErrorCode::wrong_state,
          "a communicator was asked for before MPI_Init or after MPI_Finalize: use Communicator::world()",
          {{"problem", "not_started"}});
  require_thread();
  require(comm != MPI_COMM_NULL, "MPI_COMM_NULL is no communicator: ranks outside a group must not make one");
  int between = 0;
  check_mpi(MPI_Comm_test_inter(comm, &between), "inspect a communicator");
  require(!between, ErrorCode::unsupported, "an intercommunicator cannot be used: merge it first (MPI_Intercomm_merge)",
          {{"problem", "intercommunicator"}});
  collect([&](MPI_Request* request) { return MPI_Comm_idup(comm, &comm_, request); }, "duplicate a communicator");
  owned_ = Duplicates::all().keep(comm_);
  check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "set an error handler");
  check_mpi(MPI_Comm_rank(comm_, &rank_), "tell the rank");
  check_mpi(MPI_Comm_size(comm_, &size_), "tell the number of ranks");
}

void Communicator::barrier() const {
  collect([&](MPI_Request* request) { return MPI_Ibarrier(comm_, request); }, "wait for all ranks");
}

double Communicator::max(double value) const {
  // MPI_MAX is undefined for NaN, but a residual of NaN must reach all ranks.
  const double lowest = -std::numeric_limits<double>::infinity();
  const double mine[2] = {std::isnan(value) ? 1.0 : 0.0, std::isnan(value) ? lowest : value};
  double all[2] = {};
  collect([&](MPI_Request* request) { return MPI_Iallreduce(mine, all, 2, MPI_DOUBLE, MPI_MAX, comm_, request); },
          "take the maximum over ranks");
  return all[0] > 0 ? std::numeric_limits<double>::quiet_NaN() : all[1];
}

double Communicator::sum_in_rank_order(double value) const {
  double sum = 0;
  for (const std::int64_t bits : all_gather(std::bit_cast<std::int64_t>(value))) sum += std::bit_cast<double>(bits);
  return sum;
}

bool Communicator::all(bool value) const { return any(std::uint64_t{!value}) == 0; }

std::uint64_t Communicator::any(std::uint64_t bits) const {
  std::uint64_t every = 0;
  collect([&](MPI_Request* request) { return MPI_Iallreduce(&bits, &every, 1, MPI_UINT64_T, MPI_BOR, comm_, request); },
          "ask all ranks");
  return every;
}

std::string Communicator::broadcast(const std::string& text, int root) const {
  require(root >= 0 && root < size_,
          "rank " + std::to_string(root) + " cannot broadcast: there are " + std::to_string(size_) + " ranks",
          {{"option", "root"}, {"given", root}, {"limit", size_ - 1}});
  std::string result = text;
  std::int64_t bytes = static_cast<std::int64_t>(text.size());
  collect([&](MPI_Request* request) { return MPI_Ibcast(&bytes, 1, MPI_INT64_T, root, comm_, request); },
          "broadcast the size of a text");
  const int size = message_size(bytes);
  result.resize(size);
  collect([&](MPI_Request* request) { return MPI_Ibcast(result.data(), size, MPI_CHAR, root, comm_, request); },
          "broadcast a text");
  return result;
}

std::vector<std::string> Communicator::all_gather(const std::string& mine) const {
  const std::vector<std::int64_t> sizes = all_gather(static_cast<std::int64_t>(mine.size()));
  message_size(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
  const std::vector<int> counts(sizes.begin(), sizes.end());
  std::vector<int> starts(size_, 0);
  std::partial_sum(counts.begin(), counts.end() - 1, starts.begin() + 1);
  std::string text(starts.back() + counts.back(), '\0');
  collect(
      [&](MPI_Request* request) {
        return MPI_Iallgatherv(mine.data(), counts[rank_], MPI_CHAR, text.data(), counts.data(), starts.data(),
                               MPI_CHAR, comm_, request);
      },
      "gather texts of all ranks");
  std::vector<std::string> result(size_);
  for (int rank = 0; rank < size_; ++rank) result[rank] = text.substr(starts[rank], counts[rank]);
  return result;
}

std::vector<std::int64_t> Communicator::all_gather(std::int64_t mine) const {
  std::vector<std::int64_t> result(size_);
  collect(
      [&](MPI_Request* request) {
        return MPI_Iallgather(&mine, 1, MPI_INT64_T, result.data(), 1, MPI_INT64_T, comm_, request);
      },
      "gather numbers of all ranks");
  return result;
}

void sum_over_ranks(const Communicator& comm, std::span<double> values) {
  check_mpi(
      MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM, comm.mpi()),
      "add up numbers of all ranks");
}

std::uint64_t sum_over_ranks(const Communicator& comm, std::uint64_t value) {
  std::uint64_t sum = 0;
  collect(
      [&](MPI_Request* request) { return MPI_Iallreduce(&value, &sum, 1, MPI_UINT64_T, MPI_SUM, comm.mpi(), request); },
      "add up numbers of all ranks");
  return sum;
}

void largest_over_ranks(const Communicator& comm, std::span<double> values) {
  collect(
      [&](MPI_Request* request) {
        return MPI_Iallreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX,
                              comm.mpi(), request);
      },
      "take the maximum over ranks");
}

void end_job(MPI_Comm comm, int exit_code) {
  int main = 0;
  if (mpi_alive()) MPI_Is_thread_main(&main);
  if (mpi_alive() && (main || thread_level() == MPI_THREAD_MULTIPLE)) MPI_Abort(comm, exit_code);
  std::_Exit(exit_code != 0 ? exit_code : 1);
}

void Communicator::abort(int exit_code) const { end_job(comm_, exit_code); }

}  // namespace slipstream
