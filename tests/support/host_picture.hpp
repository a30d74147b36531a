#pragma once
// A snapshot of the environment, signal handlers and CPU affinity of the process, which a library must not change.
#include <sched.h>
#include <unistd.h>

#include <csignal>

#include <map>
#include <string>

namespace slipstream {

struct HostPicture {
  std::map<std::string, std::string> environment;
  std::map<int, std::string> handlers;
  std::string processors;

  static HostPicture now() {
    HostPicture found;
    constexpr int restorer = 0x04000000;  // the flag SA_RESTORER, which the C library always adds
    for (char** entry = environ; *entry; ++entry) {
      const std::string text = *entry;
      found.environment[text.substr(0, text.find('='))] = text;
    }
    for (int number = 1; number < NSIG; ++number) {
      struct sigaction action {};
      if (sigaction(number, nullptr, &action) == 0)
        found.handlers[number] = std::to_string(reinterpret_cast<std::uintptr_t>(action.sa_sigaction)) + " flags " +
                                 std::to_string(action.sa_flags & ~restorer);
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0)
      for (std::size_t n = 0; n < CPU_SETSIZE; ++n) found.processors += CPU_ISSET(n, &set) ? '1' : '0';
    return found;
  }

  bool operator==(const HostPicture&) const = default;
};

/// Differences between two snapshots of environment variables, signal handlers and CPU affinity, as text; empty: none.
inline std::string difference(const HostPicture& before, const HostPicture& after) {
  std::string text;
  for (const auto& [name, entry] : after.environment)
    if (!before.environment.contains(name) || before.environment.at(name) != entry) text += "now " + entry + "\n";
  for (const auto& [name, entry] : before.environment)
    if (!after.environment.contains(name)) text += "no more " + entry + "\n";
  for (const auto& [number, handler] : after.handlers)
    if (before.handlers.at(number) != handler) text += "another handler of signal " + std::to_string(number) + "\n";
  if (before.processors != after.processors) text += "other processors\n";
  return text;
}

/// Environment, signal handlers and CPU affinity that main() of the MPI tests records before and after MPI starts.
struct StartOfMpi {
  HostPicture before, after;
  static StartOfMpi& taken() {
    static StartOfMpi pictures;
    return pictures;
  }
};

}  // namespace slipstream
