// sluice-prep as its users meet it: exit codes, JSON, help, and what a kill at any moment leaves.
#include "cli/prep_tool.h"
#include "support/sanitized.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <sluice/random.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <ios>
#include <thread>

using namespace sluice;
using nlohmann::json;
using sluice::test::Outcome;
using sluice::test::prep;
using sluice::test::Process;
using sluice::test::TempDir;
namespace fs = std::filesystem;

TEST_CASE("help and version go to stdout and say what to do") {
  const Outcome help = prep({"--help"});
  CHECK(help.code == 0);
  CHECK(help.err.empty());
  for (const char* part :
       {"import", "generate", "inspect", "verify", "Examples:", "Exit codes: 0 done, 2 usage"}) {
    CHECK(help.out.find(part) != std::string::npos);
  }
  for (const char* command : {"import", "inspect", "verify"})
    CHECK(prep({command, "--help"}).code == 0);
  CHECK(prep({"generate", "rmat", "--help"}).out.find("--edge-factor") != std::string::npos);
  for (const std::string name : {"rmat", "sbm", "temporal", "hetero", "kg"}) {
    CAPTURE(name);
    const std::string of = prep({"generate", name, "--help"}).out;
    CHECK(of.find("sluice-prep generate " + name + " --") != std::string::npos);
  }
  CHECK(prep({"import", "--keys"}).out.find("[[edges]]") != std::string::npos);
  CHECK(prep({"--version"}).out.find("sluice-prep ") == 0);
}

TEST_CASE("sluice-prep links no LibTorch") {
  const Outcome libraries = test::run({"ldd", test::tool("sluice-prep")});
  REQUIRE(libraries.code == 0);
  CHECK(libraries.out.find("libstdc++") != std::string::npos);
  CHECK(libraries.out.find("torch") == std::string::npos);
  CHECK(libraries.out.find("libc10") == std::string::npos);
}

TEST_CASE("usage errors exit 2, on stderr, and as JSON when asked") {
  const TempDir dir;
  CHECK(prep({}).code == 2);
  CHECK(prep({"frobnicate"}).code == 2);
  CHECK(prep({"generate", "rmat"}).code == 2);
  const Outcome range = prep({"generate", "rmat", "--scale", "99", "--out", dir / "x", "--json"});
  CHECK(range.code == 2);
  CHECK(range.err == "error: 'scale': 99 is outside 1 to 40 (from --scale)\n");
  const json error = json::parse(range.out).at("error");
  CHECK(error.at("code") == "usage");
  CHECK(error.at("message") == "'scale': 99 is outside 1 to 40 (from --scale)");
  CHECK(error.contains("hint"));
  const Outcome memory = prep({"generate", "rmat", "--out", dir / "x", "--memory", "lots"});
  CHECK(memory.code == 2);
  CHECK(memory.err.find("'lots' is not a size") != std::string::npos);
  CHECK(fs::is_empty(dir.path()));
}

TEST_CASE(
    "bytes that are no UTF-8, in data and in names: one valid JSON object, and its exit code") {
  const TempDir dir;
  const std::string latin = "caf\xe9";
  dir.write("a.csv", "src,dst\nZo\xeb,Bob\n");
  dir.write("e.csv", "src,dst\n0,1\n");
  dir.write("int.toml", "[[edges]]\nfile = 'a.csv'\n");
  dir.write("text.toml", "[[nodes]]\nids = 'string'\n[[edges]]\nfile = 'a.csv'\n");
  dir.write("bad.toml", "[[edges]]\nfile = 'e.csv'\n# caf\xe9\n");
  for (const std::string& name : {latin + ".toml", std::string("good.toml")})
    dir.write(name, "[[edges]]\nfile = 'e.csv'\n");
  dir.write(latin + ".csv", "src,dst\n0,1\n");
  fs::create_directories(dir / "O");
  // What must come out: the code, whether `out` is one object, and what the message says.
  const auto refused = [&](std::vector<std::string> arguments, int code, const char* kind) {
    arguments.emplace_back("--json");
    const Outcome outcome = prep(arguments);
    CAPTURE(outcome.err);
    CHECK(outcome.code == code);
    REQUIRE(json::accept(outcome.out));
    const json error = json::parse(outcome.out).at("error");
    CHECK(error.at("code") == kind);
    CHECK_FALSE(error.at("hint").get<std::string>().empty());
    CHECK(fs::is_empty(dir / "O"));
    return error.at("message").get<std::string>();
  };
  const std::string out = dir / "O/x";
  for (const char* config : {"int.toml", "text.toml"}) {
    const std::string message =
        refused({"import", "--config", dir / config, "--out", out}, 3, "data");
    CHECK(message.find("a.csv:2") != std::string::npos);
    CHECK(message.find("Zo\xef\xbf\xbd") != std::string::npos);
    CHECK(message.find("not valid UTF-8") != std::string::npos);
  }
  CHECK(refused({"import", "--config", dir / "bad.toml", "--out", out}, 2, "usage")
            .find("bad.toml:3: the line is not valid UTF-8") != std::string::npos);
  for (const std::string& set : {"root=" + latin, latin + "=1", "edges.file=\"" + latin + "\""})
    CHECK(refused({"import", "--config", dir / "good.toml", "--out", out, "--set", set}, 2, "usage")
              .find("not valid UTF-8") != std::string::npos);
  CHECK(refused({"import", dir / (latin + ".csv"), "--yes", "--out", out}, 2, "usage")
            .find("not valid UTF-8") != std::string::npos);
  (void)refused({"import", "--config", dir / ("no" + latin), "--out", out}, 2, "usage");
  (void)refused({"inspect", dir / ("no" + latin)}, 3, "data");
  (void)refused({"import", "--" + latin, "x"}, 2, "usage");

  const Outcome made =
      prep({"import", "--config", dir / (latin + ".toml"), "--out", out, "--json"});
  CHECK(made.code == 0);
  REQUIRE(json::accept(made.out));
  CHECK(json::parse(made.out).at("nodes") == 2);
  CHECK(json::parse(made.out).at("edges") == 1);
  CHECK(prep({"verify", out}).code == 0);
  CHECK(json::accept(prep({"inspect", out, "--json"}).out));
  const std::string odd = dir / ("O/" + latin);
  const Outcome named = prep({"import", "--config", dir / "good.toml", "--out", odd, "--json"});
  CHECK(named.code == 0);
  CHECK(json::accept(named.out));
  CHECK(json::accept(prep({"inspect", odd, "--json"}).out));
  CHECK(json::accept(prep({"verify", odd, "--json"}).out));

  // Without --json messages keep the bytes as they are.
  const Outcome text = prep({"import", "--config", dir / "int.toml", "--out", dir / "O/y"});
  CHECK(text.code == 3);
  CHECK(text.err.find("'Zo\xeb' is not an integer") != std::string::npos);
}

TEST_CASE("a damaged dataset exits 3 and names the file; one too large for --memory exits 4") {
  const TempDir dir;
  const std::string x = dir / "x";
  REQUIRE(prep({"generate", "sbm", "--nodes", "2000", "--edges", "10000", "--out", x}).code == 0);
  const std::string file = x + "/nodes/node/features.bin";
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(12345).put('\x7f');
  const Outcome damaged = prep({"verify", x});
  CHECK(damaged.code == 3);
  CHECK(damaged.err.find(file + " at byte 12288: the page does not match its checksum") !=
        std::string::npos);
  CHECK(prep({"inspect", dir / "nothing"}).code == 3);
  const Outcome poor =
      prep({"generate", "sbm", "--edges", "9000000", "--out", dir / "y", "--memory", "4MiB"});
  CHECK(poor.code == 4);
  CHECK(poor.err.find("more for 'generator' do not fit") != std::string::npos);
  CHECK(poor.err.find("raise --memory to at least") != std::string::npos);
  CHECK_FALSE(fs::exists(dir / "y"));
}

TEST_CASE("a file that may not grow further exits 4, names itself and leaves nothing") {
  const TempDir dir;
  // By a shell of its own: the signal is not ignored there beforehand.
  const Outcome outcome = test::run({"sh",
                                     "-c",
                                     "ulimit -f 8; exec \"$@\"",
                                     "sh",
                                     test::tool("sluice-prep"),
                                     "generate",
                                     "rmat",
                                     "--scale",
                                     "12",
                                     "--out",
                                     dir / "x"});
  CHECK(outcome.code == 4);
  CHECK(outcome.err.find("cannot write: File too large") != std::string::npos);
  CHECK(fs::is_empty(dir.path()));
}

TEST_CASE("Ctrl-C exits 130 and leaves nothing") {
  const TempDir dir;
  Process process({test::tool("sluice-prep"),
                   "generate",
                   "rmat",
                   "--scale",
                   "22",
                   "--features",
                   "256",
                   "--out",
                   dir / "x"});
  // It has begun once its staging folder is there, however slowly it starts.
  for (int i = 0; i < 3000 && fs::is_empty(dir.path()); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  process.signal(SIGINT);
  const Outcome outcome = process.finish();
  CHECK(outcome.code == 130);
  CHECK(outcome.err.find("error: interrupted") != std::string::npos);
  CHECK(fs::is_empty(dir.path()));
}

TEST_CASE(
    "50 SIGKILLs at random moments leave no dataset or a whole one, and the next run sweeps up") {
  const TempDir dir;
  std::ofstream edges(dir / "edges.csv");
  edges << "src,dst\n";
  for (std::uint64_t i = 0; i < 300'000; ++i) {
    edges << RandomKey(1).below(20'000, 2 * i) << ',' << RandomKey(1).below(20'000, 2 * i + 1)
          << '\n';
  }
  edges.close();
  dir.write("graph.toml",
            "[[nodes]]\ncount = 20000\n[[edges]]\nfile = \"edges.csv\"\nsource_column = "
            "\"src\"\ntarget_column = \"dst\"\n");
  const std::string out = dir / "x";
  const std::vector<std::string> import{test::tool("sluice-prep"),
                                        "import",
                                        "--config",
                                        dir / "graph.toml",
                                        "--out",
                                        out,
                                        "--overwrite"};
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  REQUIRE(test::run(import).code == 0);
  Clock::duration longest = Clock::now() - begin;
  fs::remove_all(out);

  // The length of a run changes with what else the machine does, so the range of the moments
  // follows it, and only kills that met a run count.
  constexpr std::uint64_t kSeed = 3;
  const int wanted = test::sanitized(50, 5);
  int killed = 0;
  int finished = 0;
  while (killed < wanted && finished < 10 * wanted) {
    Process process(import);
    const auto draw = static_cast<std::uint64_t>(killed) + static_cast<std::uint64_t>(finished);
    std::this_thread::sleep_for(
        std::chrono::duration_cast<Clock::duration>(longest * RandomKey(kSeed).uniform(draw)));
    process.signal(SIGKILL);
    const bool hit = process.finish().code == -SIGKILL;
    (hit ? killed : finished) += 1;
    longest += hit ? longest / 32 : -longest / 8;  // settles where four of five hit
    CAPTURE(draw);
    if (fs::exists(out)) REQUIRE(prep({"verify", out}).code == 0);
  }
  MESSAGE("seed " << kSeed << ": " << killed << " killed, " << finished << " had finished");
  CHECK(killed == wanted);
  CHECK(prep({"verify", out}).code == (fs::exists(out) ? 0 : 3));
  REQUIRE(test::run(import).code == 0);
  CHECK(prep({"verify", out}).code == 0);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir.path()))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"edges.csv", "graph.toml", "x"});
}

TEST_CASE("import PATH prints what it would do, and with --yes does it") {
  const TempDir dir;
  dir.write("data/edges.csv", "src,dst,note\n0,1,5\n1,2,6\n");
  dir.write("data/train.pt", "x");
  const std::string data = dir / "data", out = dir / "x";
  const Outcome shown = prep({"import", data});
  CHECK(shown.code == 0);
  CHECK(shown.out.find("root = \"" + data + "\"") != std::string::npos);
  CHECK(shown.out.find("[[edges]]\n") != std::string::npos);
  CHECK(shown.out.find("# Left out: train.pt: files that torch.save wrote are not read") !=
        std::string::npos);
  CHECK(shown.err.find("left out: train.pt") != std::string::npos);
  CHECK(shown.err.find("save this as graph.toml") != std::string::npos);
  CHECK_FALSE(fs::exists(out));

  // It names the folder by its whole path: it may be saved anywhere.
  const Outcome relative = sluice::test::run({"/bin/sh",
                                              "-c",
                                              "cd \"$0\" && \"$1\" import data",
                                              dir.path(),
                                              sluice::test::tool("sluice-prep")});
  CHECK(relative.out == shown.out);
  dir.write("elsewhere/graph.toml", relative.out);
  CHECK(prep({"import", "--config", dir / "elsewhere/graph.toml", "--out", dir / "w"}).code == 0);

  // What is printed imports to what --yes makes.
  dir.write("graph.toml", shown.out);
  REQUIRE(prep({"import", "--config", dir / "graph.toml", "--out", dir / "y"}).code == 0);
  const Outcome made = prep({"import", data, "--yes", "--out", out, "--set", "nodes=[{count=9}]"});
  REQUIRE(made.code == 0);
  CHECK(made.out.find("count = 9") != std::string::npos);
  CHECK(json::parse(prep({"inspect", out, "--json"}).out).at("nodes") == 9);
  CHECK(json::parse(prep({"inspect", dir / "y", "--json"}).out).at("nodes") == 3);

  // Relative to --root, and as JSON.
  const Outcome described =
      prep({"import", "edges.csv", "--root", data, "--layout", "files", "--json", "--quiet"});
  CHECK(described.err.empty());
  CHECK(json::parse(described.out).at("graph_toml").get<std::string>().find("edges.csv") !=
        std::string::npos);
  CHECK(
      json::parse(
          prep({"import", "edges.csv", "--root", data, "--yes", "--json", "--out", dir / "z"}).out)
          .at("edges") == 2);

  CHECK(prep({"import", data, "--config", dir / "graph.toml", "--out", out}).err ==
        "error: --config and PATHs exclude each other\n"
        "  hint: a graph.toml names the files; without one, PATHs are described by a layout\n");
  CHECK(prep({"import", data, "--yes"}).code == 2);
  CHECK(prep({"import"}).code == 2);
  CHECK(prep({"import", "--config", dir / "graph.toml", "--yes", "--out", out}).code == 2);
  CHECK(prep({"import", data, "--layout", "obg"}).err.find("did you mean 'ogb'?") !=
        std::string::npos);
  const std::string help = prep({"import", "--help"}).out;
  for (const char* part : {"PATH", "--layout", "--yes", "ogb", "dgl", "import FOLDER > graph.toml"})
    CHECK(help.find(part) != std::string::npos);
}
