#pragma once
// Faults that tests inject: what is rare on a real machine, at a place of the test's choice.

namespace slipstream::faults {

/// Steps that can be made to fail.
enum class Step : int { allocation, nccl_start, nvshmem_start, count };

/// The step fails once in this process, after it has been passed `passes` times more; below 0: not any more.
void arm(Step step, int passes);
/// Whether what arm() asked for has yet to happen.
bool armed(Step step);
/// The step itself. Throws OutOfMemory where it was armed for now.
void pass(Step step);

}  // namespace slipstream::faults
