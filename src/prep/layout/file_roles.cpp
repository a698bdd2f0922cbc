#include "prep/layout/file_roles.h"

#include "prep/layout/file_set.h"
#include "prep/layout/left_out.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

namespace sluice {
namespace {

using namespace std::string_view_literals;
using Kind = FileRole::Kind;

std::string lower(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// The words of a name, parted by '_', '-' and '.'.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (c == '_' || c == '-' || c == '.') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

bool is_one_of(const std::string& word, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string joined(std::span<const std::string> words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : "_") + word;
  return out;
}

/// "train", "valid" or "test"; empty for other words.
std::string part_of(const std::string& word) {
  if (word == "train" || word == "training" || word == "trn") return "train";
  if (word == "val" || word == "valid" || word == "validation" || word == "dev") return "valid";
  return word == "test" || word == "tst" ? "test" : "";
}

/// "train_idx", "idx_train", "val_20": the part, and what is left as the split's name.
bool take_split(const std::vector<std::string>& words, FileRole& role) {
  static constexpr std::array kFillers{"idx"sv,
                                       "ids"sv,
                                       "id"sv,
                                       "index"sv,
                                       "indices"sv,
                                       "nodes"sv,
                                       "node"sv,
                                       "split"sv,
                                       "set"sv,
                                       "edges"sv,
                                       "edge"sv,
                                       "graphs"sv,
                                       "triples"sv};
  static constexpr std::array kGraphs{"adj"sv, "adjacency"sv, "adjs"sv};
  static constexpr std::array kLabelWords{"labels"sv, "label"sv, "y"sv, "targets"sv};
  std::vector<std::string> rest;
  bool mask = false;
  for (const std::string& word : words) {
    const std::string small = lower(word);
    const std::string part = part_of(small);
    if (!part.empty() && role.part.empty()) {
      role.part = part;
    } else if (small == "mask" || small == "masks") {
      mask = true;
    } else if (!is_one_of(small, kFillers)) {
      rest.push_back(word);
    }
  }
  if (role.part.empty()) return false;
  const auto among = [&](std::span<const std::string_view> words_of_kind) {
    return std::any_of(rest.begin(), rest.end(), [&](const std::string& word) {
      return is_one_of(lower(word), words_of_kind);
    });
  };
  role.kind = mask ? Kind::kMask : Kind::kSplit;
  if (among(kGraphs)) role.kind = Kind::kPartialGraph;
  if (!mask && among(kLabelWords)) {
    role.kind = Kind::kSplitLabels;
    std::erase_if(rest,
                  [&](const std::string& word) { return is_one_of(lower(word), kLabelWords); });
  }
  role.split = joined(rest);
  return true;
}

/// "paper_features", "features", "node_feat": the kind by the last word, the type before it.
bool take_rows(const std::vector<std::string>& words, FileRole& role) {
  static constexpr std::array kFeatures{
      "features"sv, "feature"sv, "feat"sv, "feats"sv, "x"sv, "attributes"sv, "embeddings"sv};
  static constexpr std::array kLabels{"labels"sv, "label"sv, "y"sv, "classes"sv, "targets"sv};
  static constexpr std::array kTimes{"times"sv, "time"sv, "year"sv, "years"sv, "timestamps"sv};
  const std::string last = lower(words.back());
  if (is_one_of(last, kFeatures)) role.kind = Kind::kFeatures;
  if (is_one_of(last, kLabels)) role.kind = Kind::kLabels;
  if (is_one_of(last, kTimes)) role.kind = Kind::kTimes;
  if (role.kind == Kind::kOther) return false;
  role.of = joined(std::span(words).first(words.size() - 1));
  if (lower(role.of) == "node" || lower(role.of) == "nodes") role.of.clear();
  return true;
}

/// "paper__author", "paper__writes__author".
bool take_relation(std::string_view stem, FileRole& role) {
  const auto first = stem.find("__");
  if (first == std::string_view::npos || first == 0) return false;
  const auto last = stem.rfind("__");
  role.source = stem.substr(0, first);
  role.target = stem.substr(last + 2);
  if (last > first + 2) role.relation = stem.substr(first + 2, last - first - 2);
  if (role.target.empty()) return false;
  role.kind = Kind::kRelation;
  return true;
}

}  // namespace

bool says_edges(const std::string& name) {
  const std::string stem = lower(stem_of(name));
  for (const char* word : {"edge", "graph", "adj", "link", "network", "relation"})
    if (stem.find(word) != std::string::npos) return true;
  return false;
}

bool says_nodes(const std::string& name) {
  const std::string stem = lower(stem_of(name));
  for (const char* word : {"nodes", "node", "vertices", "entities", "mapping"})
    if (stem == word) return true;
  return false;
}

FileRole role_of(const std::string& file) {
  FileRole role;
  role.file = file;
  role.name = file;
  if (goes_with_data(file)) {
    role.kind = Kind::kUnread;
    return role;
  }
  const std::string stem = stem_of(file);
  if (take_relation(stem, role)) return role;
  const std::vector<std::string> words = words_of(stem);
  if (take_split(words, role) || take_rows(words, role)) return role;
  return role;
}

}  // namespace sluice
