#pragma once
// Faults that tests inject: what is rare on a real machine, at a place of the test's choice.

#include <functional>

#include <slipstream/stream.hpp>

namespace slipstream::faults {

/// Steps that can be made to fail.
enum class Step : int { allocation, nccl_start, nvshmem_start, count };

/// The step fails once in this process, after it has been passed `passes` times more; below 0: not any more.
void arm(Step step, int passes);
/// Whether what arm() asked for has yet to happen.
bool armed(Step step);
/// The step itself. Throws OutOfMemory where it was armed for now.
void pass(Step step);

/// Streams of messages: where their packed values leave a device, and where those that came are about to be unpacked.
enum class Lane : int { departure, arrival, count };

/// What is done on such a stream, before what is queued there: work that holds it up, or an exception. Empty: nothing
/// more. For exchanges made afterwards, while none is under way.
void hold(Lane lane, std::function<void(Stream&)> work);
bool held(Lane lane);
/// The place itself.
void reach(Lane lane, Stream& stream);

}  // namespace slipstream::faults
