// Who may touch which memory when: vector clocks over the host and a device's streams (Lamport
// 1978, Mattern 1989). For the fake device.
//
// Every access is noted with its actor's time; a later one that conflicts must know of it, by the
// order of a stream or by events, or it is a race. The host's threads count as one actor.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::test {

enum class Actor : std::size_t { kHost, kCompute, kCopy };
inline constexpr std::size_t kActors = 3;

inline const char* name_of(Actor actor) {
  constexpr const char* kNames[] = {"the host", "the compute stream", "the copy stream"};
  return kNames[static_cast<std::size_t>(actor)];
}

/// What an actor knows of all actors' times.
class VectorClock {
 public:
  void join(const VectorClock& other) {
    for (std::size_t i = 0; i < kActors; ++i) times_[i] = std::max(times_[i], other.times_[i]);
  }
  std::uint64_t tick(Actor actor) { return ++times_[static_cast<std::size_t>(actor)]; }
  std::uint64_t of(Actor actor) const { return times_[static_cast<std::size_t>(actor)]; }

 private:
  std::array<std::uint64_t, kActors> times_{};
};

class HappensBefore {
 public:
  enum class Kind { kRead, kWrite };

  VectorClock& clock(Actor actor) { return clocks_[static_cast<std::size_t>(actor)]; }

  /// The host gives something to a stream: it comes after all that the host knows of.
  void submit(Actor stream) {
    (void)clock(Actor::kHost).tick(Actor::kHost);
    clock(stream).join(clock(Actor::kHost));
  }

  /// Notes an access. What it races with, if anything.
  std::optional<std::string> access(Actor actor, std::span<const std::byte> memory, Kind kind) {
    if (memory.empty()) return std::nullopt;
    VectorClock& now = clock(actor);
    const std::uint64_t time = now.tick(actor);
    const Noted mine{memory.data(), memory.data() + memory.size(), actor, time, kind};
    std::optional<std::string> race;
    for (const Noted& other : noted_) {
      const bool conflict = kind == Kind::kWrite || other.kind == Kind::kWrite;
      if (conflict && overlap(mine, other) && now.of(other.actor) < other.time)
        race = text(mine, other);
    }
    // What lies within this access and is known to it is as good as forgotten: whoever is ordered
    // after this one is after those too. A read forgets only reads.
    std::erase_if(noted_, [&](const Noted& other) {
      return mine.begin <= other.begin && other.end <= mine.end &&
             now.of(other.actor) >= other.time &&
             (kind == Kind::kWrite || other.kind == Kind::kRead);
    });
    noted_.push_back(mine);
    return race;
  }

  /// Whether the host knows that all use of the memory is over; forgets it then.
  std::optional<std::string> retire(std::span<const std::byte> memory) {
    const Noted mine{memory.data(), memory.data() + memory.size(), Actor::kHost, 0, Kind::kWrite};
    std::optional<std::string> race;
    for (const Noted& other : noted_) {
      if (overlap(mine, other) && clock(Actor::kHost).of(other.actor) < other.time)
        race = text(mine, other);
    }
    std::erase_if(noted_, [&](const Noted& other) { return overlap(mine, other); });
    return race;
  }

  /// New memory, whatever lay there before.
  void forget(std::span<const std::byte> memory) {
    const Noted mine{memory.data(), memory.data() + memory.size(), Actor::kHost, 0, Kind::kWrite};
    std::erase_if(noted_, [&](const Noted& other) { return overlap(mine, other); });
  }

 private:
  struct Noted {
    const std::byte* begin;
    const std::byte* end;
    Actor actor;
    std::uint64_t time;
    Kind kind;
  };

  static bool overlap(const Noted& a, const Noted& b) { return a.begin < b.end && b.begin < a.end; }
  static std::string text(const Noted& mine, const Noted& other) {
    return std::string(name_of(mine.actor)) + (mine.kind == Kind::kRead ? " reads" : " writes") +
           " memory that " + name_of(other.actor) +
           (other.kind == Kind::kRead ? " may still read" : " may still write");
  }

  std::array<VectorClock, kActors> clocks_;
  std::vector<Noted> noted_;
};

}  // namespace sluice::test
