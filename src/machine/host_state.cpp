#include "machine/host_state.hpp"

#include <unistd.h>

#include <cstdlib>

namespace slipstream {

HostState::Environment HostState::environment() {
  Environment found;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) found.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return found;
}

HostState::HostState() : variables_(environment()) {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) == 0) handlers_.emplace(number, action);
  }
}

HostState::~HostState() {
  for (const auto& [name, value] : environment())
    if (!variables_.contains(name)) unsetenv(name.c_str());
  for (const auto& [name, value] : variables_) {
    const char* const now = std::getenv(name.c_str());
    if (!now || value != now) setenv(name.c_str(), value.c_str(), 1);
  }
  for (const auto& [number, action] : handlers_) {
    struct sigaction now {};
    if (sigaction(number, nullptr, &now) != 0) continue;
    if (now.sa_handler != action.sa_handler || now.sa_flags != action.sa_flags) sigaction(number, &action, nullptr);
  }
}

}  // namespace slipstream
