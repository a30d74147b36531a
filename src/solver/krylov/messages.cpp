#include "solver/krylov/messages.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace slipstream::krylov {

void require_solved(bool so, const std::string& text) {
  if (!so) throw NotSolved(text);
}

std::string show(double value) {
  std::ostringstream text;
  text.precision(3);
  text << value;
  return text.str();
}

std::string method_for(const Options& options) {
  return "conjugate gradients" + (options.field.empty() ? "" : " for " + options.field);
}

std::string tail_of(const std::vector<double>& history) {
  std::string text;
  for (std::size_t n = history.size() > 4 ? history.size() - 4 : 0; n < history.size(); ++n)
    text += (text.empty() ? "" : ", ") + show(history[n]);
  return text;
}

std::string likely_cause(const Result& result, const Options& options, double enough) {
  // Residuals of conjugate gradients go up and down: over fewer iterations than this the pace is noise.
  constexpr std::size_t most_spread = 20;
  const std::vector<double>& history = result.history;
  const std::size_t spread = std::min(history.size() - 1, most_spread);
  const double last = history.back(), before = history[history.size() - 1 - spread];
  std::ostringstream text;
  text.precision(2);
  if (result.true_residual > lost * last) {
    text << "that of b - A x is " << result.true_residual << ": rounding keeps it there; ask for "
         << lost * result.true_residual << " or more";
  } else if (spread > 0 && last < 0.5 * before) {
    const double pace = std::log(before / last) / static_cast<double>(spread);
    text << "it still falls: at this pace it wants about " << std::ceil(std::log(last / enough) / pace)
         << " iterations more; allow them, or ask for less";
  } else {
    text << "it hardly falls: the system is hard to solve; " << options.hard << (options.hard.empty() ? "" : ", or ")
         << "allow many more iterations";
  }
  return text.str();
}

}  // namespace slipstream::krylov
