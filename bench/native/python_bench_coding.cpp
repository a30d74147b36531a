// `slipstream bench coding` times the packing launch and the unpacking launch of a message separately.
#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <optional>
#include <random>

#include <slipstream/field.hpp>
#include <slipstream/signal.hpp>

#include "device/upload.hpp"
#include "exchange/coding_errors_kernels.hpp"
#include "mover/lower.hpp"
#include "mover/moves.hpp"
#include "native/python_bench.hpp"
#include "native/timed_loops.hpp"

namespace slipstream::python {
namespace {

constexpr int runs_per_graph = 10;

/// Times encoding and decoding of a message: boundary regions of a cube, or a cube, contiguous or with x and y swapped.
class BenchCoding {
 public:
  BenchCoding(const std::string& backend, const std::string& pattern, std::int64_t cells, int radius,
              const std::string& dtype, const std::string& coding, const std::string& data)
      : device_{backend_from_string(backend), 0},
        pattern_(pattern),
        cells_(cells),
        type_(dtype_from_string(dtype)),
        wire_(wire_of(coding_from_string(coding), type_, "values")) {
    streams_.emplace_back(device_);
    FieldOptions field;
    field.type = type_;
    if (pattern == "halo") field.ghost = {radius, radius, radius};
    source_.shape = target_.shape = block_shape({cells, cells, cells}, field);
    source_.type = target_.type = type_;
    const auto values = static_cast<std::size_t>(source_.shape.elements);
    const auto size = size_of(type_);
    here_ = Buffer<std::byte>(device_, values * size);
    there_ = Buffer<std::byte>(device_, values * size);
    source_.origin = here_.data() + source_.shape.origin * static_cast<std::int64_t>(size);
    target_.origin = there_.data() + source_.shape.origin * static_cast<std::int64_t>(size);
    signals_ = Buffer<Signal>(device_, 4);
    failure_ = Buffer<Failure>(device_, 1, Memory::pinned);
    *failure_.data() = {};
    fill(streams_[0], signals_.data(), 0, signals_.bytes());
    if (part_type(type_) == DType::f32) {
      set<float>(values, data);
    } else {
      set<double>(values, data);
    }
    list_transfers(radius);
    const Pulse pulse{signals_.data(), failure_.data(), signals_.data() + 1, 1};
    codes_ = Buffer<std::byte>(device_, round_up(bytes_, slot_alignment));
    const Lowering::Places from(legs_.size(), source_), to(legs_.size(), target_);
    const Slot slot{codes_.data(), {}};
    std::vector<Mover> packing = lowering_.to_slot(legs_, from, slot);
    if (wire_.codes()) probe_.emplace(device_, packing, arrays_);
    packing_ = std::make_unique<Moves>(device_, std::move(packing), nullptr, Knobs{}, pulse);
    unpacking_ = std::make_unique<Moves>(device_, lowering_.from_slot(legs_, to, slot), nullptr, Knobs{}, pulse);
    packing_->run(streams_[0], 1);
    unpacking_->run(streams_[0], 1);
    streams_[0].synchronize();
  }

  double encode_us(int repeats) { return time(*packing_, repeats); }
  double decode_us(int repeats) { return time(*unpacking_, repeats); }
  std::size_t bytes() const { return bytes_; }
  std::size_t raw_bytes() const { return raw_bytes_; }
  double largest_error() {
    if (!probe_) return 0;
    probe_->run(streams_[0]);
    return probe_->sums().largest;
  }
  double rms_error() {
    if (!probe_) return 0;
    probe_->run(streams_[0]);
    const ErrorSums sums = probe_->sums();
    return std::sqrt(sums.squares / static_cast<double>(std::max<std::int64_t>(1, sums.numbers)));
  }
  /// Upper bound that a lossy number format guarantees for the error of any value of the message.
  double bound() const {
    double most = 0;
    for (const Leg& leg : legs_) most = std::max(most, wire_.bound(type_, leg.block, largest_));
    return most;
  }
  double largest() const { return largest_; }

 private:
  /// Test values: "uniform" in [0, 1]; "wide": exponents over half the range; "smooth": sines along memory.
  template <class Real>
  void set(std::size_t values, const std::string& data) {
    // Values of large arrays repeat after a prime number, which is no multiple of a row, so that rows differ.
    constexpr std::size_t most = 1048573;
    const std::size_t all = values * (is_complex(type_) ? 2 : 1);
    std::vector<Real> numbers(std::min(all, most));
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> unit(0, 1);
    const int range = part_type(type_) == DType::f32 ? 60 : 500;
    for (std::size_t n = 0; n < numbers.size(); ++n) {
      double value = unit(random);
      if (data == "wide")
        value = std::ldexp(value, static_cast<int>(random() % static_cast<unsigned>(2 * range)) - range);
      if (data == "smooth")
        value = std::sin(1e-2 * static_cast<double>(n % 4096)) + 1e-3 * std::cos(1e-5 * static_cast<double>(n));
      numbers[n] = static_cast<Real>(value);
      largest_ = std::max(largest_, std::abs(static_cast<double>(numbers[n])));
    }
    auto* const here = reinterpret_cast<Real*>(here_.data());
    upload(streams_[0], numbers, here);
    for (std::size_t have = numbers.size(); have < all; have *= 2)
      copy(streams_[0], here + have, here, std::min(have, all - have) * sizeof(Real));
  }

  void list_transfers(std::int64_t r) {
    const Box whole{{0, 0, 0}, {cells_, cells_, cells_}};
    const auto list = [&](const Box& from, const Box& to, const std::array<int, 3>& axes) {
      Transfer t;
      t.source = {from, {0}, nullptr};
      t.target = {to, {0}, nullptr};
      t.axes = axes;
      transfers_.push_back(t);
    };
    if (pattern_ == "halo") {
      for (int axis = 0; axis < 3; ++axis)
        for (const bool high : {false, true}) {
          Box from = whole, to = whole;
          from.lo[axis] = high ? cells_ - r : 0;
          from.hi[axis] = from.lo[axis] + r;
          to.lo[axis] = high ? -r : cells_;
          to.hi[axis] = to.lo[axis] + r;
          list(from, to, {0, 1, 2});
        }
    } else {
      list(whole, whole, pattern_ == "transpose" ? std::array{1, 0, 2} : std::array{0, 1, 2});
    }
    for (const Transfer& t : transfers_) {
      Leg leg;
      leg.transfer = &t;
      leg.type = type_;
      leg.wire = wire_;
      leg.block = wire_.block_of(packed_extent(leg), false, pattern_ == "transpose");
      leg.offset = bytes_;
      bytes_ += round_up(leg.bytes(), leg_alignment);
      raw_bytes_ += static_cast<std::size_t>(t.source.size()) * size_of(type_);
      legs_.push_back(leg);
    }
  }

  double time(const Moves& moves, int repeats) {
    return events_us(streams_, runs_per_graph, repeats, [&] { moves.run(streams_[0], 1); });
  }

  Device device_;
  std::string pattern_;
  std::int64_t cells_;
  DType type_;
  Wire wire_;
  std::vector<Stream> streams_;
  Place source_, target_;
  Buffer<std::byte> here_, there_, codes_;
  Buffer<Signal> signals_;
  Buffer<Failure> failure_;
  std::deque<Transfer> transfers_;
  std::vector<Leg> legs_;
  Arrays arrays_;
  Lowering lowering_{device_};
  std::unique_ptr<Moves> packing_, unpacking_;
  std::optional<ErrorProbe> probe_;
  std::size_t bytes_ = 0, raw_bytes_ = 0;
  double largest_ = 0;
};

}  // namespace

void bind_bench_coding(nb::module_& m) {
  using Release = nb::call_guard<Released>;
  nb::class_<BenchCoding>(m, "Coding", "Times packing and unpacking of a message. Methods are collective.")
      .def(nb::init<const std::string&, const std::string&, std::int64_t, int, const std::string&, const std::string&,
                    const std::string&>(),
           nb::arg("backend"), nb::arg("pattern"), nb::arg("cells"), nb::arg("radius"), nb::arg("dtype"),
           nb::arg("coding"), nb::arg("data") = "uniform")
      .def("encode_us", &BenchCoding::encode_us, nb::arg("repeats") = 100, Release())
      .def("decode_us", &BenchCoding::decode_us, nb::arg("repeats") = 100, Release())
      .def("largest_error", &BenchCoding::largest_error, Release())
      .def("rms_error", &BenchCoding::rms_error, Release())
      .def_prop_ro("bytes", &BenchCoding::bytes)
      .def_prop_ro("raw_bytes", &BenchCoding::raw_bytes)
      .def_prop_ro("largest", &BenchCoding::largest)
      .def_prop_ro("bound", &BenchCoding::bound);
}

}  // namespace slipstream::python
