#pragma once
// What a pseudo-spectral flow holds.
#include <array>
#include <complex>
#include <optional>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/dns.hpp>

#include "solver/dns/kernels.hpp"

namespace slipstream::dns {

/// Throws Error where the options cannot make a run.
FftOptions transform_options(const Options& options);

struct ModeBlock {
  std::int64_t id = 0;
  std::size_t device = 0;  ///< of this rank's
  ModeGrid grid{};
};
struct CellBlock {
  std::int64_t id = 0;
  std::size_t device = 0;
  Box box;
};

struct Dns::Impl {
  Communicator comm;
  Options options;
  Fft fft;
  Field modes, next, sum, rhs;  // of Fourier coefficients, but for rhs: transforms that are not normalised
  Field u, w;                   // between transforms of a step, u holds u x w
  std::vector<Stream> streams;
  std::vector<ModeBlock> spectral;
  std::vector<CellBlock> physical;
  std::vector<Device> places;
  Tasks tasks;  // rhs = transform of u x w, then a stage of the scheme, as often as it has stages
  StageNumbers numbers{};
  std::optional<TimeLoop> loop;
  State state;
  bool velocity_is_new = false;
  std::int64_t seen_restarts = 0;

  Impl(const Communicator& comm, const Machine& machine, Options options);
  void synchronize();
  void list_tasks();
  Task transform(const std::string& name, bool forward, const Field& from, Field& to);
  template <class Queue>
  void each_mode_block(std::size_t device, Queue queue);
  const Field& velocity();
  double courant();
  /// Of all modes: energy, sum of k^2 times energy, energy of the lowest shells.
  std::array<double, line_sums> sums();
  double forcing_factor();
  std::vector<double> spectrum();
  /// Shells that some mode which is kept belongs to, from 0 on.
  int shells() const;
  /// The sums over all ranks of what each has for the shells.
  std::vector<double> over_ranks(std::vector<double> mine) const;
  void begin_from_modes();

  template <class F>
  void with_type(const F& f) const {
    if (options.type == DType::f64) {
      f(double{});
    } else {
      f(float{});
    }
  }
  template <class T>
  static T* data(const Field& field, std::int64_t block) {
    return reinterpret_cast<T*>(field.data(block));
  }
  /// Doubles that `queue` leaves on the device.
  template <class Queue>
  static std::vector<double> from_device(Stream& stream, std::size_t count, const Queue& queue) {
    const Buffer<double> there(stream.device(), count), here(stream.device(), count, Memory::pinned);
    queue(there.data());
    copy(stream, here.data(), there.data(), here.bytes());
    stream.synchronize();
    return {here.data(), here.data() + count};
  }
};

/// Calls f(i, j, k) for every mode of a block.
template <class F>
void each_mode(const ModeGrid& grid, const F& f) {
  for (int k = 0; k < grid.extent[2]; ++k)
    for (int j = 0; j < grid.extent[1]; ++j)
      for (int i = 0; i < grid.extent[0]; ++i) f(i, j, k);
}

}  // namespace slipstream::dns
