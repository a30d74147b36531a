// Flexible GMRES: vectors on the devices, the small least squares problem on the host.
#include <cmath>
#include <vector>

#include <slipstream/error.hpp>
#include <slipstream/krylov.hpp>
#include <slipstream/trace.hpp>

#include "device/record_graphs.hpp"
#include "device/recorded_calls.hpp"
#include "solver/krylov/linear_solve.hpp"
#include "solver/krylov/several_sums.hpp"

namespace slipstream::krylov {
namespace {

/// The least squares problem of one cycle, by Givens rotations.
class Hessenberg {
 public:
  explicit Hessenberg(double residual) : right_{residual} {}
  /// Adds column j: the entries h_0j to h_jj, and the one below them. Returns the norm of the remaining residual.
  double add(std::vector<double> column, double below) {
    for (std::size_t i = 0; i < cosines_.size(); ++i) {
      const double a = column[i], b = column[i + 1];
      column[i] = cosines_[i] * a + sines_[i] * b;
      column[i + 1] = -sines_[i] * a + cosines_[i] * b;
    }
    const double size = std::hypot(column.back(), below);
    cosines_.push_back(size == 0 ? 1 : column.back() / size);
    sines_.push_back(size == 0 ? 0 : below / size);
    column.back() = size;
    columns_.push_back(std::move(column));
    const double last = right_.back();
    right_.back() = cosines_.back() * last;
    right_.push_back(-sines_.back() * last);
    return std::abs(right_.back());
  }
  std::vector<double> solution() const {
    const std::size_t n = columns_.size();
    std::vector<double> y(n, 0.0);
    for (std::size_t i = n; i-- > 0;) {
      double sum = right_[i];
      for (std::size_t j = i + 1; j < n; ++j) sum -= columns_[j][i] * y[j];
      y[i] = columns_[i][i] == 0 ? 0 : sum / columns_[i][i];
    }
    return y;
  }

 private:
  std::vector<std::vector<double>> columns_;
  std::vector<double> right_, cosines_, sines_;
};

}  // namespace

struct FlexibleGmres::Impl : LinearSolve {
  int restart;
  Basis v, z;
  SeveralSums sums;
  std::vector<Buffer<double>> factors;  ///< coefficients of the solution, by device
  std::vector<Buffer<double>> columns;  ///< columns of the Hessenberg matrix, by pass of orthogonalisation
  Buffer<double> host_factors, host_columns;
  /// Key of a recorded iteration among the graphs that can be replayed.
  struct Call {
    std::uint64_t recording;
    int iteration;
    bool operator==(const Call&) const = default;
  };
  RecordedCalls<Call, most_vectors> calls;

  Impl(const Communicator& c, const Machine& machine, Layout l, int most)
      : LinearSolve(c, machine, std::move(l), "flexible GMRES"),
        restart(most),
        v(devices_of(c, machine), layout, most + 1),
        z(devices_of(c, machine), layout, most),
        sums(c, machine, layout, most + 1),
        host_factors(devices_of(c, machine).front(), static_cast<std::size_t>(most), Memory::pinned),
        host_columns(devices_of(c, machine).front(), 2 * sums_of_a_pass(), Memory::pinned) {
    require_one_component("flexible GMRES");
    for (const Device device : devices_of(c, machine)) {
      factors.emplace_back(device, static_cast<std::size_t>(most));
      columns.emplace_back(device, 2 * sums_of_a_pass());
    }
  }

  ~Impl() { finish(); }

  static Values constant(const Vectors& vectors) { return {vectors.begin(), vectors.end()}; }

  void precondition(std::vector<Stream>& streams, const System& system, int j) {
    const Vectors from = v.at(j), to = z.at(j);
    if (system.precondition) return system.precondition(from, to);
    for (std::size_t d = 0; d < sides.size(); ++d)
      scale(streams[d], sides[d].range, system.inverse_diagonal[d], from[d], to[d]);
  }

  /// Queues v_j+1 = A z_j, orthogonalised against v_0 .. v_j in two passes and normalised. The coefficients of both
  /// passes are stored in `columns`.
  void queue_next(std::vector<Stream>& streams, const System& system, int j) {
    precondition(streams, system, j);
    const Vectors q = images();
    system.apply(z.at(j), q);
    for (std::size_t pass = 0; pass < 2; ++pass) {
      sums.find(streams, system.weights, constant(q), v, j + 1);
      for (std::size_t d = 0; d < sides.size(); ++d) {
        add_several(streams[d], sides[d].range, sums.on(d), -1, v.first(d, j + 1), q[d]);
        copy(streams[d], columns[d].data() + pass * sums_of_a_pass(), sums.on(d), sums_of_a_pass() * sizeof(double));
      }
    }
    queue_vector(streams, system, q, j + 1);
  }

  /// Computes v_j+1, like queue_next(), and returns column j of the Hessenberg matrix and the entry below it.
  std::pair<std::vector<double>, double> next(std::vector<Stream>& streams, const System& system, int j) {
    const bool loops = system.recording != 0 && loopable() && sums.loopable();
    const std::vector<Graph>* graphs = nullptr;
    if (loops) {
      const auto record = [&] { return record_graphs(streams, [&] { queue_next(streams, system, j); }); };
      const auto forget = [&] {
        for (Stream& stream : streams) synchronize(stream.device());
      };
      graphs = calls.find({system.recording, j}, record, forget);
    }
    for (std::size_t d = 0; graphs && d < sides.size(); ++d) (*graphs)[d].launch(streams[d]);
    if (!graphs) queue_next(streams, system, j);
    copy(streams.front(), host_columns.data(), columns.front().data(), host_columns.bytes());
    const double below = std::sqrt(read(streams).single(square_sum, 0));
    sums.check();
    std::vector<double> column(static_cast<std::size_t>(j) + 1);
    for (std::size_t i = 0; i < column.size(); ++i)
      column[i] = host_columns.data()[i] + host_columns.data()[sums_of_a_pass() + i];
    return {column, below};
  }

  std::size_t sums_of_a_pass() const { return static_cast<std::size_t>(restart) + 1; }

  /// Queues kernels that normalise u to get the Krylov basis vector v_k = u / |u|.
  void queue_vector(std::vector<Stream>& streams, const System& system, const Vectors& u, int k) {
    summed(streams, one, square_sum, [&](Side& side, std::size_t d) {
      square(streams[d], side.range, system.weights[d], u[d], 1, side.parts.data());
    });
    const Vectors to = v.at(k);
    for (std::size_t d = 0; d < sides.size(); ++d)
      normalise(streams[d], sides[d].range, at(d, square_sum), u[d], to[d]);
  }
  /// Computes v_k = u / |u|, and returns |u|.
  double begin_vector(std::vector<Stream>& streams, const System& system, const Vectors& u, int k) {
    queue_vector(streams, system, u, k);
    return std::sqrt(read(streams).single(square_sum, 0));
  }

  void add_solution(std::vector<Stream>& streams, const std::vector<double>& y, double back, const Vectors& x) {
    std::copy(y.begin(), y.end(), host_factors.data());
    for (std::size_t d = 0; d < sides.size(); ++d) {
      copy(streams[d], factors[d].data(), host_factors.data(), y.size() * sizeof(double));
      add_several(streams[d], sides[d].range, factors[d].data(), back, z.first(d, static_cast<int>(y.size())), x[d]);
    }
    for (Stream& stream : streams) stream.synchronize();
  }

  void iterate(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x,
               const Beginning& from, const Options& options, Result& result) {
    while (!result.converged && result.iterations < options.most_iterations) {
      const double first = begin_vector(streams, system, residuals(), 0);
      Hessenberg problem(first);
      std::vector<double> y;
      double left = first;
      for (int j = 0; j < restart && result.iterations < options.most_iterations && left * left > from.limit; ++j) {
        const auto [column, below] = next(streams, system, j);
        left = problem.add(column, below);
        ++result.iterations;
        note(result, from, 0, left * left, options);
        if (below == 0) break;  // v_0 .. v_j already contain the solution
      }
      add_solution(streams, problem.solution(), from.back, x);
      system.apply(x, images());
      find_residual(streams, system, b, options, from.scale);
      const double rr = read(streams).paired(first_pair, 0, 1);
      if (result.converged && rr > lost * lost * from.limit && rr < 0.25 * first * first) {
        // The recurrence lost accuracy: the next cycle starts from the true residual.
        result.converged = false;
        result.history.back() = std::sqrt(rr) / from.size;
      }
      if (!result.converged && !(rr < first * first)) break;  // the residual did not decrease in this cycle
    }
  }

  Result solve(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x,
               const Options& options) {
    trace = options.trace;
    const HostSpan whole(trace, "flexible GMRES");
    return solve_from(streams, system, b, x, options,
                      [&](const Beginnings& from, Results& results) {
                        iterate(streams, system, b, x, from.front(), options, results.front());
                      })
        .front();
  }
};

FlexibleGmres::FlexibleGmres(const Communicator& comm, const Machine& machine, Layout layout, int restart) {
  require(restart >= 1 && restart < most_vectors,
          "flexible GMRES keeps 1 to " + std::to_string(most_vectors - 1) + " vectors before it starts again",
          {{"option", "restart"}, {"given", restart}, {"least", 1}, {"most", most_vectors - 1}});
  impl_ = std::make_unique<Impl>(comm, machine, std::move(layout), restart);
}
FlexibleGmres::~FlexibleGmres() = default;
FlexibleGmres::FlexibleGmres(FlexibleGmres&&) noexcept = default;

Result FlexibleGmres::solve(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x,
                            const Options& options) {
  check_options("flexible GMRES", options);
  return impl_->solve(streams, system, b, x, options);
}

}  // namespace slipstream::krylov
