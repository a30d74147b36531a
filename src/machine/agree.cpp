#include "machine/agree.hpp"

#include <slipstream/error.hpp>

namespace slipstream {

std::string failure_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    return *error.what() ? error.what() : "an error without a name";
  }
  return {};
}

void attempt(std::string& failure, const std::function<void()>& work) {
  const std::string mine = failure_of(work);
  if (failure.empty()) failure = mine;
}

void agree(const Communicator& comm, const std::string& failure) {
  if (comm.all(failure.empty())) return;
  for (const std::string& text : comm.all_gather(failure))
    if (!text.empty()) throw Error(text);
}

void on_all_ranks(const Communicator& comm, const std::function<void()>& work) { agree(comm, failure_of(work)); }

void on_rank_zero(const Communicator& comm, const std::function<void()>& work) {
  agree(comm, comm.rank() == 0 ? failure_of(work) : std::string{});
}

}  // namespace slipstream
