// A box of elements on devices: its geometry, sums over copies of points, and operators.
#include <algorithm>
#include <optional>

#include <slipstream/error.hpp>
#include <slipstream/sem.hpp>
#include <slipstream/trace.hpp>

#include "device/upload.hpp"
#include "device/wait_quietly.hpp"
#include "machine/agree.hpp"
#include "machine/private_communicator.hpp"
#include "solver/krylov/vector_kernels.hpp"
#include "solver/sem/assembled.hpp"
#include "solver/sem/kernels.hpp"
#include "solver/sem/rule.hpp"

namespace slipstream::sem {
namespace {

/// Smallest number of elements whose geometry is computed at once; more if the box has more along its axes.
constexpr std::int64_t elements_at_once = 1024;

/// Elements of one device of this rank: coordinates, metric factors and work arrays.
struct Part {
  std::int64_t first = 0, elements = 0, points = 0;
  std::vector<Point> places;
  Buffer<double> stiffness, metric;
  Buffer<double> energies;     ///< scratch for scalar products (in, A in) of elements; grows with their components
  Buffer<double> coordinates;  ///< coordinates [x y z][point] for advection, allocated by the first carry()
};

std::vector<double> by_coordinate(const std::vector<Point>& places) {
  std::vector<double> all;
  for (std::size_t d = 0; d < 3; ++d)
    for (const Point& x : places) all.push_back(x[d]);
  return all;
}

}  // namespace

struct Space::Impl {
  Communicator comm;
  Machine machine;
  ElementBox box;
  Rule rule;
  SpaceOptions options;
  std::int64_t cube = 0;
  mutable std::vector<Stream> streams;
  std::vector<Part> parts;
  Vector mass, weights;
  FineRule finer;
  std::optional<Assembled<double>> assembled;

  Impl(const Communicator& c, const Machine& m, const ElementBox& b, int order, SpaceOptions o)
      : comm(sharing(c)), machine(m), box(b), options(std::move(o)) {
    on_all_ranks(comm, [&] {
      box.check();
      rule = gauss_lobatto(order);
      cube = std::int64_t{order + 1} * (order + 1) * (order + 1);
      for (const int device : machine.devices_of_rank(comm.rank())) add_part(device);
    });
    Dealt dealt;
    for (const Part& part : parts) {
      dealt.first.push_back(part.first);
      dealt.elements.push_back(part.elements);
    }
    assembled.emplace(comm, machine, box, dealt, order, streams, options);
    count_copies();
  }

  /// Waits for the devices, because queued work may still read the memory that is freed here.
  ~Impl() {
    for (Stream& stream : streams) wait_quietly(stream);
  }

  void add_part(int device) {
    const auto begin = [&](int d) { return first_of(box.count(), machine.devices(), d); };
    Stream& stream = streams.emplace_back(machine.device(device).local);
    Part& part = parts.emplace_back();
    part.first = begin(device);
    const std::int64_t last = begin(device + 1);
    part.elements = last - part.first;
    part.points = part.elements * cube;
    const auto room = [&](std::int64_t values) {
      return Buffer<double>(stream.device(), static_cast<std::size_t>(values));
    };
    const std::int64_t factors = options.factors == Factors::stored   ? 6 * cube
                                 : options.factors == Factors::affine ? 6
                                                                      : 24;
    part.stiffness = room(factors * part.elements);
    part.metric = room(options.gradient ? 9 * part.points : 0);
    mass.push_back(room(part.points));
    part.places.reserve(static_cast<std::size_t>(part.points));
    const auto put = [&](Buffer<double>& to, std::int64_t element, const std::vector<double>& values) {
      const auto each = static_cast<std::int64_t>(to.size()) / part.elements;
      if (!values.empty()) copy(stream, to.data() + element * each, values.data(), values.size() * sizeof(double));
    };
    // Geometry is computed for few elements at a time: data stay in caches, and the host never holds all factors.
    const std::int64_t most = std::max(elements_at_once, box.elements[0] + box.elements[1] + box.elements[2]);
    for (std::int64_t done = 0, here = 0; done < part.elements; done += here) {
      here = std::min(part.elements - done, most);
      const std::int64_t from = part.first + done;
      const Geometry g = geometry(box, rule, from, from + here, options.factors, options.gradient);
      put(part.stiffness, done, g.stiffness);
      put(part.metric, done, g.metric);
      put(mass.back(), done, g.mass);
      part.places.insert(part.places.end(), g.places.begin(), g.places.end());
      stream.synchronize();
    }
  }

  /// Memory on device d for scalar products by element, which is allocated as needed.
  double* energies(std::size_t d, int components) {
    Buffer<double>& room = parts[d].energies;
    const auto wanted = static_cast<std::size_t>(components * parts[d].elements);
    if (room.size() < wanted) {
      streams[d].synchronize();
      room = Buffer<double>(streams[d].device(), wanted);
    }
    return room.data();
  }

  /// Computes the weights 1 / (number of copies of a point).
  void count_copies() {
    weights = zeros(cube);
    const Vector ones = zeros(cube);
    for (std::size_t d = 0; d < parts.size(); ++d) {  // invert() turns zeros into ones, whose sums count the copies
      invert(streams[d], weights[d].data(), weights[d].data(), 1, parts[d].points);
      invert(streams[d], ones[d].data(), ones[d].data(), 1, parts[d].points);
    }
    assembled->sum(pointers(weights));
    for (std::size_t d = 0; d < parts.size(); ++d)
      invert(streams[d], weights[d].data(), ones[d].data(), 0, parts[d].points);
    for (Stream& stream : streams) stream.synchronize();
  }

  /// A vector of zeros with `values` values per element.
  Vector zeros(std::int64_t values) const {
    Vector made;
    for (std::size_t d = 0; d < parts.size(); ++d) {
      const std::int64_t count = parts[d].elements * values;
      Buffer<double>& part = made.emplace_back(streams[d].device(), static_cast<std::size_t>(count));
      if (part.size()) fill(streams[d], part.data(), 0, part.bytes());
    }
    return made;
  }

  /// A vector of zeros for callers, who may release it without synchronizing.
  Vector cleared(std::int64_t values) const {
    Vector made = zeros(values);
    for (Stream& stream : streams) stream.synchronize();
    return made;
  }

  const FineRule& fine(int points) {
    if (finer.points == 0) finer = fine_rule(rule, points);
    return finer;
  }

  void require_metric() const {
    require(options.gradient, ErrorCode::wrong_state,
            "the space of elements keeps no metric: make it with SpaceOptions::gradient", {{"option", "gradient"}});
  }

  using Terms = std::vector<std::vector<DerivativesCall::Term>>;
  /// Adds up derivatives of the components of u into `out`. `of`: the derivatives of each component, equally many.
  void derivatives(const std::vector<const Vector*>& u, const std::array<Vector*, 3>& out, const Terms& of) {
    require_metric();
    for (std::size_t d = 0; d < parts.size(); ++d) {
      DerivativesCall call{&rule,
                           {},
                           parts[d].metric.data(),
                           {},
                           parts[d].elements,
                           {},
                           static_cast<int>(u.size()),
                           static_cast<int>(of.front().size())};
      for (std::size_t c = 0; c < u.size(); ++c) {
        call.in[c] = u[c]->at(d).data();
        std::copy(of[c].begin(), of[c].end(), call.of[c]);
      }
      for (std::size_t c = 0; c < 3; ++c) call.out[c] = out[c] ? out[c]->at(d).data() : nullptr;
      order_kernels(rule.order).derivatives(streams[d], call);
    }
  }

  HelmholtzCall call(std::size_t d, const double* in, double* out, double h1, double h2,
                     const OperatorTerms& terms) const {
    const Buffer<double>& factors = terms.factors ? terms.factors->at(d) : parts[d].stiffness;
    const Buffer<double>& of_values = terms.mass ? terms.mass->at(d) : mass[d];
    HelmholtzCall made{&rule, options.factors, in, factors.data(), of_values.data(), out, h1, h2, 0};
    made.elements = parts[d].elements;
    return made;
  }

  void apply(const std::vector<double*>& in, const std::vector<double*>& out, double h1, double h2,
             const std::vector<double*>& block_parts, const OperatorTerms& terms, int components) {
    const auto call_of = [&](std::size_t d) {
      HelmholtzCall made = call(d, in.at(d), out.at(d), h1, h2, terms);
      if (!block_parts.empty()) made.energies = energies(d, components);
      made.components = components;
      made.all = parts[d].elements;
      return made;
    };
    assembled->apply(out, components, call_of, [&] {
      if (block_parts.empty()) return;
      const DeviceSpans spans(options.exchange.trace, streams, "solver", "sums of elements", "compute");
      for (std::size_t d = 0; d < parts.size(); ++d)
        krylov::sum(streams[d], {parts[d].elements, elements_of_a_block(box.count()), components},
                    energies(d, components), block_parts[d]);
    });
  }
};

std::vector<double*> pointers(const Vector& vector) {
  std::vector<double*> all;
  for (const Buffer<double>& part : vector) all.push_back(part.data());
  return all;
}

Space::Space(const Communicator& comm, const Machine& machine, const ElementBox& box, int order, SpaceOptions options)
    : impl_(std::make_unique<Impl>(comm, machine, box, order, std::move(options))) {}
Space::~Space() = default;
Space::Space(Space&&) noexcept = default;

std::int64_t Space::elements_of_a_block(std::int64_t elements) {
  constexpr std::int64_t most = 64, blocks = 512;
  std::int64_t block = 1;
  while (block < most && elements / (2 * block) >= blocks) block *= 2;
  return block;
}
std::int64_t Space::elements_of_a_block() const { return elements_of_a_block(impl_->box.count()); }

std::int64_t Space::first_of(std::int64_t elements, int devices, int device) {
  const std::int64_t block = elements_of_a_block(elements), blocks = (elements + block - 1) / block;
  return std::min(blocks * device / devices * block, elements);
}

int Space::order() const { return impl_->rule.order; }
const ElementBox& Space::box() const { return impl_->box; }
std::int64_t Space::points_per_element() const { return impl_->cube; }
std::int64_t Space::first_element(std::size_t device) const { return impl_->parts.at(device).first; }
std::int64_t Space::elements(std::size_t device) const { return impl_->parts.at(device).elements; }
std::int64_t Space::points(std::size_t device) const { return impl_->parts.at(device).points; }
std::vector<Stream>& Space::streams() { return impl_->streams; }
const std::vector<Point>& Space::places(std::size_t device) const { return impl_->parts.at(device).places; }
const Vector& Space::weights() const { return impl_->weights; }
const Vector& Space::mass_matrix() const { return impl_->mass; }
const Communicator& Space::comm() const { return impl_->comm; }
const Machine& Space::machine() const { return impl_->machine; }
const SpaceOptions& Space::options() const { return impl_->options; }
bool Space::loopable(int components) {
  return !impl_->options.exchange.trace && impl_->assembled->sums(components).loopable();
}
GatherScatter& Space::gather_scatter(int components) { return impl_->assembled->sums(components); }
const double* Space::factors(std::size_t device) const { return impl_->parts.at(device).stiffness.data(); }

Vector Space::vector(int components) const { return impl_->cleared(components * impl_->cube); }

int Space::fine_points() const {
  const int points = order_kernels(impl_->rule.order).fine_points;
  require(points > 0, ErrorCode::unsupported,
          "advection has orders up to " + std::to_string(most_advected_order) + ": take a lower order",
          {{"option", "order"}, {"given", impl_->rule.order}, {"most", most_advected_order}});
  return points;
}

Vector Space::fine_vector() const {
  const std::int64_t m = fine_points();
  return impl_->cleared(m * m * m);
}

void Space::carry(const std::array<const Vector*, 3>& c, const std::array<Vector*, 3>& fine) {
  const bool parallelepipeds = impl_->options.factors == Factors::affine;
  const FineRule& rule = impl_->fine(fine_points());
  for (std::size_t d = 0; d < impl_->parts.size(); ++d) {
    Part& part = impl_->parts[d];
    if (part.coordinates.size() == 0) part.coordinates = upload(impl_->streams[d], by_coordinate(part.places));
    CarryCall call{{}, {}, {}, part.elements, parallelepipeds};
    for (std::size_t a = 0; a < 3; ++a) {
      call.in[a] = c[a]->at(d).data();
      call.places[a] = part.coordinates.data() + static_cast<std::int64_t>(a) * part.points;
      call.fine[a] = fine[a]->at(d).data();
    }
    order_kernels(impl_->rule.order).carry(impl_->streams[d], rule, call);
  }
}

void Space::advect(const std::array<const Vector*, 3>& fine, const Vector& v, Vector& out) {
  const FineRule& rule = impl_->fine(fine_points());
  for (std::size_t d = 0; d < impl_->parts.size(); ++d)
    order_kernels(impl_->rule.order)
        .advect(impl_->streams[d], rule,
                {{fine[0]->at(d).data(), fine[1]->at(d).data(), fine[2]->at(d).data()},
                 v.at(d).data(),
                 out.at(d).data(),
                 impl_->parts[d].elements});
}

void Space::helmholtz(const std::vector<double*>& in, const std::vector<double*>& out, double h1, double h2,
                      const OperatorTerms& terms) {
  const OrderKernels& kernels = order_kernels(impl_->rule.order);
  for (std::size_t d = 0; d < impl_->parts.size(); ++d)
    kernels.helmholtz(impl_->streams[d], impl_->call(d, in.at(d), out.at(d), h1, h2, terms));
}

void Space::helmholtz(const Vector& in, Vector& out, double h1, double h2, const OperatorTerms& terms) {
  helmholtz(pointers(in), pointers(out), h1, h2, terms);
}

void Space::apply(const std::vector<double*>& in, const std::vector<double*>& out, double h1, double h2,
                  const std::vector<double*>& parts, const OperatorTerms& terms, int components) {
  impl_->apply(in, out, h1, h2, parts, terms, components);
}

Vector Space::scaled_factors(const Vector& kappa) {
  require(impl_->options.factors == Factors::stored, ErrorCode::unsupported,
          "factors are scaled point by point where they are stored: make the space of elements with Factors::stored",
          {{"option", "factors"}, {"given", to_string(impl_->options.factors)}, {"needed", "stored"}});
  Vector scaled = impl_->cleared(6 * impl_->cube);
  for (std::size_t d = 0; d < scaled.size(); ++d)
    scale_factors(impl_->streams[d], impl_->parts[d].stiffness.data(), kappa.at(d).data(), scaled[d].data(),
                  impl_->cube, impl_->parts[d].elements);
  return scaled;
}

Space::Fastest Space::fastest(const std::array<const Vector*, 3>& c) {
  impl_->require_metric();
  std::vector<double> nearest;
  const std::vector<double>& x = impl_->rule.points;
  for (std::size_t i = 0; i < x.size(); ++i)
    nearest.push_back(std::min(i > 0 ? x[i] - x[i - 1] : 2, i + 1 < x.size() ? x[i + 1] - x[i] : 2));
  Fastest found;
  double rate = -1;
  std::int64_t element = 0, point = 0;
  for (std::size_t d = 0; d < impl_->parts.size(); ++d) {
    Stream& stream = impl_->streams[d];
    const auto elements = static_cast<std::size_t>(impl_->parts[d].elements);
    const Buffer<double> of_device(stream.device(), 2 * elements), here(stream.device(), 2 * elements, Memory::pinned);
    if (elements == 0) continue;
    const double* const v[] = {c[0]->at(d).data(), c[1]->at(d).data(), c[2]->at(d).data()};
    largest_rates(stream, v, impl_->parts[d].metric.data(), nearest, of_device.data(), impl_->parts[d].elements);
    copy(stream, here.data(), of_device.data(), here.bytes());
    stream.synchronize();
    for (std::size_t e = 0; e < elements; ++e) {
      if (here.data()[2 * e] <= rate) continue;
      rate = here.data()[2 * e];
      element = impl_->parts[d].first + static_cast<std::int64_t>(e);
      point = static_cast<std::int64_t>(here.data()[2 * e + 1]);
    }
  }
  found.rate = impl_->comm.max(rate);
  // If several elements have the largest Courant number, the one with the lowest index is returned.
  const double mine = rate == found.rate ? -static_cast<double>(element) : -0x1p62;
  found.element = -static_cast<std::int64_t>(impl_->comm.max(mine));
  const double* const at[] = {&x[static_cast<std::size_t>(point) % x.size()],
                              &x[static_cast<std::size_t>(point) / x.size() % x.size()],
                              &x[static_cast<std::size_t>(point) / (x.size() * x.size())]};
  const bool has_it = rate == found.rate && element == found.element;
  for (std::size_t a = 0; a < 3; ++a) found.place[a] = impl_->comm.max(has_it ? *at[a] : -2);
  found.place = impl_->box.place(found.element, found.place);
  return found;
}

void Space::mass(const Vector& in, Vector& out) {
  for (std::size_t d = 0; d < impl_->parts.size(); ++d)
    multiply(impl_->streams[d], impl_->mass[d].data(), in.at(d).data(), out.at(d).data(), impl_->parts[d].points);
}

void Space::gradient(const Vector& in, std::array<Vector*, 3> out) {
  impl_->derivatives({&in}, out, {{{0, 0, 1, true}, {1, 1, 1, true}, {2, 2, 1, true}}});
}

void Space::divergence(const std::array<const Vector*, 3>& u, Vector& out) {
  impl_->derivatives({u[0], u[1], u[2]}, {&out, nullptr, nullptr},
                     {{{0, 0, 1, true}}, {{1, 0, 1, false}}, {{2, 0, 1, false}}});
}

void Space::curl(const std::array<const Vector*, 3>& u, const std::array<Vector*, 3>& out) {
  // Parts of the curl: with a, b, c in cyclic order, u_c adds du_c/dx_b to part a and -du_c/dx_a to part b. Component
  // u_x begins the parts y and z. Part x begins with u_y, by -du_y/dx_z.
  Impl::Terms of;
  for (int c = 0; c < 3; ++c) {
    const int a = (c + 1) % 3, b = (c + 2) % 3;
    of.push_back({{b, a, 1, c == 0}, {a, b, -1, c == 0}});
  }
  of[1][1].first = true;
  impl_->derivatives({u[0], u[1], u[2]}, out, of);
}

void Space::weak_divergence(const std::array<const Vector*, 3>& g, Vector& out) { weak_divergence(g, pointers(out)); }

void Space::weak_divergence(const std::array<const Vector*, 3>& g, const std::vector<double*>& out) {
  fine_points();  // called as a check: throws if the elements' order has no kernels with a finer quadrature
  impl_->require_metric();
  for (std::size_t d = 0; d < impl_->parts.size(); ++d) {
    const Part& part = impl_->parts[d];
    const auto data = [&](std::size_t c) { return g[c] ? g[c]->at(d).data() : nullptr; };
    order_kernels(impl_->rule.order)
        .weak_divergence(
            impl_->streams[d], impl_->rule,
            {{data(0), data(1), data(2)}, part.metric.data(), impl_->mass[d].data(), out.at(d), part.elements});
  }
}

Vector Space::grad_div_step() {
  impl_->require_metric();
  Vector found = vector();
  const double rate = largest_stiffness(impl_->rule);
  for (std::size_t d = 0; d < impl_->parts.size(); ++d)
    inverse_spacing(impl_->streams[d], impl_->parts[d].metric.data(), rate, impl_->cube, found[d].data(),
                    impl_->parts[d].elements);
  return found;
}

void Space::interpolate(const Vector& in, Space& from, Vector& out) {
  const Impl &a = *from.impl_, &b = *impl_;
  require(a.box.elements == b.box.elements && a.parts.size() == b.parts.size(), ErrorCode::mismatch,
          "values are interpolated between spaces of the same elements on the same devices", {{"problem", "elements"}});
  const std::vector<double> matrix = interpolation(a.rule, b.rule.points);
  for (std::size_t d = 0; d < b.parts.size(); ++d) {
    const auto follow = [&](Stream& first, Stream& then) {
      const Event done(first.device());
      first.record(done);
      then.wait(done);
    };
    follow(a.streams[d], b.streams[d]);
    slipstream::sem::interpolate(b.streams[d], {matrix, a.rule.order + 1, b.rule.order + 1, in.at(d).data(),
                                                out.at(d).data(), b.parts[d].elements});
    follow(b.streams[d], a.streams[d]);
  }
}

void Space::assemble(const std::vector<double*>& u, int components) { impl_->assembled->sum(u, components); }
void Space::assemble(Vector& u, int components) { assemble(pointers(u), components); }

void Space::filter(Vector& u, double strength, int modes) {
  const Rule& rule = impl_->rule;
  require(strength >= 0 && strength <= 1, "the strength of a filter is a number from 0 to 1",
          {{"option", "strength"}, {"given", strength}});
  require(modes >= 1 && modes <= rule.order, "a filter damps 1 to " + std::to_string(rule.order) + " modes here",
          {{"option", "modes"}, {"given", modes}, {"limit", rule.order}});
  std::vector<double> factors(rule.points.size(), 1.0);
  for (int n = 1; n <= modes; ++n) {
    const double share = static_cast<double>(n) / modes;
    factors[static_cast<std::size_t>(rule.order - modes + n)] = 1 - strength * share * share;
  }
  const std::vector<double> matrix = modal_filter(rule, factors);
  for (std::size_t d = 0; d < impl_->parts.size(); ++d)
    slipstream::sem::interpolate(impl_->streams[d], {matrix, rule.order + 1, rule.order + 1, u.at(d).data(),
                                                     u.at(d).data(), impl_->parts[d].elements});
}

Vector Space::inverse_diagonal(const Vector& mask, double h1, double h2, const OperatorTerms& terms) {
  Vector made = vector();
  for (std::size_t d = 0; d < made.size(); ++d)
    diagonal(impl_->streams[d], impl_->call(d, nullptr, made[d].data(), h1, h2, terms));
  assemble(made);
  for (std::size_t d = 0; d < made.size(); ++d)
    invert(impl_->streams[d], made[d].data(), mask[d].data(), 0, impl_->parts[d].points);
  return made;
}

}  // namespace slipstream::sem
