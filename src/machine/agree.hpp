#pragma once
#include <functional>
#include <optional>
#include <string>

#include <slipstream/communicator.hpp>
#include <slipstream/error.hpp>

namespace slipstream {

/// Type of an error that is sent to other ranks before it is thrown; empty: no error.
using Problem = std::optional<Error>;

/// Runs `work` and returns the error that it throws, if any.
Problem failure_of(const std::function<void()>& work);
/// The text of a failure; empty if there is none.
std::string text_of(const Problem& failure);

/// Throws an error that was stored before; returns if there is none.
void throw_if(const Problem& failure);

/// Runs `work`. If it throws and `failure` is empty, stores the error there. A rank uses this to complete a sequence
/// that other ranks wait for.
void attempt(Problem& failure, const std::function<void()>& work);

/// All ranks agree on the failure of the lowest rank that has one, with its code and facts. If ranks differ, the rank
/// is added as the fact "rank" and as a prefix of the text ("rank 3: ..."). Collective.
Problem first_failure(const Communicator& comm, const Problem& failure);
/// The text of the lowest rank that has one, on all ranks; empty if none has. The text is no error. Collective.
std::string first_failure(const Communicator& comm, const std::string& reason);

/// Serialises a failure for another rank; the text is empty if there is none.
std::string letter_of(const Problem& failure);
/// Deserialises the failure of another rank.
Error error_of_rank(int rank, const std::string& letter);

/// Throws the failure of the lowest rank on all ranks; returns if there is none. Collective.
void agree(const Communicator& comm, const Problem& failure);

/// Runs `work` on all ranks, or on rank 0, then agrees on the result. `work` must not wait for other ranks. Collective.
void on_all_ranks(const Communicator& comm, const std::function<void()>& work);
void on_rank_zero(const Communicator& comm, const std::function<void()>& work);
/// Runs `work` on all ranks. A rank that fails rethrows its own exception, to keep the type. The others throw `what`
/// and the first failure. Collective.
void on_all_ranks(const Communicator& comm, const std::string& what, const std::function<void()>& work);

}  // namespace slipstream
