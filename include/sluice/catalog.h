// Catalog: where names meet types. An entry has a name, one line of help, options that describe
// themselves, and a factory; config keys, `--help`, did-you-mean and the conformance tests all
// follow from that one entry.
#pragma once

#include <sluice/error.h>
#include <sluice/options.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

/// The error for a name that no entry has: lists the candidates and the nearest.
Error unknown_name(std::string_view kind,
                   std::string_view name,
                   const std::vector<std::string>& known);

/// The error for a name that an entry has already.
Error name_taken(std::string_view kind, std::string_view name);

/// An entry's options as a table of TOML sets them: "lr = 0.01". Throws Error(kUsage) for an
/// unknown name, and for what the entry cannot be told. @param kind for messages
Selection select(const OptionsCatalog& catalog,
                 std::string_view kind,
                 std::string_view name,
                 const std::string& options);

/// Entries that make a `Product` from their options and `Args`.
template <class Product, class... Args>
class Catalog final : public OptionsCatalog {
 public:
  /// @param kind what an entry is, for messages: "model", "importer".
  explicit Catalog(std::string kind) : kind_(std::move(kind)) {}

  /// Adds `T`, which has `struct Options { void describe(Schema&); }` and a constructor T(Options,
  /// Args...). Throws Error(kUsage) for a name that is taken.
  template <class T>
  void add(std::string name, std::string help) {
    for (const Row& row : entries_) {
      if (row.entry.name == name) throw name_taken(kind_, name);
    }
    entries_.push_back({{std::move(name), std::move(help)},
                        [] { return std::make_unique<Holder<typename T::Options>>(); },
                        [](const AnyOptions& options, Args... args) -> std::unique_ptr<Product> {
                          const auto& holder =
                              dynamic_cast<const Holder<typename T::Options>&>(options);
                          return std::make_unique<T>(holder.options, std::forward<Args>(args)...);
                        }});
  }

  std::vector<Entry> list() const override {
    std::vector<Entry> all;
    all.reserve(entries_.size());
    for (const Row& row : entries_) all.push_back(row.entry);
    return all;
  }

  std::unique_ptr<AnyOptions> make_options(std::string_view name) const override {
    for (const Row& row : entries_) {
      if (row.entry.name == name) return row.make_options();
    }
    return nullptr;
  }

  /// Throws Error(kUsage) for an unknown name.
  std::unique_ptr<Product> create(const Selection& selection, Args... args) const {
    for (const Row& row : entries_) {
      if (row.entry.name != selection.type) continue;
      if (selection.options) return row.create(*selection.options, std::forward<Args>(args)...);
      return row.create(*row.make_options(), std::forward<Args>(args)...);
    }
    std::vector<std::string> known;
    known.reserve(entries_.size());
    for (const Row& row : entries_) known.push_back(row.entry.name);
    throw unknown_name(kind_, selection.type, known);
  }

  /// The same of a name and its options as TOML: make("adam", "lr = 0.01", context).
  std::unique_ptr<Product> make(std::string_view name,
                                const std::string& options,
                                Args... args) const {
    return create(select(*this, kind_, name, options), std::forward<Args>(args)...);
  }

  const std::string& kind() const { return kind_; }

 private:
  template <class Options>
  struct Holder final : AnyOptions {
    Options options;
    void describe(Schema& schema) override { options.describe(schema); }
  };
  struct Row {
    Entry entry;
    std::function<std::unique_ptr<AnyOptions>()> make_options;
    std::function<std::unique_ptr<Product>(const AnyOptions&, Args...)> create;
  };

  std::string kind_;
  std::vector<Row> entries_;
};

}  // namespace sluice
