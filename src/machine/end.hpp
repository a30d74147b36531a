#pragma once
#include <mpi.h>

namespace slipstream {

/// Whether Slipstream started MPI. It then also finalises MPI at the end of the process. A rank with a nonzero exit
/// code waits SLIPSTREAM_END_WAIT seconds (30) for the others, and then ends them.
bool mpi_started_here();

/// Whether all ranks of the job call this function within `seconds`. A failed rank uses it to wait. Later calls return
/// the same answer.
bool all_ranks_end(double seconds);

/// Declares that all ranks fail together: at its end this rank then waits for them without a timeout.
void expect_common_end();

/// Ends all ranks of the communicator at once, from any thread. MPI_Abort is called only by a thread that may call MPI
/// now. Other threads end this process without MPI_Finalize, on which launchers end the job.
[[noreturn]] void end_job(MPI_Comm comm, int exit_code);

}  // namespace slipstream
