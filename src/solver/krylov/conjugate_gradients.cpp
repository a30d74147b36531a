// Preconditioned conjugate gradients whose coefficients stay on the devices.
#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

#include <slipstream/block_sums.hpp>
#include <slipstream/buffer.hpp>
#include <slipstream/error.hpp>
#include <slipstream/krylov.hpp>

#include "machine/sum.hpp"
#include "solver/krylov/chebyshev.hpp"
#include "solver/krylov/vector_kernels.hpp"

namespace slipstream::krylov {
namespace {

/// Blocks of each device.
std::vector<std::vector<std::int64_t>> blocks_of(const Layout& layout) {
  std::vector<std::vector<std::int64_t>> all;
  for (std::size_t d = 0; d < layout.points.size(); ++d) {
    std::vector<std::int64_t>& mine = all.emplace_back();
    for (std::int64_t n = 0; n < Range{layout.points[d], layout.block}.blocks(); ++n)
      mine.push_back(layout.first_block[d] + n);
  }
  return all;
}

/// A device's workspace. Sums of two iterations lie side by side: (r, z) of the last one makes the next direction.
struct Side {
  Range range;
  double* p = nullptr;
  Buffer<double> r, q, parts, sums, host, own_p;
  Buffer<double> host_parts;  ///< where sums are the host's
  Buffer<double> z, d;        ///< where they are needed: what the preconditioner makes of r, and its last change
};
enum Place : std::size_t { first_pair = 0, second_pair = 2, direction_sum = 4, mean_pair = 6, places = 8 };

void require_solved(bool so, const std::string& text) {
  if (!so) throw NotSolved(text);
}

/// How far the true residual may lie above that of the recurrence before rounding is named.
constexpr double lost = 10;

std::string show(double value) {
  std::ostringstream text;
  text.precision(3);
  text << value;
  return text.str();
}

std::string tail_of(const std::vector<double>& history) {
  std::ostringstream text;
  text.precision(3);
  for (std::size_t n = history.size() > 4 ? history.size() - 4 : 0; n < history.size(); ++n)
    text << (text.str().empty() ? "" : ", ") << history[n];
  return text.str();
}

/// What has probably kept it from converging, and what to do: whether the recurrence still has the residual of b - A x,
/// and by how much it fell over the last looks.
std::string likely_cause(const Result& result, const Options& options, double enough) {
  const std::vector<double>& history = result.history;
  const std::size_t looks = std::min<std::size_t>(history.size() - 1, 3);
  const double last = history.back(), before = history[history.size() - 1 - looks];
  std::ostringstream text;
  text.precision(2);
  if (result.true_residual > lost * last) {
    text << "that of b - A x is " << result.true_residual << ": rounding keeps it there; ask for "
         << lost * result.true_residual << " or more";
  } else if (looks > 0 && last < 0.5 * before) {
    const double pace =
        std::log(before / last) / std::min<double>(result.iterations, static_cast<double>(looks) * options.look_every);
    text << "it still falls: at this pace it wants about " << std::ceil(std::log(last / enough) / pace)
         << " iterations more; allow them, or ask for less";
  } else {
    text << "it hardly falls: the system is hard to solve; " << options.hard << (options.hard.empty() ? "" : ", or ")
         << "allow many more iterations";
  }
  return text.str();
}

std::string of(const Options& options) { return options.field.empty() ? "" : " for " + options.field; }

}  // namespace

struct ConjugateGradients::Impl {
  Communicator comm;
  Layout layout;
  BlockSums one, two;
  std::vector<Side> sides;
  std::optional<double> polynomial;  ///< Chebyshev's: up to which eigenvalue
  int degree = 1;
  bool on_host = false;
  Trace* trace = nullptr;

  Impl(const Communicator& c, const Machine& machine, Layout l)
      : comm(c),
        layout(std::move(l)),
        one(comm, machine, blocks_of(layout), 1),
        two(comm, machine, blocks_of(layout), 2) {
    const std::vector<int> devices = machine.devices_of_rank(comm.rank());
    for (std::size_t d = 0; d < devices.size(); ++d) {
      const Device device = machine.device(devices[d]).local;
      const Range range{layout.points[d], layout.block};
      const auto points = static_cast<std::size_t>(range.points), blocks = static_cast<std::size_t>(range.blocks());
      const bool given = !layout.directions.empty();
      sides.push_back({range,
                       given ? layout.directions[d] : nullptr,
                       Buffer<double>(device, points),
                       Buffer<double>(device, points),
                       Buffer<double>(device, 2 * blocks + 1),
                       Buffer<double>(device, places),
                       Buffer<double>(device, 2, Memory::pinned),
                       Buffer<double>(device, given ? 0 : points),
                       {},
                       {},
                       {}});
      if (!given) sides.back().p = sides.back().own_p.data();
      if (!given || points == 0) continue;
      Stream stream(device);
      fill(stream, sides.back().q.data(), 0, sides.back().q.bytes());
      stream.synchronize();
    }
  }

  /// Calls f(side, d) for each device, then adds up what it left in the parts.
  template <class F>
  void summed(std::vector<Stream>& streams, BlockSums& sums, std::size_t place, F f) {
    std::vector<const double*> parts;
    std::vector<double*> results;
    for (std::size_t d = 0; d < sides.size(); ++d) {
      const DeviceSpan span(trace, streams[d], "solver", "vectors", "compute");
      f(sides[d], d);
      parts.push_back(sides[d].parts.data());
      results.push_back(sides[d].sums.data() + place);
    }
    if (on_host) return sum_on_host(streams, &sums == &two ? 2 : 1, place);
    const DeviceSpans spans(trace, streams, "solver", "sum", "reduction");
    sums.run(streams, parts, results);
  }

  void sum_on_host(std::vector<Stream>& streams, std::size_t count, std::size_t place) {
    const HostSpan span(trace, "sum on the host", "wait");
    for (std::size_t d = 0; d < sides.size(); ++d) {
      Side& side = sides[d];
      if (side.host_parts.size() == 0)
        side.host_parts = Buffer<double>(side.parts.device(), side.parts.size(), Memory::pinned);
      copy(streams[d], side.host_parts.data(), side.parts.data(), side.parts.bytes());
    }
    double sum[2] = {0, 0};
    for (std::size_t d = 0; d < sides.size(); ++d) {
      streams[d].synchronize();
      const auto blocks = static_cast<std::size_t>(sides[d].range.blocks());
      for (std::size_t s = 0; s < count; ++s)
        for (std::size_t n = 0; n < blocks; ++n) sum[s] += sides[d].host_parts.data()[s * blocks + n];
    }
    sum_over_ranks(comm, {sum, count});
    for (std::size_t d = 0; d < sides.size(); ++d) {
      std::copy_n(sum, count, sides[d].host_parts.data());
      copy(streams[d], sides[d].sums.data() + place, sides[d].host_parts.data(), count * sizeof(double));
    }
  }

  /// Two sums, read by the host, which waits.
  std::array<double, 2> read(std::vector<Stream>& streams, std::size_t place) {
    const HostSpan span(trace, "look", "wait");
    Side& side = sides.front();
    copy(streams.front(), side.host.data(), side.sums.data() + place, 2 * sizeof(double));
    streams.front().synchronize();
    one.check();
    two.check();
    return {side.host.data()[0], side.host.data()[1]};
  }

  Vectors directions() const {
    Vectors found;
    for (const Side& side : sides) found.push_back(side.p);
    return found;
  }

  template <class Get>
  Vectors all(Get get) {
    Vectors found;
    for (Side& side : sides) found.push_back(get(side).data());
    return found;
  }

  /// r = b - A x, then (r, z) and (r, r) at a place.
  void start(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x,
             const Options& options, std::size_t place) {
    const Vectors q = all([](Side & side) -> auto& { return side.q; });
    system.apply(x, q);
    for (std::size_t d = 0; d < sides.size(); ++d) residual(streams[d], sides[d].range, b[d], q[d], sides[d].r.data());
    if (options.null_space) take_mean(streams, system.weights, all([](Side & side) -> auto& { return side.r; }));
    summed(streams, two, place, [&](Side& side, std::size_t d) {
      preconditioned(streams[d], side.range, system.weights[d], system.inverse_diagonal[d], side.r.data(),
                     side.parts.data());
    });
  }

  void take_mean(std::vector<Stream>& streams, const Values& weights, const Vectors& u) {
    summed(streams, two, mean_pair,
           [&](Side& side, std::size_t d) { mean(streams[d], side.range, weights[d], u[d], side.parts.data()); });
    for (std::size_t d = 0; d < sides.size(); ++d)
      subtract_mean(streams[d], sides[d].range, sides[d].sums.data() + mean_pair, u[d]);
  }

  struct RightSide {
    double square = 0;     ///< (b, b)
    double imbalance = 0;  ///< |(1, b)| / sqrt((1, 1) (b, b)), with a null space
  };
  /// Refuses what has no solution.
  RightSide right_side(std::vector<Stream>& streams, const System& system, const Values& b, const Options& options) {
    summed(streams, one, direction_sum, [&](Side& side, std::size_t d) {
      dot(streams[d], side.range, system.weights[d], b[d], b[d], side.parts.data());
    });
    const double square = read(streams, direction_sum)[0];
    require_solved(std::isfinite(square),
                   "conjugate gradients" + of(options) + ": the right side holds values that are not finite");
    if (!options.null_space || square == 0) return {square, 0};
    summed(streams, two, mean_pair, [&](Side& side, std::size_t d) {
      mean(streams[d], side.range, system.weights[d], b[d], side.parts.data());
    });
    const auto [sum, ones] = read(streams, mean_pair);
    const double part = std::abs(sum) / std::sqrt(ones * square);
    std::ostringstream text;
    text << "conjugate gradients" << of(options) << ": the right side does not sum to zero (its constant part is "
         << part
         << " of it), and without a Dirichlet side there is no solution: subtract its mean, or fix the boundary values";
    require_solved(part <= options.imbalance, text.str());
    return {square, part};
  }

  /// One iteration, queued. (r, z) and (r, r) are at `now`, those of the next one will be at `next`. Beside the
  /// operator a point is read and written with 88 B: r, q, w and D for the residual, p, x, r and D for the direction.
  void iterate(std::vector<Stream>& streams, const System& system, const Vectors& x, std::size_t now,
               std::size_t next) {
    const Vectors p = directions();
    const Vectors q = all([](Side & side) -> auto& { return side.q; });
    if (system.apply_with_parts) {
      system.apply_with_parts(p, q, all([](Side & side) -> auto& { return side.parts; }));
    } else {
      system.apply(p, q);
    }
    summed(streams, one, direction_sum, [&](Side& side, std::size_t d) {
      if (!system.apply_with_parts) dot(streams[d], side.range, system.weights[d], p[d], q[d], side.parts.data());
    });
    summed(streams, two, next, [&](Side& side, std::size_t d) {
      const double* sums = side.sums.data();
      step(streams[d], side.range,
           {system.weights[d], system.inverse_diagonal[d], q[d], sums + now, sums + direction_sum, side.r.data()},
           side.parts.data());
    });
    turn(streams, system, x, next, now);
  }

  /// A step along the direction, and the next one by (r, z) of this iteration at `now` and of the one before.
  void turn(std::vector<Stream>& streams, const System& system, const Vectors& x, std::size_t now, std::size_t before) {
    const auto turn_of = [&](Side& side, std::size_t d) {
      const double* sums = side.sums.data();
      return Turn{sums + now, sums + before, sums + direction_sum, x[d], side.p};
    };
    if (!polynomial) {
      for (std::size_t d = 0; d < sides.size(); ++d) {
        Side& side = sides[d];
        const DeviceSpan span(trace, streams[d], "solver", "vectors", "compute");
        direction(streams[d], side.range, turn_of(side, d), system.inverse_diagonal[d], side.r.data());
      }
      return;
    }
    apply_polynomial(streams, system);
    summed(streams, one, now, [&](Side& side, std::size_t d) {
      dot(streams[d], side.range, system.weights[d], side.r.data(), side.z.data(), side.parts.data());
    });
    for (std::size_t d = 0; d < sides.size(); ++d) {
      Side& side = sides[d];
      direction(streams[d], side.range, turn_of(side, d), side.z.data());
    }
  }

  /// z of r.
  void apply_polynomial(std::vector<Stream>& streams, const System& system) {
    const Vectors z = all([](Side & side) -> auto& { return side.z; });
    const Vectors q = all([](Side & side) -> auto& { return side.q; });
    Chebyshev numbers(*polynomial);
    const double first = numbers.first();
    for (std::size_t d = 0; d < sides.size(); ++d)
      chebyshev_begin(streams[d], sides[d].range, system.inverse_diagonal[d], sides[d].r.data(), first,
                      sides[d].d.data(), z[d]);
    for (int step = 1; step < degree; ++step) {
      system.apply(z, q);
      const auto [a, b] = numbers.next();
      for (std::size_t d = 0; d < sides.size(); ++d)
        chebyshev_next(streams[d], sides[d].range, system.inverse_diagonal[d], sides[d].r.data(), q[d], a, b,
                       sides[d].d.data(), z[d]);
    }
  }

  void make_room() {
    for (Side& side : sides)
      if (side.z.size() < side.r.size())
        for (Buffer<double>* buffer : {&side.z, &side.d}) *buffer = Buffer<double>(side.r.device(), side.r.size());
  }

  void set_preconditioner(std::vector<Stream>& streams, const System& system, const Options& options) {
    polynomial.reset();
    if (options.preconditioner == Preconditioner::jacobi) return;
    make_room();
    // An eigenvalue beyond the end would make the preconditioner negative; Lanczos's method comes from below.
    const double largest =
        system.largest_eigenvalue > 0 ? system.largest_eigenvalue : largest_eigenvalue(streams, system);
    polynomial = 1.1 * largest;
    degree = options.degree;
  }

  double largest_eigenvalue(std::vector<Stream>& streams, const System& system) {
    constexpr int steps = 12;
    polynomial.reset();
    make_room();
    const Vectors p = directions(), x = all([](Side & side) -> auto& { return side.z; });
    for (std::size_t d = 0; d < sides.size(); ++d)
      noise(streams[d], sides[d].range, layout.first_block[d] * layout.block, p[d]);
    // r = A noise is alike in all copies, zero where x is fixed, and has no part in the null space.
    system.apply(p, all([](Side & side) -> auto& { return side.r; }));
    std::size_t now = first_pair, next = second_pair;
    summed(streams, two, now, [&](Side& side, std::size_t d) {
      preconditioned(streams[d], side.range, system.weights[d], system.inverse_diagonal[d], side.r.data(),
                     side.parts.data());
    });
    begin_directions(streams, system, x, now, next);
    std::vector<double> alpha, beta;
    double rz = read(streams, now)[0];
    for (int step = 0; step < steps && rz > 0; ++step) {
      iterate(streams, system, x, now, next);
      std::swap(now, next);
      alpha.push_back(rz / read(streams, direction_sum)[0]);
      const double following = read(streams, now)[0];
      beta.push_back(following / rz);
      rz = following;
    }
    const double found = largest_seen(alpha, beta);
    require_solved(std::isfinite(found) && found > 0, "Chebyshev's polynomial: the largest eigenvalue is found to be " +
                                                          std::to_string(found) +
                                                          "; the matrix or its diagonal is not positive");
    return found;
  }

  /// p = z, and x stays.
  void begin_directions(std::vector<Stream>& streams, const System& system, const Vectors& x, std::size_t now,
                        std::size_t next) {
    for (std::size_t d = 0; d < sides.size(); ++d) {
      Side& side = sides[d];
      if (side.range.points > 0) fill(streams[d], side.p, 0, side.r.bytes());
      for (const std::size_t place : {next, std::size_t{direction_sum}})
        fill(streams[d], side.sums.data() + place, 0, 2 * sizeof(double));
    }
    turn(streams, system, x, now, next);
  }

  Result solve(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x,
               const Options& options) {
    on_host = options.sums_on_host;
    trace = options.trace;
    const HostSpan whole(trace, "conjugate gradients");
    const auto [square, imbalance] = right_side(streams, system, b, options);
    const double size = square > 0 ? std::sqrt(square) : 1;
    const double enough = std::max(options.tolerance, options.absolute_tolerance / size);
    std::size_t now = first_pair, next = second_pair;
    set_preconditioner(streams, system, options);
    start(streams, system, b, x, options, now);
    begin_directions(streams, system, x, now, next);
    Result result;
    result.imbalance = imbalance;
    const auto look = [&] {
      const auto [rz, rr] = read(streams, now);
      result.reported = std::sqrt(rr) / size;
      result.history.push_back(result.reported);
      result.converged = result.reported <= enough;
      require_solved(std::isfinite(rz) && std::isfinite(rr) && rz >= 0,
                     "conjugate gradients" + of(options) + ": after " + std::to_string(result.iterations) +
                         " iterations (r, z) is " + std::to_string(rz) + ", residuals " + tail_of(result.history) +
                         ": the matrix or its diagonal is not positive, or a value is not finite");
    };
    look();
    while (!result.converged && result.iterations < options.most_iterations) {
      iterate(streams, system, x, now, next);
      std::swap(now, next);
      ++result.iterations;
      if (result.iterations % options.look_every == 0 || result.iterations == options.most_iterations) look();
    }
    if (options.null_space) take_mean(streams, system.measure, x);
    start(streams, system, b, x, options, next);
    result.true_residual = std::sqrt(read(streams, next)[1]) / size;
    result.rounded = result.converged && result.true_residual > lost * enough;
    require_solved(result.converged || !options.must_converge,
                   "conjugate gradients" + of(options) + " did not converge in " + std::to_string(result.iterations) +
                       " iterations: the last residuals are " + tail_of(result.history) + " of the right side, and " +
                       show(enough) + " was asked for; " + likely_cause(result, options, enough));
    return result;
  }
};

void Effort::add(Result result) {
  ++solutions;
  iterations += result.iterations;
  unconverged += result.converged ? 0 : 1;
  rounded += result.rounded ? 1 : 0;
  last = std::move(result);
}

ConjugateGradients::ConjugateGradients(const Communicator& comm, const Machine& machine, Layout layout)
    : impl_(std::make_unique<Impl>(comm, machine, std::move(layout))) {}
ConjugateGradients::~ConjugateGradients() = default;
ConjugateGradients::ConjugateGradients(ConjugateGradients&&) noexcept = default;

Result ConjugateGradients::solve(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x,
                                 const Options& options) {
  require(options.look_every >= 1 && options.most_iterations >= 0,
          "conjugate gradients: looks are 1 or more iterations apart, and iterations are not negative");
  require(std::isfinite(options.tolerance) && options.tolerance >= 0 && std::isfinite(options.absolute_tolerance) &&
              options.absolute_tolerance >= 0,
          "conjugate gradients: tolerances are numbers of 0 or more");
  require(options.preconditioner == Preconditioner::jacobi || options.degree >= 1,
          "Chebyshev's polynomial has degree 1 or more");
  return impl_->solve(streams, system, b, x, options);
}

double ConjugateGradients::largest_eigenvalue(std::vector<Stream>& streams, const System& system) {
  return impl_->largest_eigenvalue(streams, system);
}

Preconditioner preconditioner_from_string(const std::string& name) {
  if (name == "jacobi") return Preconditioner::jacobi;
  if (name == "chebyshev") return Preconditioner::chebyshev;
  throw Error("no preconditioner is called '" + name + "': choose jacobi or chebyshev");
}

}  // namespace slipstream::krylov
