#include "prep/layout/yaml.h"

#include <sluice/error.h>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <system_error>
#include <utility>

namespace sluice {

struct Yaml::Node {
  YAML::Node value;
};

Yaml::Yaml(std::unique_ptr<Node> node, std::string file)
    : node_(std::move(node)), file_(std::move(file)) {}
Yaml::Yaml(const Yaml& other) : node_(std::make_unique<Node>(*other.node_)), file_(other.file_) {}
Yaml::~Yaml() = default;

Yaml Yaml::parse(const std::string& text, const std::string& file) {
  try {
    return {std::make_unique<Node>(Node{YAML::Load(text)}), file};
  } catch (const YAML::Exception& problem) {
    throw Error(ErrorCode::kData,
                "is not YAML: " + problem.msg,
                "mend that line",
                Place{file, problem.mark.line + 1, problem.mark.column + 1, -1});
  }
}

void Yaml::fail(const std::string& message, const std::string& hint) const {
  const YAML::Mark mark = node_->value.Mark();
  throw Error(ErrorCode::kData, message, hint, Place{file_, mark.line + 1, -1, -1});
}

std::optional<Yaml> Yaml::get(const std::string& key) const {
  const YAML::Node& self = std::as_const(node_->value);
  if (!self.IsMap()) return std::nullopt;
  const YAML::Node value = self[key];
  if (!value.IsDefined() || value.IsNull()) return std::nullopt;
  return Yaml(std::make_unique<Node>(Node{value}), file_);
}

std::vector<Yaml> Yaml::list(const std::string& key) const {
  const auto value = get(key);
  std::vector<Yaml> all;
  if (!value) return all;
  if (!value->node_->value.IsSequence()) value->fail(fmt::format("{} is no list", key), "- ...");
  for (const YAML::Node& entry : value->node_->value)
    all.push_back(Yaml(std::make_unique<Node>(Node{entry}), file_));
  return all;
}

std::string Yaml::text(const std::string& key) const {
  const auto value = get(key);
  if (!value) return {};
  if (!value->node_->value.IsScalar())
    value->fail(fmt::format("{} is no text", key), fmt::format("{}: ...", key));
  return value->node_->value.Scalar();
}

std::string Yaml::required(const std::string& key) const {
  if (!has(key)) fail(fmt::format("there is no {} here", key), fmt::format("{}: ...", key));
  return text(key);
}

std::optional<std::int64_t> Yaml::integer(const std::string& key) const {
  if (!has(key)) return std::nullopt;
  const std::string digits = text(key);
  std::int64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [at, problem] = std::from_chars(digits.data(), end, number);
  if (problem != std::errc{} || at != end)
    get(key)->fail(fmt::format("{}: '{}' is no whole number", key, digits), "write it in digits");
  return number;
}

std::vector<std::string> Yaml::texts() const {
  const YAML::Node& self = node_->value;
  std::vector<std::string> all;
  if (self.IsScalar()) all.push_back(self.Scalar());
  for (const YAML::Node& entry : self)
    if (self.IsSequence() && entry.IsScalar()) all.push_back(entry.Scalar());
  return all;
}

std::vector<std::string> Yaml::keys() const {
  std::vector<std::string> all;
  if (!node_->value.IsMap()) return all;
  for (const auto& entry : node_->value)
    if (entry.first.IsScalar()) all.push_back(entry.first.Scalar());
  return all;
}

}  // namespace sluice
