#pragma once
#include <functional>
#include <string>

#include <slipstream/communicator.hpp>

namespace slipstream {

/// What `work` throws, as text; empty where it throws nothing.
std::string failure_of(const std::function<void()>& work);

/// Keeps the first failure of a sequence that must go on to its end, because other ranks count on it.
void attempt(std::string& failure, const std::function<void()>& work);

/// The failure of the lowest rank that has one, the same on all ranks; empty where none has. Its rank stands before it
/// ("rank 3: ...") unless all say the same. Collective.
std::string first_failure(const Communicator& comm, const std::string& failure);

/// Throws the first failure on all ranks; returns where there is none. Collective.
void agree(const Communicator& comm, const std::string& failure);

/// Does `work`, in which ranks do not wait for each other, on every rank or on rank 0; then agrees. Collective.
void on_all_ranks(const Communicator& comm, const std::function<void()>& work);
void on_rank_zero(const Communicator& comm, const std::function<void()>& work);
/// On every rank; one on which it fails throws what it caught, whose type may say more, and the others `what` and the
/// first failure. Collective.
void on_all_ranks(const Communicator& comm, const std::string& what, const std::function<void()>& work);

}  // namespace slipstream
