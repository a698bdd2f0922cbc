// What labels are: values that stand for no label, and how many classes occur. Private to
// src/prep/import.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace sluice {

/// The values of labels.none: texts as they stand, numbers by their value.
class NoLabelValues {
 public:
  explicit NoLabelValues(const std::vector<std::string>& values);

  bool empty() const { return words_.empty(); }
  /// Whether some are no numbers, so that numbers have to be read as texts.
  bool has_words() const { return has_words_; }
  bool has(double value) const;
  bool has(std::string_view text) const;

 private:
  std::unordered_set<std::string> words_;
  std::vector<double> numbers_;
  bool has_words_ = false;
};

/// Which of the classes 0, 1, 2, ... have a row, counted in bounded memory.
class ClassCount {
 public:
  void take(std::int64_t label);
  /// Different classes, of those that could be counted.
  std::uint64_t seen() const { return seen_; }
  /// Whether a row has one of the first classes.
  bool has(std::size_t label) const { return label < small_.size() && small_[label]; }
  /// Whether most of `classes` have no row, for sure.
  bool most_are_empty(std::uint64_t classes) const;

 private:
  static constexpr std::size_t kSmall = std::size_t{1} << 16;
  static constexpr std::size_t kMostLarge = std::size_t{1} << 20;

  std::vector<bool> small_;
  std::unordered_set<std::int64_t> large_;  // those beyond, kMostLarge at most
  std::uint64_t seen_ = 0;
};

}  // namespace sluice
