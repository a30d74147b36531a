#pragma once
// Fault injection for tests: rare events at a chosen place.

#include <functional>

#include <slipstream/stream.hpp>

namespace slipstream::faults {

/// Steps of the program that a test can make fail.
enum class Step : int { allocation, nccl_start, nvshmem_start, count };

/// Makes an allocation or library start (`step`) fail once, after it succeeded `passes` times; negative: never.
void arm(Step step, int passes);
/// Whether a test has armed a fault: the step, such as an allocation, will fail at a later call of pass().
bool armed(Step step);
/// Called before each step that tests can make fail. Throws OutOfMemory if the armed fault is due.
void pass(Step step);

/// Points on message streams: before packed values leave a device, and before received values are unpacked.
enum class Lane : int { departure, arrival, count };

/// Sets an action that runs before later work on a message stream: work that delays it, or an exception. An empty
/// function removes it. Affects exchanges created afterwards; none may be in flight.
void hold(Lane lane, std::function<void(Stream&)> work);
bool held(Lane lane);
/// Routes call this before packed values leave and before received ones are unpacked. It runs an action set by a test.
void reach(Lane lane, Stream& stream);

/// Replaces the seconds that teardowns wait for ranks that may have died; 0 restores them.
void shorten_teardowns(double seconds);
/// Seconds that teardowns wait for ranks that may have died, as set by a test; 0 outside of tests.
double seconds_of_teardowns();

}  // namespace slipstream::faults
