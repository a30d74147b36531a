#pragma once
#include <functional>
#include <optional>
#include <string>

#include <slipstream/communicator.hpp>
#include <slipstream/error.hpp>

namespace slipstream {

/// An error that is told to other ranks before it is thrown, or none.
using Problem = std::optional<Error>;

/// Does `work` and returns the error that it throws.
Problem failure_of(const std::function<void()>& work);
/// The text of a failure; empty where there is none.
std::string text_of(const Problem& failure);

/// Throws the failure where there is one.
void throw_if(const Problem& failure);

/// Keeps the first failure of a sequence that must go on to its end, because other ranks count on it.
void attempt(Problem& failure, const std::function<void()>& work);

/// The failure of the lowest rank that has one, the same on all ranks, with its code and facts. Where not all say the
/// same, the rank is the fact "rank" and stands before the text ("rank 3: ..."). Collective.
Problem first_failure(const Communicator& comm, const Problem& failure);
/// The same of a reason that is no error; empty where no rank has one. Collective.
std::string first_failure(const Communicator& comm, const std::string& reason);

/// A failure as it travels to other ranks; empty where there is none.
std::string letter_of(const Problem& failure);
/// The error in a letter of this rank.
Error error_of_rank(int rank, const std::string& letter);

/// Throws the first failure on all ranks; returns where there is none. Collective.
void agree(const Communicator& comm, const Problem& failure);

/// Does `work`, in which ranks do not wait for each other, on every rank or on rank 0; then agrees. Collective.
void on_all_ranks(const Communicator& comm, const std::function<void()>& work);
void on_rank_zero(const Communicator& comm, const std::function<void()>& work);
/// On every rank; one on which it fails throws what it caught, whose type may say more, and the others `what` and the
/// first failure. Collective.
void on_all_ranks(const Communicator& comm, const std::string& what, const std::function<void()>& work);

}  // namespace slipstream
