#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <thread>

#include <slipstream/communicator.hpp>
#include <slipstream/error.hpp>

#include "machine/end.hpp"
#include "machine/patience.hpp"

namespace slipstream {

void check_mpi(int code, const std::string& what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error("MPI could not " + what + ": " + std::string(text, length));
}

namespace {

/// Begins what all ranks do together, and waits for its end without keeping a core from the ranks that are waited for,
/// as MPI itself does.
template <class Begin>
void collect(Begin begin, const char* what) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(begin(&request), what);
  const auto over = [&] {
    int flag = 0;
    check_mpi(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), what);
    return flag != 0;
  };
  asked_until(over, std::numeric_limits<double>::infinity());
}

bool mpi_alive() {
  int started = 0, ended = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  return started && !ended;
}

/// Duplicates not yet freed. Never destroyed, since communicators may outlive every static object.
std::set<MPI_Comm*>& duplicates() {
  static auto* const all = new std::set<MPI_Comm*>;
  return *all;
}

void free_duplicate(MPI_Comm* comm) {
  if (duplicates().erase(comm) && mpi_alive()) MPI_Comm_free(comm);
  delete comm;
}

void end_mpi() {
  if (!mpi_alive()) return;
  for (MPI_Comm* comm : duplicates()) MPI_Comm_free(comm);
  duplicates().clear();
  MPI_Finalize();
}

bool started_here = false, common_end = false;

/// Seconds that a rank with a failure waits for the others at its end.
double end_wait() {
  const char* const text = std::getenv("SLIPSTREAM_END_WAIT");
  const double seconds = text ? std::atof(text) : 0;
  return seconds > 0 ? seconds : 30;
}

/// At the end of the process. MPI_Finalize would wait for ever for ranks that know nothing of this one's failure.
void leave(int status, void*) {
  if (!mpi_alive()) return;
  if (status != 0 && !common_end && !all_ranks_end(end_wait())) {
    int rank = 0, size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::fprintf(stderr, "slipstream: rank %d ended with exit code %d, the others went on; all %d ranks end\n", rank,
                 status, size);
    std::fflush(nullptr);
    MPI_Abort(MPI_COMM_WORLD, status);
  }
  end_mpi();
}

std::set<std::string> launcher_variables() {
  std::set<std::string> names;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const bool launcher = text.starts_with("OMPI_") || text.starts_with("ORTE_") || text.starts_with("PMIX_");
    if (launcher) names.insert(text.substr(0, text.find('=')));
  }
  return names;
}

/// Open MPI's plug-ins look for its symbols among the global ones, where they are not if a Python module brought it.
void make_symbols_global() {
  Dl_info where{};
  if (dladdr(reinterpret_cast<void*>(&MPI_Init_thread), &where) && where.dli_fname)
    dlopen(where.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

/// A rank without a launcher. Open MPI would start a daemon for it, which is slow and needs ssh in the PATH, and would
/// leave variables behind that make an mpiexec started from here fail.
int start_alone() {
  const std::set<std::string> before = launcher_variables();
  setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  int provided = 0;
  const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  for (const std::string& name : launcher_variables())
    if (!before.contains(name)) unsetenv(name.c_str());
  return code;
}

void start_mpi() {
  // MPI-IO's pointer shared by all ranks lies in /dev/shm under the name of the file alone: what another user's run
  // left there makes opening fail, and a full /dev/shm makes it hang. Nothing here uses that pointer.
  setenv("OMPI_MCA_sharedfp", "^sm", 0);
  int started = 0;
  MPI_Initialized(&started);
  if (started) return;
  make_symbols_global();
  int provided = MPI_THREAD_SINGLE;
  // Where /sys is missing (some containers) hwloc would complain in the middle of our messages.
  setenv("HWLOC_HIDE_ERRORS", "2", 0);
  check_mpi(started_by_mpi() ? MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) : start_alone(),
            "start");
  started_here = true;
  on_exit(leave, nullptr);
}

int message_size(std::size_t bytes) {
  require(bytes <= static_cast<std::size_t>(INT_MAX), "a text of more than 2 GB cannot travel in one MPI message");
  return static_cast<int>(bytes);
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
  using Clock = std::chrono::steady_clock;
  static std::optional<bool> known;
  if (!mpi_alive()) return true;
  if (known) return *known;
  // Of MPI_COMM_WORLD, on which nothing of this library waits.
  MPI_Request request = MPI_REQUEST_NULL;
  int all = 0;
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  if (MPI_Ibarrier(MPI_COMM_WORLD, &request) == MPI_SUCCESS)
    while (MPI_Test(&request, &all, MPI_STATUS_IGNORE) == MPI_SUCCESS && !all && Clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  known = all != 0;
  return *known;
}

Communicator Communicator::world() {
  started_by_mpi();  // answered before MPI starts and changes the environment
  static const auto* const world = [] {
    start_mpi();
    return new Communicator(MPI_COMM_WORLD);
  }();
  require(mpi_alive(), "MPI has been finalised, by whom started it: make no more use of its communicators");
  return *world;
}

Communicator::Communicator(MPI_Comm comm) {
  require(mpi_alive(), "a communicator was asked for before MPI_Init or after MPI_Finalize: use Communicator::world()");
  require(comm != MPI_COMM_NULL, "MPI_COMM_NULL is no communicator: ranks outside a group must not make one");
  int between = 0;
  check_mpi(MPI_Comm_test_inter(comm, &between), "inspect a communicator");
  require(!between, "an intercommunicator cannot be used: merge it first (MPI_Intercomm_merge)");
  collect([&](MPI_Request* request) { return MPI_Comm_idup(comm, &comm_, request); }, "duplicate a communicator");
  owned_ = std::shared_ptr<MPI_Comm>(new MPI_Comm(comm_), free_duplicate);
  duplicates().insert(owned_.get());
  check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "set an error handler");
  check_mpi(MPI_Comm_rank(comm_, &rank_), "tell the rank");
  check_mpi(MPI_Comm_size(comm_, &size_), "tell the number of ranks");
}

void Communicator::barrier() const {
  collect([&](MPI_Request* request) { return MPI_Ibarrier(comm_, request); }, "wait for all ranks");
}

double Communicator::max(double value) const {
  // MPI_MAX leaves open what becomes of NaN, and a residual that went wrong must not get lost.
  const double lowest = -std::numeric_limits<double>::infinity();
  const double mine[2] = {std::isnan(value) ? 1.0 : 0.0, std::isnan(value) ? lowest : value};
  double all[2] = {};
  collect([&](MPI_Request* request) { return MPI_Iallreduce(mine, all, 2, MPI_DOUBLE, MPI_MAX, comm_, request); },
          "take the maximum over ranks");
  return all[0] > 0 ? std::numeric_limits<double>::quiet_NaN() : all[1];
}

double Communicator::sum_in_rank_order(double value) const {
  std::vector<double> values(size_);
  collect(
      [&](MPI_Request* request) {
        return MPI_Iallgather(&value, 1, MPI_DOUBLE, values.data(), 1, MPI_DOUBLE, comm_, request);
      },
      "gather numbers of all ranks");
  return std::accumulate(values.begin(), values.end(), 0.0);
}

bool Communicator::all(bool value) const {
  const int mine = value;
  int every = 0;
  collect([&](MPI_Request* request) { return MPI_Iallreduce(&mine, &every, 1, MPI_INT, MPI_LAND, comm_, request); },
          "ask all ranks");
  return every != 0;
}

std::string Communicator::broadcast(const std::string& text, int root) const {
  require(root >= 0 && root < size_,
          "rank " + std::to_string(root) + " cannot broadcast: there are " + std::to_string(size_) + " ranks");
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

void Communicator::abort(int exit_code) const {
  MPI_Abort(comm_, exit_code);
  std::_Exit(exit_code);
}

}  // namespace slipstream
