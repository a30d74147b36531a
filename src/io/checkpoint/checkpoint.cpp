#include <slipstream/checkpoint.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

#include <slipstream/build_info.hpp>
#include <slipstream/error.hpp>

#include "device/host_memory.hpp"
#include "io/checkpoint_file.hpp"
#include "io/copy_piece.hpp"
#include "io/mpi_pieces.hpp"
#include "io/piece_writer.hpp"
#include "machine/agree.hpp"
#include "machine/gpu_mpi.hpp"

namespace slipstream {

namespace fs = std::filesystem;

namespace {

constexpr const char* prefix = "checkpoint-";
constexpr const char* suffix = ".h5";
constexpr const char* unfinished = ".part";

std::string name_of(std::int64_t step) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%012lld", static_cast<long long>(step));
  return prefix + std::string(digits) + suffix;
}

/// The step in the file name of a checkpoint; empty for other files.
std::optional<std::int64_t> step_in(const std::string& name) {
  const std::string head = prefix, tail = suffix;
  if (name.size() <= head.size() + tail.size() || !name.starts_with(head) || !name.ends_with(tail)) return {};
  const std::string digits = name.substr(head.size(), name.size() - head.size() - tail.size());
  if (digits.size() > 18 || digits.find_first_not_of("0123456789") != std::string::npos) return {};
  return std::stoll(digits);
}

void force_folder(const std::string& folder) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;  // no error if the folder cannot be synced: its files are complete already
  ::fsync(file);
  ::close(file);
}

/// Whether a dead process of this host left the file: .checkpoint-<step>.h5.<pid>@<host>.part. Earlier versions wrote
/// .checkpoint-<step>.h5.part.
bool is_left_over(const std::string& name) {
  if (!name.starts_with(std::string(".") + prefix) || !name.ends_with(unfinished)) return false;
  const std::string stem = name.substr(0, name.size() - std::strlen(unfinished));
  const auto at = stem.find('@');
  if (at == std::string::npos) return true;
  const long process = std::atol(stem.c_str() + stem.rfind('.', at) + 1);
  return stem.substr(at + 1) == host_name() && process > 0 && ::kill(static_cast<pid_t>(process), 0) != 0 &&
         errno == ESRCH;
}

/// A rank's report to the others on its pieces. Its size is fixed, because it travels in a nonblocking collective.
struct Report {
  std::array<char, 512> failure{};
};

}  // namespace

std::vector<std::string> checkpoints_in(const std::string& folder) {
  std::vector<std::pair<std::int64_t, std::string>> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (const auto step = step_in(entry.path().filename().string())) found.emplace_back(*step, entry.path().string());
  std::sort(found.begin(), found.end());
  std::vector<std::string> paths;
  for (auto& [step, path] : found) paths.push_back(std::move(path));
  return paths;
}

namespace {
constexpr std::pair<Snapshot, const char*> snapshot_names[] = {
    {Snapshot::pinned, "pinned"}, {Snapshot::device, "device"}, {Snapshot::mpi, "mpi"}};
}

std::string to_string(Snapshot snapshot) { return snapshot_names[static_cast<int>(snapshot)].second; }

Snapshot snapshot_from_string(const std::string& name) {
  for (const auto& [value, text] : snapshot_names)
    if (name == text) return value;
  throw Error(ErrorCode::invalid_argument,
              "unknown place for waiting checkpoints '" + name + "': choose pinned, device or mpi",
              {{"option", "snapshot"}, {"given", name}});
}

struct Checkpoints::Impl {
  Impl(const Communicator& caller, Options wanted)
      : comm(caller),
        reporting(caller.mpi()),
        options(std::move(wanted)),
        writer(options.staging_bytes, options.snapshot),
        reports(comm.size()) {
    on_all_ranks(comm, [&] {
      require(!options.folder.empty(), "checkpoints need the name of a folder", {{"option", "folder"}});
      require(options.keep >= 1, "at least one checkpoint must be kept", {{"option", "keep"}, {"given", options.keep}});
      require(options.piece_bytes >= 4096 && options.piece_bytes <= std::int64_t{1} << 30,
              "pieces of checkpoints have 4096 bytes to 1 GiB",
              {{"option", "piece_bytes"}, {"given", options.piece_bytes}});
    });
    on_rank_zero(comm, [&] { prepare_folder(); });
    // The process and the host are part of file names, so that runs that share a folder do not take each other's files.
    own = comm.broadcast("." + std::to_string(::getpid()) + "@" + host_name(), 0);
    on_all_ranks(comm, [&] {
      require(::access(options.folder.c_str(), W_OK) == 0, ErrorCode::io,
              "cannot write into '" + options.folder + "': " + std::strerror(errno) +
                  "; choose a folder that all nodes share",
              {{"folder", options.folder}});
    });
    const auto there = checkpoints_in(options.folder);
    last = comm.broadcast(there.empty() ? std::string{} : there.back(), 0);
  }

  void prepare_folder() const {
    std::error_code failure;
    fs::create_directories(options.folder, failure);
    require(!failure, ErrorCode::io, "cannot make the folder '" + options.folder + "': " + failure.message(),
            {{"folder", options.folder}});
    for (const auto& entry : fs::directory_iterator(options.folder, failure)) {
      if (is_left_over(entry.path().filename().string())) fs::remove(entry.path(), failure);
    }
  }

  std::string final_path() const { return options.folder + "/" + name_of(step); }
  std::string hidden_path() const { return options.folder + "/." + name_of(step) + own + unfinished; }

  void begin(const State& state, const std::string& notes) {
    finish();
    std::vector<CheckpointArray> arrays;
    on_all_ranks(comm, [&] { arrays = cut(state); });
    step = state.step;
    std::string problem;
    try {
      lay_out(state, notes, arrays);
    } catch (const Error& error) {
      problem = error.what();
    }
    if (!problem.empty()) return give_up(problem);
    by_mpi = options.snapshot == Snapshot::mpi && proven(state);
    // A rank that fails here must still report, because the others wait for it.
    writer.fail(text_of(failure_of([&] {
      if (by_mpi) mpi.open(hidden_path());
      for (const CheckpointArray& array : arrays) take(state[array.name], array);
      writer.snapshot();
      if (by_mpi) mpi.start();
    })));
    if (!by_mpi) writer.end();
    underway = true;
  }

  /// Whether MPI accepts the memory of all devices that hold a part of the State. Collective.
  bool proven(const State& state) {
    std::vector<Device> devices;
    for (const auto& [name, field] : state.fields)
      for (const std::int64_t block : field->grid().local())
        if (std::find(devices.begin(), devices.end(), field->device(block)) == devices.end())
          devices.push_back(field->device(block));
    if (!proof) {
      if (!comm.all(!devices.empty())) {
        proof = "some rank holds no part of the State";
      } else if (proof = prove_gpu_mpi(comm, devices); proof->empty()) {
        const std::string name = std::string(".") + prefix + "proof-" + std::to_string(comm.rank());
        proof = prove_mpi_files(comm, devices, options.folder + "/" + name + own + unfinished);
      }
    }
    return proof->empty();
  }

  /// Lets the writer's thread complete the checkpoint file after MPI has written its part.
  void end_mpi() {
    by_mpi = false;
    writer.fail(mpi.failure());
    writer.end();
  }

  std::vector<CheckpointArray> cut(const State& state) const {
    require(!state.fields.empty(), "a checkpoint of a State without fields");
    require(state.step >= 0, "a checkpoint of a negative step");
    std::vector<CheckpointArray> arrays;
    for (const auto& [name, field] : state.fields) {
      require(!name.empty() && name != "." && name.find('/') == std::string::npos,
              "the field '" + name + "' has a name that HDF5 cannot hold: leave out slashes", {{"field", name}});
      arrays.push_back(cut_field(name, *field, options.piece_bytes));
    }
    return arrays;
  }

  /// Rank 0 creates the file. All ranks get the byte offsets of their pieces in it, and open it.
  void lay_out(const State& state, const std::string& notes, std::vector<CheckpointArray>& arrays) {
    const QuietHdf5 quiet;
    on_rank_zero(comm, [&] {
      CheckpointInfo info;
      info.path = hidden_path();
      info.step = state.step;
      info.time = state.time;
      info.extent = state.fields.begin()->second->grid().extent();
      info.case_text = options.case_text;
      info.notes = notes;
      info.written_by = "slipstream " + build_version() + ", commit " + build_commit();
      create_checkpoint(info, arrays);
    });
    std::string places;
    for (const CheckpointArray& array : arrays)
      for (const std::int64_t place : {array.values_at, array.checksums_at})
        places.append(reinterpret_cast<const char*>(&place), sizeof place);
    places = comm.broadcast(places, 0);
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      std::memcpy(&arrays[i].values_at, places.data() + 16 * i, 8);
      std::memcpy(&arrays[i].checksums_at, places.data() + 16 * i + 8, 8);
    }
    try {
      on_all_ranks(comm, [&] { writer.open(hidden_path()); });
    } catch (const Error&) {
      writer.end();
      writer.wait();
      throw;
    }
  }

  void take(const Field& field, const CheckpointArray& array) {
    for (std::size_t n = 0; n < array.pieces.size(); ++n) {
      if (array.pieces[n].rank != comm.rank()) continue;
      const std::int64_t block = field.grid().overlapping(array.pieces[n].box).front();
      if (by_mpi && !interleaved(field) && mpi.add(field, block, array, n)) continue;
      writer.add(field, block, array, n);
    }
  }

  void poll() {
    if (!underway) return;
    if (by_mpi && mpi.done()) end_mpi();
    if (!told && writer.done()) tell();
    if (!told) return;
    int all = 0;
    check_mpi(MPI_Test(&request, &all, MPI_STATUS_IGNORE), "ask whether a checkpoint is written");
    if (all) conclude();
  }

  void finish() {
    if (!comm.all(!underway)) {
      if (underway) {
        if (by_mpi) mpi.wait();
        if (by_mpi) end_mpi();
        writer.wait();
        if (!told) tell();
        check_mpi(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait until a checkpoint is written");
        conclude();
      }
    }
    share_results();
  }

  /// Starts to tell all ranks whether this rank's data of the checkpoint is written, without waiting for their answers.
  void tell() {
    const std::string failure = writer.failure();
    mine = Report{};
    std::memcpy(mine.failure.data(), failure.data(), std::min(failure.size(), mine.failure.size() - 1));
    check_mpi(
        MPI_Iallgather(&mine, sizeof mine, MPI_BYTE, reports.data(), sizeof mine, MPI_BYTE, reporting.mpi(), &request),
        "tell that a checkpoint is written");
    told = true;
  }

  void conclude() {
    underway = told = false;
    for (const Report& report : reports)
      if (report.failure[0] != '\0') return give_up(report.failure.data());
    if (comm.rank() != 0) return;
    std::error_code failure;
    fs::rename(hidden_path(), final_path(), failure);
    if (failure) return give_up("naming '" + final_path() + "': " + failure.message());
    force_folder(options.folder);
    last = final_path();
    results.push_back({step, last, {}});
    drop_old();
  }

  void give_up(const std::string& problem) {
    if (comm.rank() != 0) return;
    std::error_code ignored;
    fs::remove(hidden_path(), ignored);
    results.push_back({step, {}, problem});
  }

  /// Forgets checkpoints of later steps: they belong to a run that a restart from an earlier step has discarded.
  void drop_old() const {
    const auto there = checkpoints_in(options.folder);
    std::vector<std::string> mine;
    std::error_code ignored;
    for (const std::string& path : there) {
      if (*step_in(fs::path(path).filename().string()) > step) {
        fs::remove(path, ignored);
      } else {
        mine.push_back(path);
      }
    }
    for (std::size_t n = 0; n + options.keep < mine.size(); ++n) fs::remove(mine[n], ignored);
  }

  void share_results() {
    last = comm.broadcast(last, 0);
    std::string text;
    const auto put = [&](const std::string& part) { text += std::to_string(part.size()) + ' ' + part; };
    for (const Result& result : results) {
      put(std::to_string(result.step));
      put(result.path);
      put(result.error);
    }
    text = comm.broadcast(text, 0);
    if (comm.rank() == 0) return;
    results.clear();
    std::size_t at = 0;
    const auto get = [&] {
      std::size_t digits = 0;
      const std::size_t size = std::stoull(text.substr(at, text.find(' ', at) - at), &digits);
      at += digits + 1 + size;
      return text.substr(at - size, size);
    };
    while (at < text.size()) {
      Result result;
      result.step = std::stoll(get());
      result.path = get();
      result.error = get();
      results.push_back(result);
    }
  }

  Communicator comm;
  // A separate communicator for tell(): ranks call it when their part is written, in any order relative to other
  // collectives.
  Communicator reporting;
  Options options;
  PieceWriter writer;
  MpiPieces mpi;
  bool by_mpi = false;  // whether MPI writes the pieces of this checkpoint; the writer's thread then completes the file
  std::optional<std::string> proof;  // why MPI accepts no device memory, once tested
  std::string own;                   // suffix with process and host of incomplete files' names
  std::int64_t step = 0;             // time step of the checkpoint in progress
  bool underway = false, told = false;
  Report mine;
  std::vector<Report> reports;
  MPI_Request request = MPI_REQUEST_NULL;
  std::vector<Result> results;
  std::string last;
};

Checkpoints::Checkpoints(const Communicator& comm, Options options)
    : impl_(std::make_unique<Impl>(comm, std::move(options))) {}

Checkpoints::~Checkpoints() {
  if (!impl_) return;
  if (impl_->by_mpi) {
    impl_->mpi.wait();
    impl_->end_mpi();
  }
  impl_->writer.wait();
  // MPI may still write to this object the reports of a collective that not all ranks have joined.
  if (impl_->request != MPI_REQUEST_NULL) static_cast<void>(impl_.release());
}

Checkpoints::Checkpoints(Checkpoints&&) noexcept = default;

void Checkpoints::begin(const State& state, const std::string& notes) { impl_->begin(state, notes); }
void Checkpoints::poll() { impl_->poll(); }
void Checkpoints::finish() { impl_->finish(); }
std::string Checkpoints::mpi_refusal() const { return impl_->proof.value_or(""); }
const std::string& Checkpoints::last() const { return impl_->last; }
std::vector<Checkpoints::Result> Checkpoints::take_results() { return std::exchange(impl_->results, {}); }

CheckpointInfo read_checkpoint_info(const std::string& path) {
  const QuietHdf5 quiet;
  return CheckpointReader(path).info();
}

}  // namespace slipstream
