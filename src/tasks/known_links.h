// KnownLinks: which ends links of a relation are known to have, by the other end and their type:
// what rankings leave out, and what negatives of training must not be. Torch-free.
//
// Sorted lists, one for each end that may be looked for, 24 bytes an entry. They and what making
// them takes are charged as "known links". Thread-safe once made.
#pragma once

#include <sluice/loader.h>
#include <sluice/memory.h>
#include <sluice/samplers/links.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sluice::tasks {

class KnownLinks {
 public:
  enum class Looked : std::uint8_t { kDestination, kSource };  ///< which end is asked for

  struct Entry {
    std::uint64_t known;   ///< the end that is told
    std::uint32_t type;    ///< of the link
    std::uint32_t train;   ///< 1: it is a training link
    std::uint64_t answer;  ///< the other end
  };

  /// Which links are listed.
  enum class Keep {
    kAll,
    kAsked  ///< those that answer what a valid or test link asks
  };

  /// What is gone through: links of each part, and where their types are looked up.
  struct Source {
    const GraphData& data;
    std::array<std::shared_ptr<const Links>, 3> parts;  ///< train, valid, test
    bool typed = false;                                 ///< else all are of type 0
    bool same_type = false;                             ///< both ends are nodes of one type
    std::array<std::uint64_t, 2> nodes{};               ///< of the sources' type, the destinations'
  };

  /// Throws kResource, kData (a link without a type), and what a topology fails with.
  KnownLinks(const Source& source, Keep keep, MemoryLedger* ledger);

  /// What is known of an end, each list ascending by answer. A link of several parts is there as
  /// often.
  struct Answers {
    std::span<const Entry> training;
    std::span<const Entry> others;  ///< of valid and test
  };
  Answers answers(Looked looked, std::uint64_t known, std::uint32_t type) const;
  /// How many training links answer: by two binary searches, however many there are.
  std::int64_t count_training(Looked looked, std::uint64_t known, std::uint32_t type) const;

  /// Valid and test links, and of them those with an end that no training link has, and those that
  /// are training links too.
  std::uint64_t asked() const { return asked_; }
  std::uint64_t unseen() const { return unseen_; }
  std::uint64_t repeated() const { return repeated_; }

 private:
  struct Gathering;

  std::span<const Entry> listed(Looked looked,
                                std::uint64_t known,
                                std::uint32_t type,
                                std::uint32_t train) const;
  void count_odd(const Source& source, MemoryLedger* ledger);

  Charge charge_;
  std::array<std::vector<Entry>, 2> entries_;  // by what is looked for
  std::uint64_t asked_ = 0, unseen_ = 0, repeated_ = 0;
};

inline KnownLinks::Looked opposite(KnownLinks::Looked looked) {
  return looked == KnownLinks::Looked::kDestination ? KnownLinks::Looked::kSource
                                                    : KnownLinks::Looked::kDestination;
}

/// The types of a mini-batch's links by its labels. Throws kData for a link without.
/// @param labels of a mini-batch; empty: all are of type 0
std::vector<std::uint32_t> types_of(const Array& labels, std::size_t count);

}  // namespace sluice::tasks
