#include "solver/krylov/messages.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

namespace slipstream::krylov {

void require_solved(bool so, const std::string& text, Facts facts) {
  if (!so) throw NotSolved(text, std::move(facts));
}

std::string show(double value) {
  std::ostringstream text;
  text.precision(3);
  text << value;
  return text.str();
}

std::string method_for(const std::string& method, const Options& options) {
  return method + (options.field.empty() ? "" : " for " + options.field);
}

std::string sequence_of(const std::vector<double>& history) {
  std::string text;
  for (std::size_t n = history.size() > 4 ? history.size() - 4 : 0; n < history.size(); ++n)
    text += (text.empty() ? "" : ", ") + show(history[n]);
  return text;
}

namespace {

// Residuals of conjugate gradients oscillate, so their rate over fewer iterations is noise.
constexpr std::size_t most_spread = 20;

std::size_t spread_of(const Result& result) { return std::min(result.history.size() - 1, most_spread); }

double before_last(const Result& result) { return result.history[result.history.size() - 1 - spread_of(result)]; }

bool falls(const Result& result) { return spread_of(result) > 0 && result.history.back() < 0.5 * before_last(result); }

bool rounded(const Result& result) { return result.true_residual > lost * result.history.back(); }

}  // namespace

const char* cause_of(const Result& result) { return rounded(result) ? "rounding" : falls(result) ? "falls" : "hard"; }

std::string likely_cause(const Result& result, const Options& options, double enough) {
  const double last = result.history.back();
  std::ostringstream text;
  text.precision(2);
  if (rounded(result)) {
    text << "that of b - A x is " << result.true_residual << ": rounding keeps it there; ask for "
         << lost * result.true_residual << " or more";
  } else if (falls(result)) {
    const double pace = std::log(before_last(result) / last) / static_cast<double>(spread_of(result));
    text << "it still falls: at this pace it wants about " << std::ceil(std::log(last / enough) / pace)
         << " iterations more; allow them, or ask for less";
  } else {
    text << "it hardly falls: the system is hard to solve; " << options.hard << (options.hard.empty() ? "" : ", or ")
         << "allow many more iterations";
  }
  return text.str();
}

}  // namespace slipstream::krylov
