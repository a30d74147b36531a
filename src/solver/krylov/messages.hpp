#pragma once
// Texts of systems that were not solved.
#include <string>
#include <vector>

#include <slipstream/krylov.hpp>

namespace slipstream::krylov {

/// How far the true residual may lie above that of the recurrence before rounding is named.
constexpr double lost = 10;

void require_solved(bool so, const std::string& text, Facts facts = {});

std::string show(double value);

/// The method's name, and the unknown where it has one.
std::string method_for(const std::string& method, const Options& options);

/// The last residuals of a history.
std::string tail_of(const std::vector<double>& history);

/// The likely cause of a solve that did not converge, and the remedy. It compares the residual of the recurrence with
/// that of b - A x, and looks at the pace of the last iterations. `enough`: the residual that would have ended the
/// solve.
/// Why a solve ended short of it, in a word: "rounding", "falls" still, or "hard".
const char* cause_of(const Result& result);
std::string likely_cause(const Result& result, const Options& options, double enough);

}  // namespace slipstream::krylov
