#include "machine/agree.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "machine/records.hpp"

namespace slipstream {
namespace {

Error error_in(const std::string& letter) {
  PartsReader parts(letter);
  ErrorCode code{};
  std::string message;
  parts.read(code, message);
  Facts facts;
  while (!parts.over()) {
    std::string name, value;
    parts.read(name, value);
    facts.emplace_back(std::move(name), std::move(value));
  }
  return {code, message, std::move(facts)};
}

Error with_rank(const Error& error, int rank) {
  return {error.code(), "rank " + std::to_string(rank) + ": " + error.what(), joined(error.facts(), {{"rank", rank}})};
}

}  // namespace

std::string letter_of(const Problem& failure) {
  std::string letter;
  if (!failure) return letter;
  append_parts(letter, failure->code(), std::string(failure->what()));
  for (const Fact& fact : failure->facts()) append_parts(letter, fact.name, fact.value);
  return letter;
}

Error error_of_rank(int rank, const std::string& letter) { return with_rank(error_in(letter), rank); }

Problem failure_of(const std::function<void()>& work) {
  constexpr auto words = [](const std::exception& e) { return *e.what() ? e.what() : "failed without saying why"; };
  try {
    work();
  } catch (const Error& error) {
    return Error(error.code(), words(error), error.facts());
  } catch (const std::bad_alloc& error) {
    return Error(ErrorCode::out_of_memory, words(error));
  } catch (const std::exception& error) {
    return Error(ErrorCode::internal, words(error));
  }
  return {};
}

std::string text_of(const Problem& failure) { return failure ? failure->what() : ""; }

void throw_if(const Problem& failure) {
  if (failure) throw Error(*failure);
}

void attempt(Problem& failure, const std::function<void()>& work) {
  Problem mine = failure_of(work);
  if (!failure) failure = std::move(mine);
}

Problem first_failure(const Communicator& comm, const Problem& failure) {
  if (comm.all(!failure)) return {};
  const std::vector<std::string> all = comm.all_gather(letter_of(failure));
  const auto first = std::find_if(all.begin(), all.end(), [](const std::string& letter) { return !letter.empty(); });
  const Error error = error_in(*first);
  const auto says_it = [&](const std::string& letter) {
    return !letter.empty() && std::string(error_in(letter).what()) == error.what();
  };
  return std::all_of(all.begin(), all.end(), says_it) ? error : with_rank(error, static_cast<int>(first - all.begin()));
}

std::string first_failure(const Communicator& comm, const std::string& reason) {
  return text_of(first_failure(comm, reason.empty() ? Problem{} : Error(ErrorCode::internal, reason)));
}

void agree(const Communicator& comm, const Problem& failure) { throw_if(first_failure(comm, failure)); }

void on_all_ranks(const Communicator& comm, const std::function<void()>& work) { agree(comm, failure_of(work)); }

void on_rank_zero(const Communicator& comm, const std::function<void()>& work) {
  const std::string letter = comm.broadcast(comm.rank() == 0 ? letter_of(failure_of(work)) : std::string{}, 0);
  if (!letter.empty()) throw error_in(letter);
}

void on_all_ranks(const Communicator& comm, const std::string& what, const std::function<void()>& work) {
  std::exception_ptr caught;
  const Problem mine = failure_of([&] {
    try {
      work();
    } catch (...) {
      caught = std::current_exception();
      throw;
    }
  });
  const Problem first = first_failure(comm, mine);
  if (caught) std::rethrow_exception(caught);
  if (first) throw Error(first->code(), what + ": " + first->what(), first->facts());
}

}  // namespace slipstream
