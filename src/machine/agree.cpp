#include "machine/agree.hpp"

#include <algorithm>
#include <exception>
#include <vector>

#include <slipstream/error.hpp>

namespace slipstream {

std::string failure_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    return *error.what() ? error.what() : "failed without saying why";
  }
  return {};
}

void attempt(std::string& failure, const std::function<void()>& work) {
  const std::string mine = failure_of(work);
  if (failure.empty()) failure = mine;
}

std::string first_failure(const Communicator& comm, const std::string& failure) {
  if (comm.all(failure.empty())) return {};
  const std::vector<std::string> all = comm.all_gather(failure);
  const auto first = std::find_if(all.begin(), all.end(), [](const std::string& text) { return !text.empty(); });
  if (std::count(all.begin(), all.end(), *first) == comm.size()) return *first;
  return "rank " + std::to_string(first - all.begin()) + ": " + *first;
}

void agree(const Communicator& comm, const std::string& failure) {
  const std::string first = first_failure(comm, failure);
  require(first.empty(), first);
}

void on_all_ranks(const Communicator& comm, const std::function<void()>& work) { agree(comm, failure_of(work)); }

void on_rank_zero(const Communicator& comm, const std::function<void()>& work) {
  const std::string failure = comm.broadcast(comm.rank() == 0 ? failure_of(work) : std::string{}, 0);
  require(failure.empty(), failure);
}

void on_all_ranks(const Communicator& comm, const std::string& what, const std::function<void()>& work) {
  std::exception_ptr caught;
  const std::string mine = failure_of([&] {
    try {
      work();
    } catch (...) {
      caught = std::current_exception();
      throw;
    }
  });
  const std::string first = first_failure(comm, mine);
  if (caught) std::rethrow_exception(caught);
  require(first.empty(), what + ": " + first);
}

}  // namespace slipstream
