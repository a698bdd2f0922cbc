// CatalogEntry: an entry of a catalog as a command: its name, and a flag for each key of its
// options.
#pragma once

#include <sluice/options.h>

#include <CLI/CLI.hpp>

#include <map>
#include <string>

namespace sluice::cli {

class CatalogEntry {
 public:
  /// Adds the flags of entry `name` to `command`, with the schema's own help. Must outlive the
  /// parsing.
  void add_flags(CLI::App& command, const OptionsCatalog& catalog, const std::string& name);

  const std::string& name() const noexcept { return name_; }
  /// The entry with what was typed. Throws kUsage naming the flag.
  Selection selection(const OptionsCatalog& catalog) const;
  /// "name --flag value ...", as typed.
  std::string command_line() const;

 private:
  std::string name_;
  std::map<std::string, std::string> values_;  // by key, as typed
};

}  // namespace sluice::cli
