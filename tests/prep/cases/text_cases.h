// What the tests of one kind of fault share: folders that are described and imported, and what
// refusals must say and leave behind.
#pragma once

#include "import_bad_input.h"  // IWYU pragma: export
#include "layout_support.h"
#include "prep/import_support.h"
#include "storage/format/staging.h"
#include "support/expect_error.h"

#include <sluice/dataset.h>
#include <sluice/error.h>
#include <sluice/graph_schema.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::test {

inline bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

using CaseFiles = std::vector<std::pair<std::string, std::string>>;

/// A folder with files in it.
struct CaseFolder : LayoutFolder {
  CaseFolder() = default;
  explicit CaseFolder(std::initializer_list<std::pair<std::string, std::string>> files) {
    for (const auto& [name, text] : files) write(name, text);
  }
  /// A list in braces is taken for the files themselves.
  struct Of {
    const CaseFiles& files;
  };
  explicit CaseFolder(const Of& of) {
    for (const auto& [name, text] : of.files) write(name, text);
  }

  /// Imports as a graph.toml says, or by the guess where that is empty.
  Dataset dataset_of(const std::string& toml) const {
    if (toml.empty()) {
      import(describe());
    } else {
      run(toml, Overwrite::kReplace);
    }
    return Dataset::open(out());
  }

  /// The error, which must name `place`, "a.csv:3", say all of `words`, lead on by a hint, and
  /// leave nothing behind.
  Error refusal(const std::string& toml,
                const std::string& place,
                const std::vector<std::string>& words) const {
    const Error error = expect_error([&] { dataset_of(toml); });
    const std::string text = as_text(error, *this);
    CAPTURE(text);
    CHECK((error.code() == ErrorCode::kData || error.code() == ErrorCode::kUsage));
    CHECK(says(error.what(), place));
    for (const std::string& word : words) {
      CAPTURE(word);
      CHECK(says(text, word));
    }
    CHECK_FALSE(error.hint().empty());
    CHECK(leftovers().empty());
    return error;
  }
};

/// The edges of the only relation as the files name them, sorted: "ann>bob", and where there are
/// weights "ann>bob:0.5".
inline std::vector<std::string> named_edges(const Dataset& dataset) {
  const RelationSchema& relation = dataset.schema().relations.at(0);
  const auto name_of = [&](const std::string& type) {
    return [ids = dataset.ids(type)](std::uint64_t node) {
      return ids.kind() == IdKind::kString ? std::string(ids.text(node))
                                           : std::to_string(ids.integer(node));
    };
  };
  const auto source = name_of(relation.source), target = name_of(relation.target);
  std::vector<float> weights;
  if (relation.has_weights) weights = as_vector<float>(dataset.edge_weights(relation.key()));
  const auto lists = in_edges(dataset, relation.key());
  std::vector<std::string> edges;
  for (std::uint64_t node = 0; node < lists.size(); ++node) {
    for (const std::uint64_t from : lists[node]) {
      std::string edge = source(from) + ">" + target(node);
      if (!weights.empty()) edge += fmt::format(":{}", weights[edges.size()]);
      edges.push_back(std::move(edge));
    }
  }
  std::sort(edges.begin(), edges.end());
  return edges;
}

inline std::vector<std::int32_t> label_table(const Dataset& dataset) {
  return as_vector<std::int32_t>(dataset.labels("node"));
}

using Names = std::vector<std::string>;

}  // namespace sluice::test
