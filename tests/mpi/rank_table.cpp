#include "rank_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include <slipstream/error.hpp>

namespace slipstream::ranks {

// The smallest number of ranks that covers each behaviour:
//
//   1: blocks and devices of one process, files, errors.
//   2: messages between processes, by every route; one rank that fails, is late or differs.
//   4: nodes of two ranks, ranks with several neighbours, cuts along two axes.
//   8: cuts along three axes, trees three steps deep, four nodes, more ranks than most machines have cores.
//
// Two ranks with two devices each also cover behaviour within a process. A sanitizer checks one process at a time, so
// more ranks only help for nodes of several ranks.
constexpr const char *none = "", *all = "1 2 4 8", *from_two = "2 4 8", *to_four = "1 2 4";

const std::vector<Row>& table() {
  static const std::vector<Row> rows{
      // Numbers of ranks for tests of halo exchanges
      {"Routes/ExchangeScenario*by_node_of_one_rank*", "2", "2", all, "a node a rank: two ranks are two nodes"},
      {"Routes/ExchangeScenario*by_node*", "4 8", "4", all, "nodes of two ranks, two and four of them"},
      {"Routes/ExchangeScenario*all_routes", all, "2", all, "which route a message takes changes with every count"},
      {"Routes/ExchangeScenario*blocks*", "1 2 8", "1 2", all,
       "a block's neighbours on its own rank, on one, on three axes"},
      {"Routes/ExchangeScenario*open", "1 4", "2", all, "sides without a neighbour, within a rank and between"},
      {"Routes/ExchangeScenario*mixed_periodic_uneven", "4 8", "4", all, "sides with and without one along each axis"},
      {"Routes/ExchangeScenario*", "2", "2", all, "a route, knob or type between two processes"},
      {"LargeMessages/*by_1*", "2", none, all, "another order of many bytes, between processes"},
      {"LargeMessages/*by_2*", none, none, all, "the same between devices of a process"},
      {"Routes/Shapes*rules_by_1*", "1 2 8", "2", all, "blocks without neighbours elsewhere, with one, with all"},
      {"Routes/Shapes*nodes*", "4", "4", all, "nodes of two ranks"},
      {"Routes/Shapes*", "2", "2", all, "a shape by a route between two processes"},
      {"Routes/LargeField*direct", "1", none, "1",
       "addresses within a process, the route kernel's too; takes gigabytes"},
      {"Routes/LargeField*", none, none, "1", "by a route alone, as direct has both"},
      {"WideHalo*", "1", "1", all, "refused before ranks speak"},
      {"SharedDevice*", "1 2", "1", all, "ranks that share a GPU"},
      {"Routes/Adjoint.AddsInTheOrderOfTheBlocks*rules*", to_four, "2", to_four, "the order of sums across any cut"},
      {"Routes/Adjoint.*nodes*", "4", none, to_four, "nodes of two ranks"},
      {"Routes/Adjoint.*", "2", "2", to_four, "a shape, type or operation by a route between two processes"},
      {"HaloAdjoint*", "1 2", "1", all, "sums of faces within a process and between"},
      {"Routes/ConjugateGradients*rules*", to_four, "2", to_four, "loops and sums across any cut"},
      {"Routes/ConjugateGradients*nodes*", "4", none, to_four, "nodes of two ranks"},
      {"Routes/ConjugateGradients*", "2", "2", to_four, "a loop over a route within a process and between two"},
      {"Backends/DeviceTimeStep*", to_four, "2", to_four, "a number of all blocks in the steps of each rank"},
      // Numbers of ranks for tests of the finite difference solvers
      {"Scenarios/Stencils*", to_four, none, to_four, "steps between exchanges across cuts within a rank and between"},
      {"Backends/StencilPoints.*OverItsEnd*", "1", none, "1 2", "the table of a device; thousands of steps"},
      {"Backends/StencilPoints.TheAbsorbingLayer*", "1", none, "1 2", "what a layer gives back, on one device"},
      {"Backends/StencilPoints*", to_four, "2", to_four, "points that several ranks compute"},
      {"StencilSteps*", "1 2", none, "1 2", "what fits is known alike on all ranks"},
      {"StencilOrders*", "1", none, "1 2", "errors of the scheme itself"},
      {"Scenarios/ImplicitHeat*", "1 2", "2", to_four, "solutions across cuts within a rank and between"},
      {"ImplicitHeatOrders*", "1", none, "1 2", "errors of the scheme itself"},
      {"ImplicitHeatTolerances*", "1 2", "1", to_four, "iterations of one solve on every rank"},
      {"ImplicitHeatRange*", "1 2", "1", to_four, "bits and refusals on every rank"},
      {"ImplicitHeatIterations*", "1 2", "1", to_four, "iterations of one solve on every rank"},
      {"ImplicitHeatFormats*", "1", none, "1 2", "rounding of the format itself"},
      {"ImplicitHeatRefuses*", "1 2", "1", to_four, "refused and told alike on all ranks"},
      {"Backends/OwnUpdate*", "1 2", "2", to_four, "steps across cuts within a rank and between"},
      {"OwnUpdateRefuses*", "1", "1", to_four, "refused before ranks speak"},
      {"StencilRefuses*", "1 2", "1", to_four, "refused before ranks speak"},
      // Numbers of ranks for tests of gather-scatters, transposes and Fourier transforms
      {"Chaos/Toys*chaos_2", none, none, to_four, "as with other pauses"},
      {"Chaos/Toys*nodes*", "4", "4", to_four, "delays between nodes of two ranks"},
      {"Chaos/Toys*", "2", "2", to_four, "delays of streams in a process and between two"},
      {"Routes/Toys*nodes*", "4 8", "4", all, "nodes of two ranks, two and four of them"},
      {"Routes/Toys*rules*by_size", "1 2 4 8", "2", all, "everybody sends to everybody: more partners with each count"},
      {"Routes/Toys*rules*", "1 2 4", "2", all, "the same by each tuning, of one partner and of three"},
      {"Routes/Toys*", "2", "2", all, "a tuning by a route between two processes"},
      {"ListedRefuses.WhatOneRankAlone*", "2 4", "2", from_two, "the rank that lists, its partner and bystanders"},
      {"ListedRefuses*", "1 2 4", "2", all, "told on the ranks of both ends and on bystanders"},
      {"ListedTransfers*", "1 2", "2", all, "slots within a process and between two"},
      {"Backends/IdLists*", "1 2 8", "2", all, "lists within a process, between two, and of many partners"},
      {"Routes/ListsAndBoxes*nodes*", "4", "4", all, "nodes of two ranks"},
      {"Routes/ListsAndBoxes*", "1 2", "2", all, "lists by a route within a process and between two"},
      {"Routes/GatherScatterOfSomeDevices*", "1", none, "1", "counts of devices that ranks do not have"},
      {"Routes/GatherScatterOfManyPoints*", "1", "1", "1", "threads of the set-up of a process"},
      {"Routes/BricksOfSomeDevices*", "1", none, "1", "counts of devices that ranks do not have"},
      {"Routes/GatherScatterOn.ThatCannotBeTuned*", "2", "2", from_two, "a setting that one rank cannot have"},
      {"Routes/GatherScatterOn.ThatCannotBeMade*nodes_by_1", "4", "4", all, "one rank without memory, in nodes of two"},
      {"Routes/GatherScatterOn.ThatCannotBeMade*nodes*", none, none, all, "each allocation in turn, on more devices"},
      {"Routes/GatherScatterOn.ThatCannotBeMade*rules_by_1", "2", "2", all,
       "one rank without memory; the other must learn of it"},
      {"Routes/GatherScatterOn.ThatCannotBeMade*", none, none, all,
       "more devices, or a route's own memory, as in Failures.OfAnAllocation"},
      {"Routes/GatherScatterOn.IsTuned*rules*", to_four, "2", all, "measured alike by all; eight wait for two cores"},
      {"Routes/GatherScatterOn*rules*", all, "2", all, "every rank has ids in common with every other"},
      {"Routes/GatherScatterOn*nodes*", "4", "4", all, "nodes of two ranks"},
      {"Routes/GatherScatterOn*", "2", "2", all, "values by a route within a process and between two"},
      {"Backends/LargeGatherScatter*", none, none, "1", "addresses within a process; takes gigabytes on a GPU"},
      {"GatherScatterRefuses*", "1 2 4", "2", all, "what one rank does wrong, told on the others"},
      {"Routes/UniqueValues.ThatCannotBeMade*rules_by_1", "2", "2", all,
       "one rank without memory; the other must learn of it"},
      {"Routes/UniqueValues.ThatCannotBeMade*", none, none, all,
       "more devices, or a route's own memory, as in Failures.OfAnAllocation"},
      {"Routes/UniqueValues*rules*", all, "2", all, "owners and copies on every rank"},
      {"Routes/UniqueValues*nodes*", "4", "4", all, "nodes of two ranks"},
      {"Routes/UniqueValues*", "2", "2", all, "values by a route within a process and between two"},
      {"UniqueValuesRefuse*", "1 2", "2", all, "what calls ask for, and what one rank asks for alone"},
      {"Routes/TransposesOfSomeDevices*", "1", none, "1", "counts of devices that ranks do not have"},
      {"Routes/TransposesInOneCall*", "2 4", "2", all, "one call of MPI for two ranks, and for more"},
      {"TransposesThatRebind*", "2", "2", "2", "an array of another process"},
      {"Host/SlowedTransposes*", "2", "2", to_four, "pieces of a slowed message, by one call of MPI and by nodes"},
      {"Routes/Transposes*rules*", all, "2", all, "everybody sends to everybody: more partners with each count"},
      {"Routes/Transposes*nodes*", "4", "4", all, "nodes of two ranks"},
      {"Routes/Transposes*", "2", "2", all, "a permutation by a route between two processes"},
      {"Routes/CastItems*rules*f64_to_f32", to_four, "2", all, "rounded values within a device, a process and between"},
      {"Routes/CastItems*nodes*f64_to_f32", "4", "4", all, "nodes of two ranks"},
      {"Routes/CastItems*nodes*", none, none, all, "a format knows nothing of nodes"},
      {"Routes/CastItems*host_rules*_zfp", "2", "2", all, "blocks of values within a process and between two"},
      {"Routes/CastItems*host_staged_by_1_*_zfp", "2", "2", all, "the same through the memory of the host"},
      {"Routes/CastItems*host_*_zfp", none, none, all, "as blockfloat by this route: zfp knows none"},
      {"Routes/CastItems*to_bf16", "1", "1", all, "as f16, which has as many bytes: rounding knows no route"},
      {"Routes/CastItems*", "2", "2", all, "a cast by a route within a process and between two"},
      {"CastWithoutCheck*", "2 4", "2", from_two,
       "told to ranks that neither packed nor received; one that does not come"},
      {"Backends/CastBySomeDevices*", "1", none, "1", "counts of devices that ranks do not have"},
      {"Host/Throttled*", "1 2", "2", all, "slowed within a process, and between nodes"},
      {"StrangersRoute*", "1 2", "2", all, "a route of the suite within a process and between two"},
      {"ThrottleRefuses*", "2", "2", from_two, "one rank that asks for another"},
      {"CodingRefuses*", "2", "2", from_two, "what one rank asks for alone"},
      {"TransposesInOneCallInTime*", "2", "2", "2", "who waits for whom; seconds of waiting"},
      {"TransposesInOneCallRefuse*", "2", "2", all, "told on the other rank"},
      {"Backends/LargeTranspose*", none, none, "1", "addresses within a process; takes gigabytes"},
      {"Backends/TransformsByBatches*", "1", none, "1 2", "one device each"},
      {"MessagesOfBatches*", "1", none, "1", "of machines that are not there"},
      {"Backends/TransformsOnSeveral*by_4", "1", none, to_four, "more devices of one rank"},
      {"Backends/TransformsOnSeveral*by_2", "1", "2", to_four, "batches that move within a rank"},
      {"Backends/TransformsOnSeveral*", "2", "2", to_four, "batches that move between ranks"},
      {"Devices/FourierTransforms*GoBackByLongLines*", "2", none, "1 2", "two devices; minutes under a sanitizer"},
      {"Devices/FourierTransforms*KernelsOfGpus*by_2", "1 2", none, all, "stores within a process and between two"},
      {"Devices/FourierTransforms*KernelsOfGpus*by_5", "1", none, all, "uneven slabs"},
      {"Devices/FourierTransforms*KernelsOfGpus*", none, none, all, "as two devices and five"},
      {"Devices/FourierTransforms.ChooseTheFastest*by_1", "1 2", "2", all,
       "measured alike by all; four wait for two cores"},
      {"Devices/FourierTransforms*by_1", to_four, "2", all,
       "slabs and pencils between processes, ranks without planes"},
      {"Devices/FourierTransforms*by_2", "1 2", "2", all, "the same with devices of a process"},
      {"Devices/FourierTransforms*by_4", none, none, "1", "as two devices of two ranks, and one of four"},
      {"Devices/FourierTransforms*by_5", none, none, "1", "uneven slabs as of three, more devices as of eight"},
      {"Devices/FourierTransforms*", "1", none, "1", "counts of devices that ranks do not have"},
      {"Devices/RadixLines*by_1", to_four, "2", all, "stores between processes"},
      {"Devices/RadixLines*by_2", "1 2", none, all, "the same with devices of a process"},
      {"Devices/RadixLines*", "1", none, "1", "counts of devices that ranks do not have"},
      {"RadixLinesRefuse*", "1", none, "1", "lengths alone"},
      {"RadicesOfLines*", "1", "1", "1", "lines of one thread"},
      {"Backends/FlowByBatches*", "1", none, "1 2", "one device each"},
      {"Backends/FlowOnSeveral*by_4", "1", none, to_four, "more devices of one rank"},
      {"Backends/FlowOnSeveral*by_2", "1", "2", to_four, "batches that move within a rank"},
      {"Backends/FlowOnSeveral*", "2", "2", to_four, "batches that move between ranks"},
      {"Devices/PseudoSpectralFlow*by_1", to_four, "2", all, "a flow between processes"},
      {"Devices/PseudoSpectralFlow*by_2", "1 2", none, all, "the same with devices of a process"},
      {"Devices/PseudoSpectralFlow*", "1", none, "1", "counts of devices that ranks do not have"},
      {"PseudoSpectralFlowRefined*", none, none, "1", "as PseudoSpectralFlow follows it, longer and finer"},
      {"PseudoSpectralFlowRefuses*", "1", "1", all, "refused alike on all ranks"},
      {"Devices/Convolutions*by_4", none, none, "1", "as two devices of two ranks"},
      {"Devices/Convolutions*by_6", none, "1", "1",
       "as three devices of two ranks; in one process the sanitizer sees who frees a place, too"},
      {"Devices/Convolutions*by_3", "1 2", none, to_four, "three devices; sanitized six of one rank"},
      {"Devices/Convolutions*", "1 2", "2", to_four,
       "an operation on modes of one device and of several, within a rank and between two"},
      {"Devices/TransformsInOrder*", "1 2", "2", all, "streams of a process and of two"},
      {"ConvolutionRefuses*", "1 2", none, "1 2", "what one rank does wrong, told on the other"},
      {"FourierTransformRefuses*", "1 2", "1", all, "refused before ranks speak"},
      {"Routes/Order*", "1 2", "2", all, "streams of a process, and ranks that begin in other orders"},
      {"Routes/InFlight*by_1_beside*", "2 4", "2", all,
       "a chain beside all with all: ranks differ in their neighbours"},
      {"Routes/InFlight*", "1 2", "2", all, "the same with devices of a process"},
      {"Routes/Produced*_by_3", "1", none, "1", "counts of devices that ranks do not have"},
      {"Routes/Produced*_by_4", "1", none, "1", "counts of devices that ranks do not have"},
      {"Routes/Produced*_by_5", "1", none, "1", "counts of devices that ranks do not have"},
      {"Routes/Produced*_by_8", "1", none, "1", "counts of devices that ranks do not have"},
      {"Routes/Produced*nodes*", "4", "4", to_four, "nodes of two ranks"},
      {"Routes/Produced*rules*", to_four, "2", to_four, "which route a message takes changes with every count"},
      {"Routes/Produced*", "2", "2", to_four, "the caller's kernels by a route within a process and between two"},
      {"Routes/Poisoned*nodes*", "4", "4", to_four, "nodes of two ranks"},
      {"Routes/Poisoned*", "2", "2", to_four, "what has not arrived within a process and between two"},
      {"Routes/OntoItself*nodes*", "4", "4", to_four, "nodes of two ranks"},
      {"Routes/OntoItself*", "1 2", "2", to_four, "what rests or changes places within a process and between two"},
      {"ProducedRefuses*", "1 2", "1", all, "refused before ranks speak"},
      {"ProducedInTime*", "2", "2", "2", "a place that the other rank has not opened; seconds of waiting"},
      {"Routes/ComplexNumbers*", "2", "2", all, "sums by a route within a process and between two"},
      {"Routes/Bound*", "2", "2", all, "arrays that one rank changes and the other stores to"},
      // Numbers of ranks for tests of an exchange's set-up: memory, recorded graphs, failures and tuning
      {"*/AdoptedBy*nodes*", "4", "4", all, "nodes of two ranks"},
      {"*/AdoptedBy*", "2", "2", all, "the caller's memory by a route between two processes"},
      {"Memories/Adopted*", "1 2", "2", all, "every kind of memory within a process and between two"},
      {"Refused*", "2", "2", all, "what one rank does wrong, told on the other"},
      {"*/Captured*", "2", "2", all, "graphs by a route between two processes"},
      {"Backends/StreamCapture*", "1 2", "2", all, "no messages on one rank, some on two"},
      {"Backends/LifetimeOfSums*", "1 2", "2", all, "no message on one device, some between two"},
      {"Routes/Lifetime*", "1 2", "2", all, "ends of streams within a process and between two"},
      {"Mismatch*", "2 4", "2", all, "the rank that differs and its partner; with bystanders"},
      {"Options/SameOptions*", "2", "2", "2 4", "the rank that differs and its partner"},
      {"OptionsOfRanks*", "2", "2", "2 4", "the rank that differs and its partner"},
      {"Backends/LateStores*", "2", "2", "2 4", "a rank that is late; seconds of waiting"},
      {"Routes/RanksApart*", "2", "2", all, "who waits for whom; seconds of waiting"},
      {"Routes/Failures.OfAnAllocation*nodes*", "4", none, "2 4", "one rank without memory, in nodes of two ranks"},
      {"Routes/Failures.OfAnAllocation*", "2", "2", "2 4", "one rank without memory; the other must learn of it"},
      {"Routes/Failures*", "2", "2", "2 4", "who waits for whom; seconds of waiting"},
      {"Routes/GatherScatterFailures*nccl_by_1", "2", "2", "2", "a library that takes a device a rank"},
      {"Routes/GatherScatterFailures*nvshmem_by_1", "2", "2", "2", "a library that takes a device a rank"},
      {"Routes/GatherScatterFailures*by_1", none, none, "2", "as with two devices a rank"},
      {"Routes/GatherScatterFailures*", "2", "2", "2", "who waits for whom; seconds of waiting"},
      {"LibraryStart*", "2", none, "2 4", "one rank that fails, and the others, who wait"},
      {"LastExchange*", "2", "2", all, "a failure on one rank, told on the other"},
      {"OutOfMemory*", "2", "2", all, "one rank without memory, told on the other"},
      {"Routes/SharedArena*nodes*", "4", none, to_four, "nodes of two ranks"},
      {"Routes/SharedArena*", "2", "2", to_four, "memory of a route within a process and between two"},
      {"ArenaAfterAFailure*", "2", "2", all, "who stores to whom; seconds of waiting"},
      {"PlanBytes*", "1 2 4", "1", all, "bytes of plans within a process, between two, of several partners"},
      {"Ways/HostRoute*", "2", "2", all, "a partner that is late or missing"},
      {"HostRouteKnobs*", "1", "1", all, "refused before ranks speak"},
      {"WaysThatDiffer*", "1", "1", all, "a list of names"},
      {"GpuMpi*", "2", "2", all, "what MPI does to a message between two"},
      {"NodeMail*", "4 8", "4", all, "nodes of two ranks, two and four of them"},
      {"End*", "2", none, all, "ranks that come late or never; seconds of waiting"},
      {"PrivateCommunicator*", "2 4", "2", all, "the largest of what several say"},
      {"SetUp*", "2 4", "2", all, "what several ranks tell each other; pencils and nodes of two ranks"},
      {"Tuned.ACandidateThatTimesOut*", "2", none, all, "one rank that is late; seconds of waiting"},
      {"Tuned.BothEndsOfAMessage*", "2 4", "2", all, "the same choice on more ranks"},
      {"Tuned.EveryPairOfDevices*", "1 2 4", "2", all, "pairs within a process, between two, of several partners"},
      {"Tuned*", "2", "2", all, "measured between two processes"},
      // Numbers of ranks for tests of communication between ranks
      {"Agree*", all, "2", all, "milliseconds"},
      {"CommunicatorThreads*", "1 2", "1", all, "threads of a process; what is refused before ranks speak"},
      {"WrongCommunicator*", "2", "2", from_two, "one rank of several, and ranks in another order"},
      {"Guest*", "1 2", "1", all, "the state of each process, by a launcher"},
      {"WaitLimits*", "1 2", "2", all, "what all ranks ask for, and what one asks for alone"},
      {"Routes/InfiniteWaits*", "2", "2", "2 4", "one rank that is late, by each route"},
      {"AfterAFailedTask*", "1 2", "1", all, "errors of a process; ends that ranks make together"},
      {"AllReduceByMpi*", "2", "2", from_two, "a run that failed on one rank"},
      {"Rendezvous.ThatOneRank*", "2 4", "2", from_two, "who waits for whom"},
      {"Rendezvous*", all, "2", all, "milliseconds"},
      {"Communicator*", all, "2", all, "milliseconds"},
      {"Discovery*", all, "2", all, "milliseconds, and another machine with each count"},
      {"MeasuredRates*", "1 2 4", "2", all, "no other rank, one node, two nodes"},
      {"Backends/MemoryTest*", "1 2 8", "2", all, "its own neighbour, one, and many"},
      {"Methods/Reduce.NamesWho*", "2", none, all, "who waits for whom; seconds of waiting"},
      {"Methods/Reduce*", all, "2", all, "the tree grows with every count"},
      {"Deals/BlockSumsOf*", "1 2 4 8", "2", all, "the tree is dealt out anew with every count"},
      {"Backends/BlockSumsOn.NamesWho*", "2", none, all, "who waits for whom; seconds of waiting"},
      {"Backends/BlockSumsOn*", to_four, "2", all, "alone, between two, between four"},
      {"BlockSumsOnStreams*", "1 2", "2", all, "streams of a process, and a rank that is late"},
      {"BlockSumsRefused*", "1 2", "2", all, "told on the other rank"},
      {"Backends/ReduceOn*", "1 2 4", "2", all, "alone, between two, between nodes of two"},
      // Numbers of ranks for tests of files and checkpoints
      {"CheckpointOnRanks.IsRestartedWithTheSameBits*", "2", "2", all, "runs cut and joined over two processes"},
      {"CheckpointOnRanks*", "1 2", "2", all, "written alone and together"},
      {"MpiFiles*", "2", "2", all, "files that two write together"},
      {"ElementFiles*", "1 2", "2", to_four, "written by every rank; no byte depends on their number"},
      {"VtkhdfOnRanks*", "1 2 4", "2", all, "written alone, together, and by ranks without a block"},
      // Numbers of ranks for tests of flow solvers
      {"Lbm/Sameness*cavity_d3q27*", none, none, to_four, "as driven_d3q27, without walls that ranks change"},
      {"Lbm/Sameness*_f16", "1", "1", to_four,
       "a number format knows nothing of ranks: each has a count of its own; a fifth of the ways each"},
      {"Lbm/Sameness*channel_d3q27*", none, none, to_four, "as open_d3q27"},
      {"Lbm/Sameness*driven_d3q27*", none, none, to_four, "as driven_d3q19 and open_d3q27"},
      {"Lbm/Sameness*_f32", "2", "2", to_four, "cut in two"},
      {"Lbm/Sameness*_d2q9_*_f64", none, none, to_four,
       "a plane has no corners but those of two axes: as in f32 on two ranks"},
      {"Lbm/Sameness*_f64", "4", none, to_four, "cut along two axes: corners on other ranks; a fifth of the ways each"},
      {"HostAgainstCuda*", "1", "1", all, "two backends of one process"},
      {"Lbm/Sums*", "2 4", "2", to_four, "sums over any cut"},
      {"Mass*", "2 4", "2", all, "sums over any cut"},
      {"Zigzag*", "2 4", "2", all, "sums over any cut, and what lies on other ranks"},
      {"Loads*", "2 4", "2", all, "sums over any cut"},
      {"Lbm/Measured*ChangesNoBit*", "2", none, to_four, "every boundary region between two processes"},
      {"Lbm/Measured*ChangeNoBit*", "2", none, to_four, "every way to keep solid cells between two processes"},
      {"Lbm/Measured*", "2", "2", to_four, "measured alike by two"},
      {"Guard/GuardOnRanks.NamesTheCell*", "2 4", "2", to_four, "the rank that owns the cell, and bystanders"},
      {"Guard/GuardOnRanks*", "2", "2", to_four, "one rank finds, both learn"},
      {"Backends/PoissonOn*", "1 2 4", "2", to_four, "elements on one rank, two and four"},
      {"PoissonRange*", "1 2", "1", to_four, "bits and refusals on every rank"},
      {"Backends/PoissonBits*", "1 2 4", "2", to_four, "the box is dealt out anew with every count"},
      {"Backends/MultigridBits*/2", "1", "2", to_four, "four devices of one rank; two ranks have as many of two each"},
      {"Backends/MultigridBits*", "1 2", "2", to_four, "levels, overlaps and the vertices that all devices hold"},
      {"SemRefusesOnRanks*", "1 2", "2", to_four, "refused on every rank"},
      {"Backends/SemScalars*", "1 2", "2", to_four, "several unknowns in one run, on devices and ranks"},
      {"SemScalarsRefuse*", "1", "1", "1 2", "the same on every rank"},
      {"Backends/CoupledSolves*/2", "1", "2", to_four, "four devices of one rank; two ranks have as many of two each"},
      {"Backends/CoupledSolves*", "1 2", "2", to_four, "several components in one solve, on devices and ranks"},
      {"Backends/ReplayedSolves*", "1 2", "2", to_four, "graphs of several devices and ranks"},
      {"Preconditioners/CoupledSolves*", "1", "1", "1 2", "preconditioned one component after the other"},
      {"Backends/SemApply*", "1 2", "2", to_four, "messages between devices and ranks while elements are computed"},
      {"Backends/SemProbe.FallsWithTheOrder*", "1", "2", to_four, "the error of the method; other tests find points"},
      {"Backends/SemProbe*", "1 2", "2", to_four, "points that one rank has and all are told of"},
      {"Backends/SemFilter*", "1", "1", "1 2", "element by element"},
      {"SemErrors*", "1", none, "1 2", "errors of the method itself; seconds of iterations"},
      {"Backends/SemBitsOfFlow*/2", "1", "2", to_four, "four devices of one rank; two ranks have as many of two each"},
      {"Backends/SemBits*", "1 2", "2", to_four, "steps of a run on one device, several, and some without elements"},
      {"SemLifting*", "1 2", "1", to_four, "values of sides that several ranks have"},
      {"SemData.TimesAPowerOfTwo*", "1", "1", to_four, "SemBits has the same bits on two ranks"},
      {"SemData*", "1 2", "1", to_four, "the same numbers on every rank; seconds of iterations"},
      {"SemSolver*", "1 2", "1", to_four, "refused and told alike on all ranks"},
      {"LagrangeHexahedra*", "1", none, "1", "a list of numbers"},
      {"Guard.*", "1 2", "1", all, "refusals, and a finding of the one rank that has it"},
  };
  return rows;
}

const std::vector<Gap>& gaps() {
  constexpr const char *nccl = "NCCL joins GPUs, and these are devices of the host",
                       *nvshmem = "NVSHMEM joins GPUs, and these are devices of the host",
                       *driven = "the host drives this route: no graph holds it",
                       *captured = "a graph holds this route", *one = "another set of routes shows it",
                       *still = "no value travels";
  static const std::vector<Gap> found{
      {"*_for_nodes_*", "1", "needs nodes of two ranks"},
      {"Routes/Adjoint*its_own_neighbour", none, still},
      {"Routes/Shapes*more_devices_than_blocks", none, still},
      {"Routes/OntoItself.MeasuringRoutesWouldChangeIt*", none, "refused before a route is chosen"},
      {"Routes/OntoItself.WhatRestsIsNotMoved*", none, still},
      {"Routes/Poisoned.AKernelThatForgets*", none, still},
      {"Methods/Reduce*host_nccl*", all, nccl},
      {"*host_*nccl_by_2*", all, nccl},
      {"*host_*nccl*", from_two, nccl},
      {"*host_*nvshmem_by_2*", all, nvshmem},
      {"*host_*nvshmem*", from_two, nvshmem},
      {"Routes/GatherScatterOn.ThatCannotBeTuned*direct_by_1", none, one},
      {"Routes/GatherScatterOn.ThatCannotBeTuned*", all, one},
      {"Routes/GatherScatterOn.IsTunedWith*rules*", none, one},
      {"Routes/GatherScatterOn.IsTunedWith*", all, one},
      {"Routes/GatherScatterOn.CombinesWithManyArrays*rules*", none, one},
      {"Routes/GatherScatterOn.CombinesWithManyArrays*", all, one},
      {"Routes/GatherScatterFailures.OfAWaitOfTheHost*rules_by_2", none, one},
      {"Routes/GatherScatterFailures.OfAWaitOfTheHost*", all, one},
      {"Routes/Captured.Refuses*host_direct*", to_four, captured},
      {"Routes/Captured.Refuses*host_colocated*", to_four, captured},
      {"Routes/Captured.Refuses*host_rules*", to_four, captured},
      {"Routes/Captured.*Gives*host_staged*", from_two, driven},
      {"Routes/Captured.*Gives*host_gpu_mpi*", from_two, driven},
      {"Routes/Bound.Graphs*host_staged*", from_two, driven},
      {"Routes/Bound.Graphs*host_gpu_mpi*", from_two, driven},
      {"Routes/Lifetime.*Queued*", none, "without a graph"},
      {"Routes/Lifetime.A*host_staged*", from_two, driven},
      {"Routes/Lifetime.A*host_gpu_mpi*", from_two, driven},
  };
  return found;
}

namespace {

/// Whether a name matches a GoogleTest pattern, where * stands for any text.
bool matches(const char* pattern, const char* name) {
  if (*pattern == '*') return matches(pattern + 1, name) || (*name && matches(pattern, name + 1));
  return *pattern == *name && (!*name || matches(pattern + 1, name + 1));
}

bool holds(const char* counts, int ranks) {
  std::istringstream text(counts);
  for (int count = 0; text >> count;)
    if (count == ranks) return true;
  return false;
}

/// Whether a GoogleTest filter selects a test, ignoring exclusions.
bool asks_for(const std::string& filter, const char* name) {
  std::istringstream text(filter.substr(0, filter.find('-')));
  if (text.str().empty()) return true;
  for (std::string pattern; std::getline(text, pattern, ':');)
    if (matches(pattern.c_str(), name)) return true;
  return false;
}

const char* counts(const Row& row, Column column) {
  return column == Column::quick ? row.quick : column == Column::sanitized ? row.sanitized : row.every;
}

/// Calls f(full name) for every test of this program.
template <class F>
void each_test(F f) {
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t)
      f(std::string(suite.name()) + "." + suite.GetTestInfo(t)->name());
  }
}

}  // namespace

Column column_here() {
  if (const char* asked = std::getenv("SLIPSTREAM_TESTS")) {
    const std::string name = asked;
    if (name == "quick") return Column::quick;
    if (name == "sanitized") return Column::sanitized;
    require(name == "every", "SLIPSTREAM_TESTS is '" + name + "': say quick, sanitized or every");
    return Column::every;
  }
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return Column::sanitized;
#else
  return Column::quick;
#endif
}

bool is_due(std::size_t n, std::size_t of) { return column_here() == Column::every || n % of == 0; }

Chosen choose(const std::string& asked, int ranks, Column column) {
  const bool by_name = asked != "*" && !asked.empty() && asked.front() != '-' && !asked.starts_with("*-");
  if (by_name && std::getenv("SLIPSTREAM_TESTS") == nullptr) return {asked, {}};
  std::vector<int> used(table().size(), 0), used_gaps(gaps().size(), 0);
  std::map<std::string, int> in_gaps;
  std::string left_out;
  each_test([&](const std::string& name) {
    const auto row =
        std::find_if(table().begin(), table().end(), [&](const Row& r) { return matches(r.tests, name.c_str()); });
    require(row != table().end(),
            "tests/mpi/rank_table.cpp has no row for " + name + ": say at which numbers of ranks it runs");
    ++used[static_cast<std::size_t>(row - table().begin())];
    const char* why = nullptr;
    bool decided = false;
    for (std::size_t g = 0; g < gaps().size(); ++g) {
      const Gap& gap = gaps()[g];
      if (!matches(gap.tests, name.c_str())) continue;
      ++used_gaps[g];
      const bool runs = *gap.counts == 0;
      if (decided || !(runs || holds(gap.counts, ranks))) continue;
      decided = true;
      if (!runs) why = gap.why;
    }
    const bool due = holds(counts(*row, column), ranks);
    if (due && why && asks_for(asked, name.c_str())) ++in_gaps[why];
    if (!due || why) left_out += ":" + name;
  });
  const auto require_used = [](int uses, const char* what, const char* tests) {
    require(uses > 0, std::string("tests/mpi/rank_table.cpp has a ") + what + " for " + tests +
                          ", which no test matches: remove it, or mend its name");
  };
  for (std::size_t r = 0; r < used.size(); ++r) require_used(used[r], "row", table()[r].tests);
  for (std::size_t g = 0; g < used_gaps.size(); ++g) require_used(used_gaps[g], "gap", gaps()[g].tests);
  Chosen chosen{asked, {}};
  for (const auto& [why, tests] : in_gaps) chosen.gaps.push_back(std::to_string(tests) + " tests left out: " + why);
  if (!left_out.empty()) chosen.filter += asked.find('-') == std::string::npos ? "-" + left_out.substr(1) : left_out;
  return chosen;
}

}  // namespace slipstream::ranks
