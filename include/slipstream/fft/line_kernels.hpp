#pragma once
#include <slipstream/error.hpp>
#include <slipstream/launch.hpp>

#include <slipstream/fft/line_launch.hpp>

namespace slipstream::fft {

/// Launches the FFT kernel for lines of `length` values: one pass, or two passes. With `real`, the lines of the first
/// pass hold real numbers. Lines that are read through a point-wise operation need one pass.
template <class T, bool real, int length, class Tiles = Tiling<T, length>, class Read>
void launch_line_tiles_of(Stream& stream, const LineJob<T>& job, const Read& read) {
  if constexpr (is_narrow(length) && !real && std::is_same_v<Read, AsTheyAre> &&
                std::is_same_v<Tiles, Tiling<T, length>>)
    if (job.narrow) return launch_line_tiles_of<T, real, length, NarrowTiling<T, length>>(stream, job, read);
  using Kernel = LineTiles<T, length, real, Read, Tiles>;
  const Kernel kernel{{job.pass[0], job.pass[1]}, job.two, job.forward, job.roots, read};
  const std::int64_t teams = job.two.chunks > 0 ? kernel.teams_of_both() : kernel.teams();
  if constexpr (is_host_line(std::is_same_v<T, double>, length, real)) {
    launch_teams(stream, teams, Kernel::threads, Kernel::shared_bytes(), kernel);
  } else {
    require(stream.device().backend != Backend::host, ErrorCode::unsupported,
            "the host has no kernel for lines of " + std::to_string(length) + " values: FFTW transforms them there");
    launch_teams_on_gpu(stream, teams, Kernel::threads, Kernel::shared_bytes(), kernel);
  }
}

}  // namespace slipstream::fft
