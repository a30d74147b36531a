#pragma once
#include <atomic>
#include <cstdint>

#include <slipstream/launch.hpp>

namespace slipstream {

/// A monotonic 64-bit counter in device memory. Kernels of this and of other processes set it and wait for it.
using Signal = std::uint64_t;

namespace detail {
/// Pause between two polls of a waiting host thread: yields at first, and sleeps longer the more polls have failed.
void host_backoff(int round);
std::uint64_t host_clock_ns();
}  // namespace detail

/// Load-acquire of a counter: writes of its setter before the store are visible afterwards.
SLIP_FN std::uint64_t load_acquire(const Signal* signal) {
#if defined(__CUDA_ARCH__)
  std::uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(signal) : "memory");
  return value;
#else
  return std::atomic_ref<Signal>(*const_cast<Signal*>(signal)).load(std::memory_order_acquire);
#endif
}

/// Store-release of a counter, here or in a peer's memory, after all earlier work of the stream.
SLIP_FN void store_release(Signal* signal, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  __threadfence_system();
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(signal), "l"(value) : "memory");
#else
  std::atomic_ref<Signal>(*signal).store(value, std::memory_order_release);
#endif
}

/// Adds to a counter of this device and returns its old value. All thread blocks see the additions in the same order.
SLIP_FN std::uint32_t atomic_add(std::uint32_t* counter, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  return atomicAdd(counter, value);
#else
  return std::atomic_ref<std::uint32_t>(*counter).fetch_add(value, std::memory_order_acq_rel);
#endif
}

/// Adds one to a counter that wraps to 0 after `last`, and returns its old value.
SLIP_FN std::uint32_t atomic_cycle(std::uint32_t* counter, std::uint32_t last) {
#if defined(__CUDA_ARCH__)
  return atomicInc(counter, last);
#else
  std::atomic_ref<std::uint32_t> shared(*counter);
  std::uint32_t held = shared.load(std::memory_order_relaxed);
  while (!shared.compare_exchange_weak(held, held >= last ? 0 : held + 1, std::memory_order_acq_rel)) {
  }
  return held;
#endif
}

/// Atomic maximum: replaces a number in this device's memory by `value` if that is larger.
SLIP_FN void keep_larger(std::uint64_t* number, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  atomicMax(reinterpret_cast<unsigned long long*>(number), static_cast<unsigned long long>(value));
#else
  std::atomic_ref<std::uint64_t> shared(*number);
  std::uint64_t held = shared.load(std::memory_order_relaxed);
  while (held < value && !shared.compare_exchange_weak(held, value, std::memory_order_relaxed)) {
  }
#endif
}

/// Memory fence for the threads of this device: orders memory accesses of this thread before the fence (after a
/// barrier, those of its whole thread block) before accesses after it.
SLIP_FN void fence_device() {
#if defined(__CUDA_ARCH__)
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
#endif
}

/// Memory fence for all devices and the host.
SLIP_FN void fence_system() {
#if defined(__CUDA_ARCH__)
  asm volatile("fence.acq_rel.sys;" ::: "memory");
#else
  std::atomic_thread_fence(std::memory_order_acq_rel);
#endif
}

/// Sets a counter after a fence_system() of the same thread: cheaper than store_release where one fence serves many.
SLIP_FN void store_fenced(Signal* signal, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(signal), "l"(value) : "memory");
#else
  std::atomic_ref<Signal>(*signal).store(value, std::memory_order_release);
#endif
}

SLIP_FN std::uint64_t clock_ns() {
#if defined(__CUDA_ARCH__)
  std::uint64_t t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
#else
  return detail::host_clock_ns();
#endif
}

SLIP_FN void backoff(int round) {
#if defined(__CUDA_ARCH__)
  __nanosleep(round < 64 ? 20 : 200);
#else
  detail::host_backoff(round);
#endif
}

/// Backoff for waits that usually end within microseconds: a GPU spins first.
SLIP_FN void spin(unsigned round) {
#if defined(__CUDA_ARCH__)
  if (round >= 4096) __nanosleep(100);
#else
  detail::host_backoff(static_cast<int>(round & 0xffffff));
#endif
}

/// Two adjacent 64-bit words, which a GPU stores or loads in one instruction if they are aligned to 16 bytes.
struct WordPair {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

/// Relaxed store of two 64-bit words, here or in a peer device's memory. Each word is atomic. The two words have no
/// order, and the store does not order other memory accesses.
SLIP_FN void store_relaxed(WordPair* to, WordPair pair) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(pair.first), "l"(pair.second) : "memory");
#else
  std::atomic_ref<std::uint64_t>(to->first).store(pair.first, std::memory_order_relaxed);
  std::atomic_ref<std::uint64_t>(to->second).store(pair.second, std::memory_order_relaxed);
#endif
}

/// Relaxed load of two 64-bit words that other devices or threads store; each word is atomic.
SLIP_FN WordPair load_relaxed(const WordPair* from) {
  WordPair pair;
#if defined(__CUDA_ARCH__)
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(pair.first), "=l"(pair.second)
               : "l"(from)
               : "memory");
#else
  auto* const words = const_cast<WordPair*>(from);
  pair.first = std::atomic_ref<std::uint64_t>(words->first).load(std::memory_order_relaxed);
  pair.second = std::atomic_ref<std::uint64_t>(words->second).load(std::memory_order_relaxed);
#endif
  return pair;
}

/// Latency-optimised packet: 128 bytes with their own sequence number. If the expected number is present, the values
/// are valid, so no fence or counter is needed. Eight adjacent threads store or load a packet in one instruction, 16
/// bytes each. Such a store is atomic in a GPU's own memory and over NVLink: the eight readers see all of it or
/// nothing. NCCL's protocol LL128 relies on the same. PCI Express does not guarantee that, so packets are not used
/// there. The host stores the number last.
struct alignas(128) Packet {
  static constexpr int parts = 8;
  static constexpr int part_words = 4;  ///< number of 4-byte words that a thread stores; eight threads store a packet
  /// number of 4-byte values in a packet; the last word of the last part holds the sequence number
  static constexpr int words = parts * part_words - 1;
  WordPair part[parts];
};
SLIP_FN constexpr std::int64_t packets_for(std::int64_t words) { return (words + Packet::words - 1) / Packet::words; }

/// Reconverges the eight threads of a packet. Threads that took different branches before, such as one without a word
/// to load, may otherwise store or load in separate instructions. The packet would then not be atomic.
SLIP_FN void join_packet() {
#if defined(__CUDA_ARCH__)
  __syncwarp(0xffu << (threadIdx.x & 24));
#endif
}

/// Stores a packet by eight threads, 16 bytes each. The last thread's last value must be the packet's sequence number.
SLIP_FN void store_part(Packet* packet, int lane, const std::uint32_t (&values)[Packet::part_words]) {
  const WordPair pair{values[0] | std::uint64_t{values[1]} << 32, values[2] | std::uint64_t{values[3]} << 32};
#if defined(__CUDA_ARCH__)
  join_packet();
  store_relaxed(&packet->part[lane], pair);
#else
  if (lane + 1 < Packet::parts) return store_relaxed(&packet->part[lane], pair);
  std::atomic_ref<std::uint64_t>(packet->part[lane].first).store(pair.first, std::memory_order_relaxed);
  std::atomic_ref<std::uint64_t>(packet->part[lane].second).store(pair.second, std::memory_order_release);
#endif
}

/// The 16 bytes of a packet that one thread has loaded, and (host only) the sequence number of the packet at that time.
struct PacketPart {
  WordPair values;
  std::uint32_t number = 0;
  SLIP_FN std::uint32_t value(int j) const {
    return static_cast<std::uint32_t>((j < 2 ? values.first : values.second) >> (j % 2 ? 32 : 0));
  }
};

/// Loads a packet by eight threads that call it together; each gets 16 of its 128 bytes.
SLIP_FN PacketPart load_part(const Packet* packet, int lane) {
#if defined(__CUDA_ARCH__)
  join_packet();
  return {load_relaxed(&packet->part[lane]), 0};
#else
  const auto number = static_cast<std::uint32_t>(load_acquire(&packet->part[Packet::parts - 1].second) >> 32);
  return {load_relaxed(&packet->part[lane]), number};
#endif
}

/// The sequence number of a packet that eight threads have loaded. All eight call it, and all get the number.
SLIP_FN std::uint32_t number_of(const PacketPart& part) {
#if defined(__CUDA_ARCH__)
  return __shfl_sync(0xffu << (threadIdx.x & 24), part.value(Packet::part_words - 1), Packet::parts - 1, Packet::parts);
#else
  return part.number;
#endif
}

/// Logical OR over the eight threads that load or store a packet: true on all if `mine` is true on any of them.
SLIP_FN bool any_of_packet(bool mine) {
#if defined(__CUDA_ARCH__)
  return __any_sync(0xffu << (threadIdx.x & 24), mine) != 0;
#else
  return mine;
#endif
}

/// Waits until the counter has reached the value; false after a timeout of `limit_ns`.
SLIP_FN bool wait_for(const Signal* signal, std::uint64_t value, std::uint64_t limit_ns) {
  if (load_acquire(signal) >= value) return true;
  const std::uint64_t start = clock_ns();
  for (int round = 0;; ++round) {
    if (load_acquire(signal) >= value) return true;
    if (clock_ns() - start > limit_ns) return false;
    backoff(round);
  }
}

}  // namespace slipstream
