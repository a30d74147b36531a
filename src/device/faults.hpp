#pragma once
// Fault injection for tests: rare events at a chosen place.

#include <functional>

#include <slipstream/stream.hpp>

namespace slipstream::faults {

/// Steps of the program that a test can make fail.
enum class Step : int { allocation, nccl_start, nvshmem_start, count };

/// Makes a step fail once in this process, after `passes` successful passes; a negative value disarms it.
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
/// Routes call this at both points of a message stream. It runs the action that a test has set for the point.
void reach(Lane lane, Stream& stream);

/// Replaces the seconds that teardowns wait for ranks that may have died; 0 restores them.
void shorten_teardowns(double seconds);
/// Seconds that teardowns wait for ranks that may have died, as set by a test; 0 outside of tests.
double seconds_of_teardowns();

}  // namespace slipstream::faults
