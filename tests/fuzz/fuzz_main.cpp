// What libFuzzer calls: sluice_fuzz --target=NAME [libFuzzer's arguments]. With --seeds=DIR it
// writes the target's seeds there and its words beside, and ends; with --list it names the targets.
#include "fuzz/target.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <string_view>

namespace sluice::fuzz {
namespace {

const Target* chosen = nullptr;

void write_file(const std::filesystem::path& path, std::string_view content) {
  std::ofstream out(path, std::ios::binary);
  out << content;
  if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
}

// The words as libFuzzer's dictionaries have them.
std::string dictionary_of(const Target& target) {
  std::string text;
  for (const std::string& word : target.words) {
    text += '"';
    for (const char c : word)
      text += fmt::format("\\x{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    text += "\"\n";
  }
  return text;
}

void write_seeds(const Target& target, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const std::string& seed : target.seeds())
    write_file(folder / fmt::format("seed{:02}", number++), seed);
  write_file(folder.string() + ".dict", dictionary_of(target));
}

void run(int argc, char** argv) {
  std::string seeds;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--target=")) chosen = &target_named(argument.substr(9));
    if (argument.starts_with("--seeds=")) seeds = argument.substr(8);
    if (argument != "--list") continue;
    for (const Target& target : targets()) fmt::print("{}\n", target.name);
    std::exit(0);
  }
  if (chosen == nullptr) throw std::invalid_argument("--target=NAME is missing");
  if (seeds.empty()) return;
  write_seeds(*chosen, seeds);
  std::exit(0);
}

}  // namespace
}  // namespace sluice::fuzz

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  try {
    sluice::fuzz::run(*argc, *argv);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "error: {}\n", problem.what());
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    sluice::fuzz::chosen->body({reinterpret_cast<const char*>(data), size});
  } catch (const std::exception& problem) {
    fmt::print(stderr, "finding: {}\n", problem.what());
    (void)std::fflush(stderr);
    std::abort();  // libFuzzer keeps the input
  }
  return 0;
}
