#pragma once
#include <mpi.h>

#include <functional>

namespace slipstream {

/// Starts a nonblocking collective and waits for its end. Unlike MPI's own waits it gives its core to ranks that still
/// work. It has no timeout, because another rank may read meshes for an hour.
void collect(const std::function<int(MPI_Request*)>& begin, const char* what);

}  // namespace slipstream
