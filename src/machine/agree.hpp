#pragma once
#include <functional>
#include <slipstream/communicator.hpp>
#include <string>

namespace slipstream {

/// What `work` throws, as text; empty where it throws nothing.
std::string failure_of(const std::function<void()>& work);

/// Keeps the first failure of a sequence that must go on to its end, because other ranks count on it.
void attempt(std::string& failure, const std::function<void()>& work);

/// Throws the failure of the lowest rank that has one, on all ranks; returns where none has. Collective.
void agree(const Communicator& comm, const std::string& failure);

/// Does `work`, in which ranks do not wait for each other, on every rank or on rank 0; then agrees. Collective.
void on_all_ranks(const Communicator& comm, const std::function<void()>& work);
void on_rank_zero(const Communicator& comm, const std::function<void()>& work);

}  // namespace slipstream
