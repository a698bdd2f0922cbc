#include "fuzz/targets.h"

#include <fmt/format.h>

namespace sluice::fuzz {

void check_error(const Error& error) {
  const auto code = error.code();
  const bool users =
      code == ErrorCode::kData || code == ErrorCode::kUsage || code == ErrorCode::kResource;
  if (users && !error.message().empty()) return;
  throw Finding(fmt::format("an error of code {}: '{}'", to_string(code), error.what()));
}

const std::vector<Target>& targets() {
  static const std::vector<Target> all{npy_target(),
                                       npz_target(),
                                       raw_target(),
                                       manifest_target(),
                                       checksum_target(),
                                       csv_target(),
                                       list_target(),
                                       triples_target(),
                                       openke_target(),
                                       multiplex_target(),
                                       metis_target(),
                                       mtx_target(),
                                       graphs_target(),
                                       compressed_target(),
                                       graph_toml_target(),
                                       layout_target(),
                                       safetensors_target()};
  return all;
}

const Target& target_named(std::string_view name) {
  std::string known;
  for (const Target& target : targets()) {
    if (target.name == name) return target;
    known += fmt::format("{}{}", known.empty() ? "" : " ", target.name);
  }
  throw std::out_of_range(fmt::format("no target '{}'; there are: {}", name, known));
}

}  // namespace sluice::fuzz
