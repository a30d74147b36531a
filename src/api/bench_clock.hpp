#pragma once
#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

namespace slipstream::python {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Median seconds of single calls that fill about `budget` seconds: at least `least`, at most `most`. Two calls warm
/// up. Of one process only: the number of calls is its own.
inline double median_seconds(double budget, int least, int most, const std::function<void()>& call) {
  call();
  call();
  std::vector<double> all;
  for (double spent = 0;
       static_cast<int>(all.size()) < least || (spent < budget && static_cast<int>(all.size()) < most);) {
    const double began = seconds_now();
    call();
    all.push_back(seconds_now() - began);
    spent += all.back();
  }
  return median(all);
}

}  // namespace slipstream::python
