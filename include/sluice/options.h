// Typed options: a plain struct whose describe(Schema&) names each member once. From that one
// description come the binding of TOML (with every problem reported at once), `--set`, the resolved
// dump, `--help` and the reference docs.
//
//   struct TrainOptions {
//     std::int64_t epochs = 10;
//     void describe(Schema& schema) {
//       schema.field("epochs", epochs).help("passes over the training seeds").range(1, 1e6);
//     }
//   };
//
// A Schema holds pointers into the struct it describes: it must not outlive it. Not thread-safe.
#pragma once

#include <sluice/units.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sluice {

class Schema;

/// Options behind a name in a Catalog: what a model, sampler or importer of that name can be told.
class AnyOptions {
 public:
  virtual ~AnyOptions() = default;
  virtual void describe(Schema& schema) = 0;
};

/// What a `type = "..."` key may name. Implemented by Catalog (sluice/catalog.h).
class OptionsCatalog {
 public:
  struct Entry {
    std::string name;
    std::string help;  ///< one line
  };

  virtual ~OptionsCatalog() = default;
  virtual std::vector<Entry> list() const = 0;
  /// New options of that name with their defaults; null for an unknown name.
  virtual std::unique_ptr<AnyOptions> make_options(std::string_view name) const = 0;
};

/// A choice from a catalog and the options that go with it.
struct Selection {
  std::string type;
  std::shared_ptr<AnyOptions> options;
};

/// A member of an enumeration, set by name.
class EnumRef {
 public:
  struct Value {
    std::string name;
    std::string help;
  };
  virtual ~EnumRef() = default;
  virtual std::vector<Value> values() const = 0;
  virtual std::string get() const = 0;
  virtual bool set(std::string_view name) = 0;
};

/// One key of a table.
class Field {
 public:
  using Target = std::variant<bool*,
                              int*,
                              std::int64_t*,
                              std::uint64_t*,
                              double*,
                              std::string*,
                              ByteSize*,
                              Duration*,
                              std::vector<std::int64_t>*,
                              std::vector<double>*,
                              std::vector<std::string>*,
                              std::shared_ptr<EnumRef>>;

  Field(std::string key, Target target) : key_(std::move(key)), target_(std::move(target)) {}

  Field& help(std::string text) {
    help_ = std::move(text);
    return *this;
  }
  Field& unit(std::string text) {
    unit_ = std::move(text);
    return *this;
  }
  /// Inclusive bounds, for numbers, sizes (bytes), durations (ns) and each element of a list.
  Field& range(double low, double high) {
    range_ = {low, high};
    return *this;
  }
  Field& at_least(double low);
  Field& required() {
    required_ = true;
    return *this;
  }

  const std::string& key() const { return key_; }
  const std::string& help_text() const { return help_; }
  const std::string& unit_text() const { return unit_; }
  const std::optional<std::pair<double, double>>& range_limits() const { return range_; }
  bool is_required() const { return required_; }
  const Target& target() const { return target_; }

  /// "integer", "size", "one of \"a\", \"b\"", ...
  std::string type_name() const;
  /// The current value as TOML.
  std::string value_text() const;

 private:
  std::string key_;
  Target target_;
  std::string help_;
  std::string unit_;
  std::optional<std::pair<double, double>> range_;
  bool required_ = false;
};

class Schema {
 public:
  /// One key, bound to a member of a type that Field::Target knows.
  template <class T>
  Field& field(std::string key, T& member) {
    return add_field(std::move(key), Field::Target(&member));
  }

  /// An enumeration by name: choice("plan", plan, {{"auto", Plan::kAuto, "the cost model decides"},
  /// ...}).
  template <class Enum>
  struct Choice {
    std::string name;
    Enum value;
    std::string help;
  };
  template <class Enum>
  Field& choice(std::string key, Enum& member, std::vector<Choice<Enum>> choices);

  /// A nested table.
  template <class Options>
  void section(std::string key, Options& options, std::string help = {}) {
    Schema inner;
    options.describe(inner);
    add_section(std::move(key), std::move(inner), std::move(help));
  }

  /// An array of tables; each gets a new element of `items`.
  template <class Options>
  void list(std::string key, std::vector<Options>& items, std::string help = {}) {
    Options sample;
    Schema sample_schema;
    sample.describe(sample_schema);
    List list;
    list.reserve = [&items](std::size_t count) { items.assign(count, Options{}); };
    list.count = [&items] { return items.size(); };
    list.at = [&items](std::size_t index) {
      Schema inner;
      items.at(index).describe(inner);
      return inner;
    };
    std::string reference = sample_schema.reference(key, 1);
    add_list(std::move(key), std::move(list), std::move(reference), std::move(help));
  }

  /// A table with a `type` key that names an entry of `catalog`, and that entry's own keys.
  void selection(std::string key,
                 Selection& selection,
                 const OptionsCatalog& catalog,
                 std::string help = {});

  /// The values as TOML that binds back to the same values.
  std::string dump() const;
  /// The keys with types, defaults, units, ranges and help, as text; the same for `--help` and the
  /// docs.
  std::string reference(std::string_view table = "", int indent = 0) const;

  struct List {
    std::function<void(std::size_t)> reserve;
    std::function<std::size_t()> count;
    std::function<Schema(std::size_t)> at;
  };
  struct Nested {
    std::string key;
    std::string help;
    std::shared_ptr<Schema> schema;  // a plain section
    std::shared_ptr<List> list;      // an array of tables
    std::string list_reference;
    Selection* selection = nullptr;  // a table chosen by its type
    const OptionsCatalog* catalog = nullptr;
  };
  const std::vector<std::unique_ptr<Field>>& fields() const { return fields_; }
  const std::vector<Nested>& nested() const { return nested_; }

 private:
  Field& add_field(std::string key, Field::Target target);
  void add_section(std::string key, Schema schema, std::string help);
  void add_list(std::string key, List list, std::string reference, std::string help);
  void dump_into(std::string& out, const std::string& prefix) const;

  std::vector<std::unique_ptr<Field>> fields_;  // pointers: field() hands out references
  std::vector<Nested> nested_;
};

/// A parsed TOML document that remembers where everything stands.
class Config {
 public:
  /// Throws Error(kUsage) naming line and column of a syntax error. `file` is used in messages
  /// only.
  static Config parse(const std::string& text, std::string file);
  /// Throws Error(kUsage) when the file cannot be read.
  static Config load(const std::string& file);

  Config(Config&&) noexcept;
  Config& operator=(Config&&) noexcept;
  ~Config();

  /// Applies "train.epochs=3": the right side is a TOML value, or a bare word taken as a string.
  /// `origin` is where it came from, for messages.
  void set(std::string_view assignment, std::string origin = "--set");

  /// Writes the document's values into the described members. Throws one Error(kUsage) that lists
  /// every problem: unknown keys with the nearest known one, wrong types, values out of range,
  /// missing required keys.
  void bind(Schema& schema) const;

  template <class Options>
  void bind_to(Options& options) const {
    Schema schema;
    options.describe(schema);
    bind(schema);
  }

  const std::string& file() const;

 private:
  struct Document;
  explicit Config(std::unique_ptr<Document> document);
  std::unique_ptr<Document> document_;
};

/// The known word nearest to `word`, or nothing when none is near.
std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string>& known);

template <class Enum>
Field& Schema::choice(std::string key, Enum& member, std::vector<Choice<Enum>> choices) {
  class Ref final : public EnumRef {
   public:
    Ref(Enum& target, std::vector<Choice<Enum>> known)
        : target_(target), known_(std::move(known)) {}
    std::vector<Value> values() const override {
      std::vector<Value> all;
      all.reserve(known_.size());
      for (const auto& choice : known_) all.push_back({choice.name, choice.help});
      return all;
    }
    std::string get() const override {
      for (const auto& choice : known_) {
        if (choice.value == target_) return choice.name;
      }
      return {};
    }
    bool set(std::string_view name) override {
      for (const auto& choice : known_) {
        if (choice.name != name) continue;
        target_ = choice.value;
        return true;
      }
      return false;
    }

   private:
    Enum& target_;
    std::vector<Choice<Enum>> known_;
  };
  return add_field(std::move(key),
                   std::shared_ptr<EnumRef>(std::make_shared<Ref>(member, std::move(choices))));
}

}  // namespace sluice
