// Raw files whose content nobody said are refused; what each holds can be said for it alone.
#include "core/log.h"
#include "core/progress.h"
#include "prep/import/graph_spec.h"
#include "prep/import/import.h"
#include "prep/import/spec_toml.h"
#include "prep/import_support.h"
#include "prep/prep_context.h"
#include "prep/table/table_formats.h"
#include "registry/core.h"
#include "storage/format/staging.h"
#include "support/npy_file.h"
#include "text_cases.h"

#include <sluice/memory.h>
#include <sluice/random.h>
#include <sluice/threads.h>

#include <spdlog/sinks/ostream_sink.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <sstream>

using namespace sluice;
using namespace sluice::test;

namespace {

const std::pair<std::string, std::string> kSix{"e.csv", "src,dst\n0,1\n1,2\n2,3\n3,4\n4,5\n"};

std::string rising_floats(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  return bytes_of_values(values);
}

/// What an import warns of.
std::string warnings_of(const CaseFolder& folder, const std::string& toml) {
  std::ostringstream said;
  Logger log("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(said));
  log.set_pattern("%l: %v");
  const TableFormats formats = table_formats();
  GraphSpec spec(formats);
  Config::parse(toml, "graph.toml").bind_to(spec);
  MemoryLedger ledger;
  ThreadArena arena(1);
  PrepContext context{ledger, arena, log, ProgressStyle::kSilent};
  import_dataset(std::move(spec),
                 formats,
                 {folder.dir / "raw", folder.out(), Overwrite::kReplace, "test"},
                 context);
  return said.str();
}

}  // namespace

TEST_CASE("raw files in any role are refused where nobody said what they hold, fit or not") {
  const std::string f32 = rising_floats(24), odd = rising_floats(23);
  for (const std::string& bytes : {f32, odd}) {
    const auto refused = [&](const std::string& toml, const Names& more) {
      CAPTURE(toml);
      Names words{"[raw]", "dtype", "width"};
      words.insert(words.end(), more.begin(), more.end());
      CaseFolder({kSix, {"f.bin", bytes}}).refusal(toml, "f.bin", words);
    };
    refused("[[nodes]]\nfeatures.file = 'f.bin'\n" + kEdges, {"its dtype and width are missing"});
    refused("[[nodes]]\nlabels.file = 'f.bin'\n" + kEdges, {});
    refused("[[nodes]]\ntimes.file = 'f.bin'\n" + kEdges, {});
    refused("[[nodes]]\nids = 'integer'\nid_list.file = 'f.bin'\n" + kEdges, {});
    refused("[[edges]]\nfile = 'f.bin'\n", {});
    refused(kEdges + "features.file = 'f.bin'\n", {});
    refused(kEdges + "[[splits]]\ntrain = 'f.bin'\n", {});
    refused("[[nodes]]\nfeatures.file = 'f.bin'\n" + kEdges + "[raw]\ndtype = 'f32'\n",
            {"its width is missing"});
    refused("[[nodes]]\nfeatures.file = 'f.bin'\n" + kEdges + "[raw]\nwidth = 4\n",
            {"its dtype is missing"});
  }
}

TEST_CASE("the guess leaves raw files out, and says why") {
  const CaseFolder edges({{"edges.bin", bytes_of_values<std::int64_t>({0, 1, 1, 0})}});
  edges.refusal("", "edges.bin", {"[raw]", "dtype"});
  const CaseFolder beside(
      {kSix, {"features.bin", rising_floats(24)}, {"train_idx.bin", "01234567"}});
  const auto described = beside.describe();
  for (const char* file : {"features.bin", "train_idx.bin"}) {
    CAPTURE(file);
    CHECK(
        std::count_if(described.warnings.begin(), described.warnings.end(), [&](const auto& text) {
          return says(text, file) && says(text, "[raw]");
        }) == 1);
  }
  CHECK(beside.dataset_of("").schema().total_edges() == 5);
}

TEST_CASE("[[raw.files]] says what one file holds; one [raw] for files of different use is told") {
  const CaseFolder folder({kSix,
                           {"f.bin", rising_floats(24)},
                           {"y.bin", bytes_of_values<std::int32_t>({0, 1, 0, 1, 2, 0})}});
  const std::string nodes = "[[nodes]]\nfeatures.file = 'f.bin'\nlabels.file = 'y.bin'\n" + kEdges;
  const std::string raw = "[raw]\ndtype = 'f32'\nwidth = 4\n";
  const std::string own = "[[raw.files]]\nfile = 'y.bin'\ndtype = 'i32'\nwidth = 1\n";
  const Dataset dataset = folder.dataset_of(nodes + raw + own);
  CHECK(label_table(dataset) == std::vector<std::int32_t>{0, 1, 0, 1, 2, 0});
  CHECK(stored_f32_rows(folder.out(), "node", 6, 4)[23] == 23);
  CHECK(warnings_of(folder, nodes + raw + own).empty());
  const std::string both = own + "[[raw.files]]\nfile = 'f.bin'\ndtype = 'f32'\nwidth = 4\n";
  CHECK(label_table(folder.dataset_of(nodes + both)) ==
        std::vector<std::int32_t>{0, 1, 0, 1, 2, 0});
  CaseFolder({kSix, {"f.bin", rising_floats(24)}})
      .refusal("[[nodes]]\nfeatures.file = 'f.bin'\n" + kEdges + raw + own,
               "y.bin",
               {"[[raw.files]]", "no raw file of that name"});

  const CaseFolder one({kSix,
                        {"x.bin", bytes_of_values<std::int32_t>({0, 1, 2, 3, 4, 5})},
                        {"y.bin", bytes_of_values<std::int32_t>({0, 1, 0, 1, 2, 0})}});
  const std::string narrow = "[raw]\ndtype = 'i32'\nwidth = 1\n";
  const std::string said = warnings_of(
      one, "[[nodes]]\nfeatures.file = 'x.bin'\nlabels.file = 'y.bin'\n" + kEdges + narrow);
  CAPTURE(said);
  for (const char* part : {"warning: one [raw]", "x.bin", "y.bin", "i32", "[[raw.files]]"})
    CHECK(says(said, part));
  CHECK(warnings_of(one, "[[nodes]]\nlabels.file = 'y.bin'\n" + kEdges + narrow).empty());
}

TEST_CASE("a guessed graph.toml prints [[raw.files]] that were set") {
  const TableFormats formats = table_formats();
  GraphSpec spec(formats);
  const std::string toml =
      "[[edges]]\nfile = 'e.bin'\n\n[raw]\nwidth = 3\n\n[[raw.files]]\nfile = 'a.bin'\ndtype = "
      "'f32'\nwidth = 4\n";
  Config::parse(toml, "graph.toml").bind_to(spec);
  const std::string printed = to_toml(spec, formats);
  GraphSpec again(formats);
  Config::parse(printed, "printed").bind_to(again);
  CHECK(to_toml(again, formats) == printed);
  CHECK(says(printed, "[[raw.files]]\nfile = \"a.bin\"\ndtype = \"f32\"\nwidth = 4"));
}

TEST_CASE("raw files of integers that are wider or narrower than is said are told") {
  const auto said = [](const std::string& bytes, const std::string& dtype, int ids = 0) {
    const CaseFolder folder({{"e.bin", bytes}});
    return warnings_of(
        folder,
        fmt::format("[[nodes]]\nids = '{}'\n[[edges]]\nfile = 'e.bin'\n[raw]\ndtype = "
                    "'{}'\nwidth = 2\n",
                    ids == 0 ? "dense" : "integer",
                    dtype));
  };
  const auto has = [](const std::string& text, const std::string& part) {
    CAPTURE(text);
    return text.find(part) != std::string::npos;
  };
  const std::vector<std::int64_t> wide{0, 1, 1, 2, 2, 3, 3, 0};
  const std::vector<std::int32_t> narrow(wide.begin(), wide.end());
  CHECK(has(said(bytes_of_values(wide), "i32"),
            "e.bin: read as i32, every second number is 0, as those of wider integers are: "
            "is its dtype \"i64\"?"));
  CHECK(has(said(bytes_of_values(narrow), "u16"), "is its dtype \"u32\"?"));
  CHECK(has(said(bytes_of_values(wide), "i16"), "is its dtype \"i64\"?"));
  CHECK(has(said(bytes_of_values(
                     std::vector<std::int32_t>{5, 7, 9, 5, 7, 5, 9, 8, 8, 6, 6, 5, 1, 2, 3, 4}),
                 "i64",
                 1),
            "two of 32 bits each, such as 17179869187, which is 3 and 4: is its dtype \"i32\"?"));
  CHECK_FALSE(has(said(bytes_of_values(wide), "i64"), "its dtype"));
  CHECK_FALSE(has(said(bytes_of_values(narrow), "i32"), "its dtype"));
  const std::int64_t hash = 0x1234'5678'9abc'def0;
  CHECK_FALSE(has(
      said(
          bytes_of_values(std::vector<std::int64_t>{hash, hash * 3, hash * 5, hash * 7}), "i64", 1),
      "its dtype"));
}

TEST_CASE("raw files of floats that are wider or narrower than is said are told") {
  const auto said = [](const std::string& bytes, const std::string& dtype) {
    const CaseFolder folder({kSix, {"x.bin", bytes}});
    return warnings_of(
        folder,
        fmt::format("[[nodes]]\nfeatures = {{ file = 'x.bin', not_finite = 'keep' }}\n"
                    "ids = 'dense'\n[[edges]]\nfile = 'e.csv'\n"
                    "[raw]\ndtype = '{}'\nwidth = 8\n",
                    dtype));
  };
  const std::string wide = "is its dtype \"f64\"?", narrow = "is its dtype \"f32\"?";
  const RandomKey key(11);
  std::vector<double> fractions, singles, counts, zeros(64, 0.0);
  std::vector<float> floats, flags, missing;
  for (std::uint64_t i = 0; i < 96; ++i) {
    fractions.push_back(static_cast<double>(key.draw(i) >> 12) * 0x1p-51 - 1);
    floats.push_back(static_cast<float>(fractions.back()));
    singles.push_back(floats.back());
    counts.push_back(static_cast<double>(key.draw(i) % 7));
    flags.push_back(static_cast<float>(i % 2 * (key.draw(i) % 3)));
    missing.push_back(i % 2 == 0 ? std::numeric_limits<float>::quiet_NaN() : floats.back());
  }
  for (const auto& doubles : {fractions, singles, counts}) {
    CHECK(says(said(bytes_of_values(doubles), "f32"), wide));
    CHECK_FALSE(says(said(bytes_of_values(doubles), "f64"), "its dtype"));
  }
  CHECK(says(said(bytes_of_values(floats), "f64"), narrow));
  for (const auto& as_said : {floats, flags, missing})
    CHECK_FALSE(says(said(bytes_of_values(as_said), "f32"), "its dtype"));
  CHECK_FALSE(says(said(bytes_of_values(zeros), "f64"), "its dtype"));
}
