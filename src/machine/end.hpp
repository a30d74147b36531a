#pragma once
#include <mpi.h>

namespace slipstream {

/// Whether Slipstream started MPI. It then ends it, too: at the end of the process, where a rank with an exit code
/// other than 0 waits for the others for the seconds in SLIPSTREAM_END_WAIT (30), and then ends them.
bool mpi_started_here();

/// For a rank that fails: whether all ranks of the job come to call this within so many seconds. Later calls give the
/// same answer.
bool all_ranks_end(double seconds);

/// From now on a failure of this rank is known to be one of all ranks: at its end it waits for them without a limit.
void expect_common_end();

/// Ends all ranks of the communicator at once, from any thread. MPI_Abort needs a thread that may call MPI while others
/// are in it. Other threads end this process without MPI_Finalize: launchers end a job whose rank leaves so.
[[noreturn]] void end_job(MPI_Comm comm, int exit_code);

}  // namespace slipstream
