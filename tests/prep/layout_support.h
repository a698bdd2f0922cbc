// A folder of files in some layout, described and imported as `sluice-prep import PATH --yes` does.
#pragma once

#include "compress.h"
#include "import_support.h"
#include "prep/import/spec_toml.h"
#include "prep/layout/layout.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace sluice::test {

struct LayoutFolder : ImportFolder {
  void gz(const std::string& name, std::string_view text) const { write(name, gzip(text)); }

  struct Described {
    GraphSpec spec;
    std::string toml;
    std::vector<std::string> warnings;
  };

  /// @param paths below raw/; none: all of it
  Described describe(const std::vector<std::string>& paths = {},
                     const std::string& layout = "auto") const {
    std::vector<std::string> full;
    for (const std::string& path : paths) full.push_back(dir / "raw" / path);
    if (full.empty()) full.push_back(dir / "raw");
    return describe_at(full, layout);
  }

  static Described describe_at(const std::vector<std::string>& paths,
                               const std::string& layout = "auto") {
    const TableFormats formats = table_formats();
    MemoryLedger ledger;
    ThreadArena arena(2);
    const FileSet files(paths, {}, formats, ledger, arena);
    const Description made = describe_files(layouts(), layout, files);
    Described described{GraphSpec(formats), to_toml(made.spec, formats, made.comments), {}};
    Config::parse(described.toml, "graph.toml").bind_to(described.spec);
    // What the text says is what was meant.
    CHECK(to_toml(described.spec, formats) == to_toml(made.spec, formats));
    described.warnings = made.warnings;
    return described;
  }

  /// Imports what was described.
  ImportReport import(const Described& described) const {
    const TableFormats formats = table_formats();
    MemoryLedger ledger(budget, "--memory");
    ThreadArena arena(threads);
    const auto log = make_silent_logger();
    PrepContext context{ledger, arena, *log, ProgressStyle::kSilent};
    const ImportOptions options{
        resolve_root(described.spec, "", std::nullopt), out(), Overwrite::kReplace, "test"};
    return import_dataset(described.spec, formats, options, context);
  }

  Dataset dataset(const Described& described) const {
    import(described);
    return Dataset::open(out());
  }
};

template <class T>
std::vector<T> values_of(const Array& array) {
  const auto values = array.as<T>();
  return {values.begin(), values.end()};
}

/// The folder of a real data set; nothing, and a word about it, where it is not there.
inline std::optional<std::filesystem::path> real_folder(const std::string& name) {
  const char* data = std::getenv("SLUICE_DATA");
  const char* source = std::getenv("SLUICE_SOURCE");
  const std::filesystem::path root =
      data != nullptr ? data
                      : std::filesystem::path(source != nullptr ? source : ".") / "../shared/data";
  if (std::filesystem::exists(root / name)) return root / name;
  MESSAGE("skipped: no ", (root / name).string(), "; set SLUICE_DATA");
  return std::nullopt;
}

}  // namespace sluice::test
