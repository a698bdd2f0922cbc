// A YAML file as layouts need it: maps, lists and texts, with the file and line in errors. Keeps
// yaml-cpp out of the layouts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

class Yaml {
 public:
  /// Throws Error(kData) with the line of a syntax error. @param file for messages
  static Yaml parse(const std::string& text, const std::string& file);

  Yaml(const Yaml& other);
  Yaml& operator=(const Yaml&) = delete;
  ~Yaml();

  /// The value under a key; nothing where there is none, it is null, or this is no map.
  std::optional<Yaml> get(const std::string& key) const;
  /// The values of a list under a key; none where there is none. Throws where it is no list.
  std::vector<Yaml> list(const std::string& key) const;
  /// The text (a number, too) under a key; empty where there is none. Throws where it is none.
  std::string text(const std::string& key) const;
  /// The same; throws where there is none.
  std::string required(const std::string& key) const;
  /// The whole number under a key; throws where it is none.
  std::optional<std::int64_t> integer(const std::string& key) const;
  /// The texts of this list, or this text alone.
  std::vector<std::string> texts() const;
  bool has(const std::string& key) const { return get(key).has_value(); }
  /// The keys of this map.
  std::vector<std::string> keys() const;

  [[noreturn]] void fail(const std::string& message, const std::string& hint) const;

 private:
  struct Node;
  Yaml(std::unique_ptr<Node> node, std::string file);

  std::unique_ptr<Node> node_;
  std::string file_;
};

}  // namespace sluice
