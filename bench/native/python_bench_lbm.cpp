// Timed code of `slipstream bench lbm`: steps without their exchange.
#include <array>
#include <optional>

#include <slipstream/lbm.hpp>

#include "native/python_bench.hpp"

namespace slipstream::python {
namespace {

/// Steps a run without its exchanges. Ghosts keep their values, which is valid only for a fluid at rest.
class WithoutExchange final : public Simulation {
 public:
  explicit WithoutExchange(lbm::Lbm& lbm) : lbm_(lbm) {
    for (std::size_t phase = 0; phase < tasks_.size(); ++phase)
      for (const Task& task : lbm.tasks_at(static_cast<int>(phase)))
        if (!task.exchange) tasks_[phase].push_back(task);
    loop_.emplace(*this, Overlap::off);
  }
  State& state() override { return lbm_.state(); }
  const std::vector<Device>& devices() const override { return lbm_.devices(); }
  const Tasks& tasks() const override { return tasks_at(lbm_.recording().phase); }
  const Tasks& tasks_at(int phase) const override { return tasks_.at(static_cast<std::size_t>(phase)); }
  void begin_steps() override { lbm_.begin_steps(); }
  void finish_step() override { lbm_.finish_step(); }
  Recording recording() const override { return lbm_.recording(); }
  void advance(std::int64_t steps) { loop_->run(steps); }

 private:
  lbm::Lbm& lbm_;
  std::array<Tasks, 2> tasks_;  // tasks of even and of odd steps, which differ if populations stream in place
  std::optional<TimeLoop> loop_;
};

}  // namespace

void bind_bench_lbm(nb::module_& m) {
  nb::class_<WithoutExchange>(m, "WithoutExchange", "Steps a run without its exchanges: right for a fluid at rest.")
      .def(nb::init<lbm::Lbm&>(), nb::arg("lbm"), nb::keep_alive<1, 2>())
      .def("advance", &WithoutExchange::advance, nb::arg("steps"), nb::call_guard<Released>());
}

}  // namespace slipstream::python
