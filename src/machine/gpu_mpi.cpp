#include "machine/gpu_mpi.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include <slipstream/buffer.hpp>
#include <slipstream/error.hpp>
#include <slipstream/stream.hpp>

#include "device/kept_memory.hpp"
#include "machine/agree.hpp"
#include "machine/crash_guard.hpp"
#include "machine/timeout.hpp"

namespace slipstream {
namespace {

/// A trial message from device memory of this rank to device memory of rank `to`, concurrent with one from rank `from`.
class Trial {
 public:
  Trial(MPI_Comm comm, int rank, int from, int to, Device device, std::size_t bytes)
      : comm_(comm),
        from_(from),
        to_(to),
        bytes_(bytes),
        device_(device),
        sent_(device, bytes, Memory::message),
        received_(device, bytes, Memory::message),
        host_(device, bytes, Memory::pinned) {
    write(sent_, rank);
    write(received_, -1);
  }
  /// Sends and receives the trial message. Returns the problem on this rank; empty on success.
  std::string run(double limit, Liar liar) {
    const std::string problem = without_crash([&] { return exchange(limit, liar); });
    return problem.empty() ? verify() : problem;
  }

 private:
  static unsigned char value(int rank, std::size_t n) { return static_cast<unsigned char>(rank * 37 + n % 251 + 1); }

  void write(Buffer<std::byte>& to, int rank) {
    for (std::size_t n = 0; n < bytes_; ++n) host_.data()[n] = static_cast<std::byte>(value(rank, n));
    Stream stream(device_);
    copy(stream, to.data(), host_.data(), bytes_);
    stream.synchronize();
  }

  std::string exchange(double limit, Liar liar) {
    MPI_Request requests[2];
    const int count = static_cast<int>(bytes_);
    if (liar) liar(sent_.data(), bytes_);
    if (MPI_Irecv(received_.data(), count, MPI_BYTE, from_, 0, comm_, &requests[0]) != MPI_SUCCESS)
      return "the MPI library refused to receive into device memory";
    if (MPI_Isend(sent_.data(), count, MPI_BYTE, to_, 0, comm_, &requests[1]) != MPI_SUCCESS)
      return "the MPI library refused to send device memory";
    int done = 0;
    bool failed = false;
    const auto over = [&] {
      failed = MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS;
      return failed || done;
    };
    if (!asked_until(over, limit))
      return "a message between device memories took longer than " + std::to_string(limit) + " s";
    return failed ? "a message between device memories failed" : "";
  }

  std::string verify() {
    Stream stream(device_);
    copy(stream, host_.data(), received_.data(), bytes_);
    stream.synchronize();
    for (std::size_t n = 0; n < bytes_; ++n)
      if (host_.data()[n] != static_cast<std::byte>(value(from_, n)))
        return "a message of " + std::to_string(bytes_) + " bytes between device memories arrived changed";
    return {};
  }

  MPI_Comm comm_;
  int from_, to_;
  std::size_t bytes_;
  Device device_;
  Buffer<std::byte> sent_, received_, host_;
};

std::string attempt(const Communicator& comm, Device device, int step, std::size_t bytes, double limit, Liar liar) {
  const int ranks = comm.size(), rank = comm.rank();
  std::unique_ptr<Trial> trial;
  const Problem unmade = failure_of([&] {
    trial =
        std::make_unique<Trial>(comm.mpi(), rank, (rank + ranks - step) % ranks, (rank + step) % ranks, device, bytes);
  });
  if (auto problem = first_failure(comm, text_of(unmade)); !problem.empty()) return problem;
  const std::string problem = first_failure(comm, trial->run(limit, liar));
  // The buffers of pending messages are never freed, because MPI may still write to them.
  if (!problem.empty()) keep_for_ever(std::move(trial));
  return problem;
}

int delete_answer(MPI_Comm, int, void* answer, void*) {
  delete static_cast<std::string*>(answer);
  return MPI_SUCCESS;
}

int answer_key(const std::string& question, Backend backend) {
  static std::mutex mutex;
  static auto* const keys = new std::map<std::pair<std::string, Backend>, int>;
  const std::lock_guard lock(mutex);
  const auto [key, first] = keys->try_emplace({question, backend}, MPI_KEYVAL_INVALID);
  if (first)
    check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_answer, &key->second, nullptr), "make an attribute");
  return key->second;
}

/// Writes device memory to a new file by MPI-IO. Uses no objects with destructors, because a crash leaves by longjmp.
const char* write_file(const char* path, std::byte* values, int bytes, Liar liar) {
  if (liar) liar(values, static_cast<std::size_t>(bytes));
  MPI_File file = MPI_FILE_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  if (MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS)
    return "the MPI library could not make a file";
  const bool written = MPI_File_iwrite_at(file, 0, values, bytes, MPI_BYTE, &request) == MPI_SUCCESS &&
                       MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS;
  const bool closed = MPI_File_close(&file) == MPI_SUCCESS;
  return written && closed ? "" : "the MPI library could not write device memory into a file";
}

std::string try_file(Device device, const std::string& path, Liar liar) {
  constexpr std::size_t bytes = std::size_t{1} << 16;
  Buffer<std::byte> there(device, bytes), host(device, bytes, Memory::pinned);
  for (std::size_t n = 0; n < bytes; ++n) host.data()[n] = static_cast<std::byte>(n % 251 + 1);
  Stream stream(device);
  copy(stream, there.data(), host.data(), bytes);
  stream.synchronize();
  const std::string problem = without_crash(
      [&]() -> std::string { return write_file(path.c_str(), there.data(), static_cast<int>(bytes), liar); },
      "when it wrote device memory into a file");
  std::ifstream file(path, std::ios::binary);
  const std::string found((std::istreambuf_iterator<char>(file)), {});
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  if (!problem.empty()) return problem;
  const auto* right = reinterpret_cast<const char*>(host.data());
  return found == std::string(right, bytes) ? "" : "the MPI library wrote other bytes than lay in device memory";
}

}  // namespace

std::string gpu_mpi_claim(Backend backend) {
  if (backend == Backend::host) return {};
  // MPI's query about CUDA support is an extension of some MPI libraries, so it is looked up at run time.
  const auto ask = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
  if (!ask) return "the MPI library cannot tell whether it takes GPU memory (it has no MPIX_Query_cuda_support)";
  return ask() ? "" : "the MPI library was built without CUDA (MPIX_Query_cuda_support says no)";
}

std::string prove_mpi_files(const Communicator& comm, const std::vector<Device>& devices, const std::string& path,
                            Liar liar) {
  std::string problem;
  for (const Device device : devices)
    if (problem.empty())
      if (const Problem thrown = failure_of([&] { problem = try_file(device, path, liar); })) problem = thrown->what();
  return first_failure(comm, problem);
}

std::string try_gpu_mpi(const Communicator& comm, const std::vector<Device>& devices, double limit, Liar liar) {
  require(!devices.empty(), "a rank without devices cannot prove what MPI does with their memory");
  if (auto problem = first_failure(comm, gpu_mpi_claim(devices.front().backend)); !problem.empty()) return problem;
  const auto most = static_cast<std::size_t>(comm.max(static_cast<double>(devices.size())));
  // The trials have a separate communicator, so that pending messages cannot match the receives of another trial. After
  // a failed trial it is never freed: freeing is collective, and some ranks may be unable to join.
  const Communicator own(comm.mpi());
  for (std::size_t d = 0; d < most; ++d)
    for (const int step : {0, 1})
      for (const std::size_t bytes : {std::size_t{8}, std::size_t{1} << 20}) {
        if (step == 1 && comm.size() == 1) continue;
        auto problem = attempt(own, devices[d % devices.size()], step, bytes, limit, liar);
        if (problem.empty()) continue;
        keep_for_ever(std::make_unique<Communicator>(own));
        return problem;
      }
  return {};
}

std::string without_crash(const std::function<std::string()>& trial, const std::string& when) {
  CrashGuard guard;
  const volatile int caught = sigsetjmp(guard.place(), 1);
  return caught ? "the MPI library crashed " + when : trial();
}

std::string answer_of(const Communicator& comm, const std::string& question, Backend backend,
                      const std::function<std::string()>& ask) {
  const int key = answer_key(question, backend);
  void* known = nullptr;
  int found = 0;
  check_mpi(MPI_Comm_get_attr(comm.mpi(), key, &known, &found), "read an attribute");
  if (found) return *static_cast<const std::string*>(known);
  const std::string answer = ask();
  check_mpi(MPI_Comm_set_attr(comm.mpi(), key, new std::string(answer)), "keep an attribute");
  return answer;
}

std::string prove_gpu_mpi(const Communicator& comm, const std::vector<Device>& devices, Liar liar) {
  return answer_of(comm, "messages", devices.front().backend,
                   [&] { return try_gpu_mpi(comm, devices, gpu_mpi_seconds, liar); });
}

}  // namespace slipstream
