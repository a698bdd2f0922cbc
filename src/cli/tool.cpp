#include "cli/tool.h"

#include "core/cpu_isa.h"
#include "core/json_text.h"
#include "core/utf8.h"

#include <sluice/catalog.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::cli {
namespace {

// As the command line says, also where it is not parsed.
Output wanted_output(int argc, char** argv) {
  const bool json = std::any_of(
      argv, argv + argc, [](const char* word) { return std::string_view(word) == "--json"; });
  return json ? Output::kJson : Output::kText;
}

// JSON has no other bytes than UTF-8, so one that is shown in the place of others is said.
std::string json_message(const Error& error) {
  std::string text = error.what();
  if (!valid_utf8(text))
    text += " (text that is not valid UTF-8: such bytes are shown as \xef\xbf\xbd)";
  return text;
}

// Of a command that is not there: its name, and those there are.
Error usage_error(const CLI::App& app, int argc, char** argv, const CLI::ParseError& error) {
  const CLI::App* command = &app;
  for (int i = 1; i < argc && command->get_require_subcommand_min() > 0; ++i) {
    const std::string word = argv[i];
    if (word.starts_with('-')) break;
    std::vector<std::string> known;
    const CLI::App* next = nullptr;
    for (const CLI::App* below : command->get_subcommands({})) {
      known.push_back(below->get_name());
      if (known.back() == word) next = below;
    }
    if (next == nullptr) return unknown_name("command", word, known);
    command = next;
  }
  return Error(ErrorCode::kUsage, error.what(), "run with --help");
}

}  // namespace

int print_error(Output output, const Error& error) {
  fmt::print(stderr, "error: {}\n", error.what());
  if (!error.hint().empty()) fmt::print(stderr, "  hint: {}\n", error.hint());
  if (output == Output::kJson) {
    nlohmann::ordered_json said = {{"code", to_string(error.code())},
                                   {"message", json_message(error)},
                                   {"hint", error.hint()}};
    const Place& place = error.place();
    if (!place.file.empty()) {
      said["place"] = {{"file", place.file}};
      for (const auto& [name, number] :
           {std::pair{"line", place.line}, {"column", place.column}, {"offset", place.offset}})
        if (number >= 0) said["place"][name] = number;
    }
    print_json({{"error", std::move(said)}});
  }
  return static_cast<int>(error.code());
}

int run_command(Output output, const std::function<void()>& command) {
  try {
    command();
    flush_output();
    return 0;
  } catch (const Error& error) {
    return print_error(output, error);
  } catch (const std::bad_alloc&) {
    return print_error(
        output,
        Error(ErrorCode::kResource,
              "the system has no more memory",
              "free memory, or lower --memory so that the refusal comes at the start"));
  } catch (const std::exception& error) {
    return print_error(output,
                       Error(ErrorCode::kInternal,
                             error.what(),
                             "this is a bug in Sluice, unless a model or sampler of your own threw "
                             "it: please report it"));
  } catch (...) {
    return print_error(output,
                       Error(ErrorCode::kInternal,
                             "something was thrown that is no std::exception",
                             "let models and samplers of your own throw sluice::Error"));
  }
}

int parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return -1;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return print_error(wanted_output(argc, argv), usage_error(app, argc, argv, error));
  }
}

int check_processor(int argc, char** argv) {
  const auto isa = choose_cpu_isa(cpu_features(), std::getenv(kMaxCpuIsaVariable));
  return isa ? -1 : print_error(wanted_output(argc, argv), isa.error());
}

void flush_output() {
  if (std::fflush(stdout) == 0) return;
  throw Error(ErrorCode::kIo,
              "cannot write to standard output",
              "is the disk or the pipe behind it closed?");
}

void print_json(const nlohmann::ordered_json& object) {
  fmt::print("{}\n", json_text(object));
}

}  // namespace sluice::cli
