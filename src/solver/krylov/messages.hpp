#pragma once
// Error texts for linear systems that were not solved.
#include <string>
#include <vector>

#include <slipstream/krylov.hpp>

namespace slipstream::krylov {

/// If the residual b - A x is this many times the recursively updated one, rounding errors spoiled the solve.
constexpr double lost = 10;

void require_solved(bool so, const std::string& text, Facts facts = {});

std::string show(double value);

/// The method's name for messages, with the name of the unknown if it has one.
std::string method_for(const std::string& method, const Options& options);

/// Text with the last residuals of a solve.
std::string sequence_of(const std::vector<double>& history);

/// The likely cause of a solve that did not converge, and the remedy. It compares the residual of the recurrence with
/// that of b - A x, and uses the rate of the last iterations. `enough`: the residual that would have ended the solve.
/// Cause of a failed solve: "rounding", "falls" (still converging), or "hard".
const char* cause_of(const Result& result);
std::string likely_cause(const Result& result, const Options& options, double enough);

}  // namespace slipstream::krylov
