#pragma once
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <slipstream/gather.hpp>
#include <slipstream/sem_solver.hpp>

#include "support/machine_rig.hpp"

namespace slipstream::sem {

/// A function of coordinates and time, which is evaluated at each point.
inline Function each(std::function<double(const Point&, double)> f) {
  return [f = std::move(f)](std::span<const Point> places, double time) {
    std::vector<double> values;
    for (const Point& x : places) values.push_back(f(x, time));
    return values;
  };
}

/// Checks that the bytes from `values` on these devices of all ranks equal those of one rank with one device.
inline void expect_bits_of_one_device(
    Backend backend, int devices,
    const std::function<std::vector<std::byte>(const Communicator&, const Machine&)>& values) {
  const Communicator comm = Communicator::world(), alone(MPI_COMM_SELF);
  const auto expected = values(alone, machine_here(backend, 1, 0, alone));
  const auto found = values(comm, machine_here(backend, devices));
  if (comm.rank() == 0) {
    EXPECT_TRUE(found == expected);
  }
}

/// Appends the values of the named fields on the whole grid, gathered from all ranks, to `all`.
inline void append_fields(const Communicator& comm, Sem& sem, const std::vector<std::string>& names,
                          std::vector<std::byte>& all) {
  for (const std::string& name : names) {
    const std::vector<std::byte> one = gather(comm, sem.state()[name], sem.grid().box());
    all.insert(all.end(), one.begin(), one.end());
  }
}

}  // namespace slipstream::sem
