// Messages to ranks that do not expect them.
#include <gtest/gtest.h>

#include <utility>

#include <slipstream/error.hpp>

#include "machine/rendezvous.hpp"

namespace slipstream {
namespace {

TEST(Rendezvous, BringsEachTextToWhomItNames) {
  const Communicator comm = Communicator::world();
  PrivateCommunicator own(comm, "a test");
  const auto text = [](int from, int to) { return std::string(static_cast<std::size_t>(1 + from * 1000 + to), 'x'); };
  // Each rank sends to some ranks, to none or to itself, by a rule that receivers do not know.
  const auto sends = [](int from, int to) { return (from * 7 + to * 3) % 4 != 1; };
  for (int round = 0; round < 3; ++round) {
    std::map<int, std::string> outgoing;
    for (int to = 0; to < comm.size(); ++to)
      if (sends(comm.rank(), to)) outgoing[to] = text(comm.rank(), to);
    std::map<int, std::string> right;
    for (int from = 0; from < comm.size(); ++from)
      if (sends(from, comm.rank())) right[from] = text(from, comm.rank());
    EXPECT_EQ(rendezvous(own, outgoing, 30), right);
  }
}

/// A rank that times out at once must not leave the others waiting.
TEST(Rendezvous, ThatOneRankGivesUpIsATimeoutOnAll) {
  const Communicator comm = Communicator::world();
  if (comm.size() < 2) GTEST_SKIP() << "one rank has nobody to wait for";
  std::map<int, std::string> outgoing;
  for (int to = 0; to < comm.size(); ++to) outgoing[to] = std::string(100000, 'x');
  PrivateCommunicator own(comm, "a test");
  EXPECT_THROW(rendezvous(own, std::move(outgoing), comm.rank() == 0 ? 1e-9 : 0.3), Timeout);
  comm.barrier();
}

}  // namespace
}  // namespace slipstream
