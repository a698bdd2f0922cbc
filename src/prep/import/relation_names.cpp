#include "prep/import/relation_names.h"

#include "core/hash.h"

#include <fmt/format.h>

#include <cctype>
#include <set>
#include <span>

namespace sluice {
namespace {

constexpr std::size_t kPlainBytes = 80;  // of a type's name
constexpr std::size_t kNameBytes = 100;  // that names of a dataset may have

/// Without what a name may not end with.
std::string shortened(std::string name, std::size_t most) {
  if (name.size() > most) name.resize(most);
  while (name.ends_with('_')) name.pop_back();
  return name;
}

/// Letters, digits, '-', '.' and '_' alone; "type" where nothing is left.
std::string plain_type(const std::string& type) {
  std::string name;
  for (const char c : type) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.';
    const char next = plain ? c : '_';
    if (next == '_' && (name.empty() || name.back() == '_')) continue;
    if (next == '.' && (name.empty() || name.back() == '.')) continue;
    name += next;
  }
  name = shortened(std::move(name), kPlainBytes);
  return name.empty() ? "type" : name;
}

std::string with_relation(const EdgeSpec& edge, const std::string& name) {
  return edge.relation == EdgeSpec().relation ? name : edge.relation + "_" + name;
}

/// `name` and a hash of what it stands for, short enough for a name.
std::string hashed(const std::string& name, const std::string& of, std::size_t digits) {
  const std::uint64_t hash = xxh3_64(std::as_bytes(std::span(of)));
  const std::string text = fmt::format("{:016x}", hash).substr(0, digits);
  return shortened(name, kNameBytes - digits - 1) + "_" + text;
}

std::string fitted(const std::string& name, const std::string& of) {
  return name.size() <= kNameBytes ? name : hashed(name, of, 8);
}

/// Names of other relations between the same types.
std::set<std::string> names_of_others(const GraphSpec& spec, const EdgeSpec& edge) {
  std::set<std::string> names;
  for (const EdgeSpec& other : spec.edges) {
    if (&other == &edge) continue;
    if (other.source == edge.source && other.target == edge.target) names.insert(other.relation);
    if (other.source == edge.target && other.target == edge.source && !other.reverse.empty())
      names.insert(other.reverse);
  }
  return names;
}

}  // namespace

std::string reverse_relation_name(const EdgeSpec& edge, const std::string& name) {
  const std::string whole = edge.reverse + "_" + name;
  return fitted(whole, whole);
}

std::map<std::string, std::string> relation_names(const GraphSpec& spec,
                                                  const EdgeSpec& edge,
                                                  const std::vector<std::string>& types) {
  std::map<std::string, std::size_t> wanted;  // how many types want a name
  std::set<std::string> taken = names_of_others(spec, edge);
  std::map<std::string, std::string> names;
  const auto plain = [&](const std::string& type) {
    return fitted(with_relation(edge, plain_type(type)), type);
  };
  // Whether a type may be called so: its reverse must not be called as another type is.
  const auto take = [&](const std::string& type, const std::string& name) {
    const bool turned = !edge.reverse.empty() && edge.source == edge.target;
    const std::string reverse = turned ? reverse_relation_name(edge, name) : std::string();
    if (taken.contains(name) || (turned && taken.contains(reverse))) return false;
    taken.insert(name);
    if (turned) taken.insert(reverse);
    names[type] = name;
    return true;
  };
  const std::set<std::string> all(types.begin(), types.end());
  for (const std::string& type : all) ++wanted[plain(type)];
  // Names that are plain stay, and those that nobody else wants.
  for (const std::string& type : all)
    if (plain_type(type) == type) (void)take(type, plain(type));
  for (const std::string& type : all)
    if (!names.contains(type) && wanted[plain(type)] == 1) (void)take(type, plain(type));
  for (const std::string& type : all) {
    if (names.contains(type)) continue;
    for (const std::size_t digits : {std::size_t{8}, std::size_t{16}})
      if (!names.contains(type) && take(type, hashed(plain(type), type, digits))) break;
    for (std::size_t i = 2; !names.contains(type); ++i)
      (void)take(type, hashed(plain(type), fmt::format("{} {}", type, i), 16));
  }
  return names;
}

}  // namespace sluice
