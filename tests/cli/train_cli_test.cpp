// sluice-train as its users meet it: exit codes, JSON, bad input. Resuming: train_resume_test.cpp.
#include "cli/train_support.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

using namespace sluice;
using namespace sluice::test;
using nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("help and version say what to do; usage errors exit 2") {
  const Outcome help = train({"--help"});
  CHECK(help.code == 0);
  CHECK(help.err.empty());
  for (const char* part : {"run",
                           "resume",
                           "evaluate",
                           "predict",
                           "embed",
                           "probe",
                           "negatives",
                           "export",
                           "config",
                           "doctor",
                           "Examples:",
                           "Exit codes: 0 done"}) {
    CHECK(help.out.find(part) != std::string::npos);
  }
  const Outcome run = train({"run", "--help"});
  for (const char* part :
       {"graphsage", "gat", "node_classification", "regression", "adamw", "config keys"}) {
    CHECK(run.out.find(part) != std::string::npos);
  }
  CHECK(train({"config", "keys", "--help"}).out.find("Example:\n  sluice-train config keys") !=
        std::string::npos);
  CHECK(train({"--version"}).out.find("sluice-train ") == 0);
  CHECK(train({}).code == 2);
  const Outcome unknown = train({"evalute", "runs/x"});
  CHECK(unknown.code == 2);
  CHECK(unknown.err.find(
            "error: there is no command 'evalute'\n  hint: did you mean 'evaluate'?") == 0);
  CHECK(train({"config", "frobnicate"}).err.find("there is no command 'frobnicate'") !=
        std::string::npos);
  CHECK(train({"run", "no-such.toml"}).code == 2);
  CHECK(train({"config", "keys"}).out.find("batch_size = 1024   # integer, seeds, 1 to ") !=
        std::string::npos);
}

TEST_CASE("run prints the promised JSON, keeps the run, and refuses to run over it") {
  const Sandbox box;
  const Outcome outcome = box.run({"--json"});
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  const json report = json::parse(outcome.out);
  CHECK(std::count(outcome.out.begin(), outcome.out.end(), '\n') == 1);
  CHECK(report.at("task") == "node_classification");
  CHECK(report.at("model") == "graphsage");
  CHECK(report.at("seed") == 1);
  CHECK(report.at("epochs") == 3);
  for (const char* key :
       {"train.loss", "valid.accuracy", "test.accuracy", "test.f1_macro", "test.loss"}) {
    CHECK(report.at("metrics").contains(key));
  }
  CHECK(report.at("seconds").at("total") > 0);
  CHECK(report.at("seconds").at("epochs").size() == 3);
  for (const char* key : {"features", "topology", "plan", "engine"})
    CHECK(report.at("storage").contains(key));
  for (const char* key : {"read", "written", "useful"}) CHECK(report.at("bytes").contains(key));
  for (const char* key : {"budget", "peak_rss", "peak_anonymous", "anonymous_at_start", "tensors"})
    CHECK(report.at("memory").at(key) > 0);
  for (const char* key : {"batches_xxh3", "weights_xxh3"})
    CHECK(report.at(key).get<std::string>().size() == 16);
  CHECK(outcome.err.find("bound: ") != std::string::npos);
  for (const char* file : {"config.resolved.toml",
                           "metrics.jsonl",
                           "log.txt",
                           "report.json",
                           "weights.safetensors",
                           "checkpoints/last.ckpt",
                           "checkpoints/best.ckpt"}) {
    CHECK(fs::exists(box.dir() / file));
  }
  CHECK(json::parse(read_all(box.dir() / "report.json")) == report);

  const Outcome again = box.run({"--json"});
  CHECK(again.code == 2);
  const json error = json::parse(again.out).at("error");
  CHECK(error.at("code") == "usage");
  CHECK(error.at("message").get<std::string>().find("the run directory already holds a run") !=
        std::string::npos);
  const Outcome over = box.run({"--json", "--overwrite"});
  CHECK(results(json::parse(over.out)) == results(report));

  const Outcome evaluated = train({"evaluate", box.dir(), "--json"});
  CHECK(json::parse(evaluated.out).at("metrics").at("test.accuracy") ==
        report.at("metrics").at("test.accuracy"));
  CHECK(train({"evaluate", box.dir(), "--part", "valid"}).out.find("valid.accuracy") !=
        std::string::npos);
}

TEST_CASE("export writes the weights that the run wrote, without the dataset") {
  const Sandbox box;
  REQUIRE(box.run({"--quiet"}).code == 0);
  fs::rename(box.dataset(), box.folder() / "elsewhere");
  const fs::path out = box.folder() / "again.safetensors";
  const Outcome best = train({"export", box.dir(), "--out", out, "--json"});
  REQUIRE_MESSAGE(best.code == 0, best.err);
  CHECK(json::parse(best.out).at("bytes").at("written") == fs::file_size(out));
  CHECK(read_all(out) == read_all(box.dir() / "weights.safetensors"));
  const std::string text = read_all(out);
  for (const char* part : {"layer0.own.weight", "layer1.neighbours.weight", "\"F32\"", "graphsage"})
    CHECK(text.find(part) != std::string::npos);
  CHECK(train({"export", box.dir(), "--checkpoint", "last", "--out", out}).code == 0);
  CHECK(train({"export", box.dir(), "--out", box.folder() / "weights.bin"}).code == 2);
  CHECK(train({"export", box.folder(), "--out", out}).code == 2);
}

TEST_CASE("dry-run shows config, memory and placement, and touches nothing") {
  const Sandbox box;
  const Outcome text = box.run({"--dry-run"});
  CHECK(text.code == 0);
  for (const char* part : {"[train]",
                           "batch_size = 16",
                           "windows",
                           "total",
                           "features in memory",
                           "25 mini-batches"}) {
    CAPTURE(part);
    CHECK(text.out.find(part) != std::string::npos);
  }
  const json dry = json::parse(box.run({"--dry-run", "--json"}).out);
  CHECK(dry.at("memory").at("least") <= dry.at("memory").at("budget"));
  CHECK(dry.at("memory").at("split").contains("windows"));
  CHECK_FALSE(fs::exists(box.dir()));
}

TEST_CASE("bad configs and budgets: clear errors, their exit codes, nothing made") {
  const Sandbox box;
  const Outcome key = box.run({"--json", "--set", "train.epoch=3"});
  CHECK(key.code == 2);
  CHECK(key.err.find("unknown key 'train.epoch' (from --set)") != std::string::npos);
  CHECK(key.err.find("did you mean 'epochs'?") != std::string::npos);
  CHECK(json::parse(key.out).at("error").at("code") == "usage");
  CHECK(box.run({"--set", "train.epochs=many"}).err.find("'train.epochs': expected integer") !=
        std::string::npos);
  const Outcome poor = box.run({"--set", "memory.host=1MiB"});
  CHECK(poor.code == 4);
  CHECK(poor.err.find("the run does not fit in [memory] host = 1 MiB; it needs\n") !=
        std::string::npos);
  CHECK(poor.err.find("set [memory] host to at least \"") != std::string::npos);
  CHECK(box.run({"--set", "dataset.path=" + (box.folder() / "no").string()}).code == 3);
  CHECK(box.run({"--set", "dataset.split=other"}).err.find("no split 'other'") !=
        std::string::npos);
  const Outcome huge = box.run({"--set", "memory.host=1000TiB"});
  CHECK(huge.code == 4);
  CHECK(huge.err.find("set [memory] host to at most") != std::string::npos);
  CHECK_FALSE(fs::exists(box.dir()));
}

TEST_CASE("predict writes the users' ids, as CSV and as NumPy records, whole or not at all") {
  const Sandbox box;
  REQUIRE(box.run({}).code == 0);
  const std::string csv = (box.folder() / "p.csv").string();
  const Outcome all = train({"predict", box.dir(), "--part", "all", "--out", csv, "--json"});
  REQUIRE_MESSAGE(all.code == 0, all.err);
  CHECK(json::parse(all.out).at("rows") == 2000);
  const std::string text = read_all(csv);
  CHECK(text.find("id,class\n0,") == 0);
  CHECK(std::count(text.begin(), text.end(), '\n') == 2001);
  const std::string npy = (box.folder() / "p.npy").string();
  CHECK(train({"predict", box.dir(), "--out", npy}).code == 0);
  CHECK(read_all(npy).find("'shape': (190,)") != std::string::npos);
  CHECK(train({"predict", box.dir(), "--out", (box.folder() / "p.txt").string()}).code == 2);
  const Outcome end = train({"predict", box.dir(), "--end", "source", "--out", csv});
  CHECK(end.code == 2);
  CHECK(end.err.find("--end says which end --top looks for") != std::string::npos);
  CHECK(end.err.find("add --top 10 for one") != std::string::npos);
  const Outcome none = train({"embed", box.dir(), "--learned", "--out", csv});
  CHECK(none.code == 2);
  CHECK(none.err.find("this run has no learned rows") != std::string::npos);
  CHECK(none.err.find(box.dir().string()) != std::string::npos);
  const std::string rows = (box.folder() / "rows.npy").string();
  const Outcome embedded = train({"embed", box.dir(), "--out", rows, "--json"});
  REQUIRE_MESSAGE(embedded.code == 0, embedded.err);
  const json told = json::parse(embedded.out);
  CHECK(told.at("rows") == 2000);
  REQUIRE(told.at("layers").size() == 3);
  CHECK(told.at("layers")[0].at("way") == "rows");
  CHECK(told.at("layers")[2].at("way") == "lists");
  CHECK(told.at("layers")[2].at("times_read") == 1);
  CHECK(read_all(rows).find("'shape': (2000,)") != std::string::npos);
  const Outcome deep = train({"embed", box.dir(), "--layer", "3", "--out", rows});
  CHECK(deep.code == 2);
  CHECK(deep.err.find("choose --layer from 0, the inputs, to 2") != std::string::npos);
  const Outcome exact = train({"evaluate", box.dir(), "--exact", "--json"});
  REQUIRE_MESSAGE(exact.code == 0, exact.err);
  CHECK(json::parse(exact.out).at("metrics").contains("test.accuracy"));
  CHECK(train({"predict", box.dir(), "--out", (box.folder() / "no/p.csv").string()}).code == 3);
  for (const auto& entry : fs::directory_iterator(box.folder())) {
    CHECK(entry.path().filename().string().find("partial") == std::string::npos);
  }
}

TEST_CASE("config init writes what run takes; doctor says what the machine offers") {
  const Sandbox box;
  const Outcome init = train({"config", "init", box.dataset()});
  REQUIRE(init.code == 0);
  const std::string path = (box.folder() / "made.toml").string();
  std::ofstream(path) << init.out;
  const Outcome run = train({"run",
                             path,
                             "--set",
                             "train.epochs=1",
                             "--set",
                             "memory.host=256MiB",
                             "--set",
                             "run.dir=" + box.dir().string(),
                             "--quiet"});
  CHECK(run.code == 0);
  CHECK(run.err.empty());
  CHECK(run.out.find("test.accuracy") != std::string::npos);

  const json doctor = json::parse(train({"doctor", "--dir", box.folder(), "--json"}).out);
  for (const char* key : {"cores", "memory", "libtorch", "engine", "folder"})
    CHECK(doctor.contains(key));
  CHECK(doctor.at("libtorch").at("mkl_cbwr") != "not set");
  CHECK(doctor.at("processor").at("least") == "sse4.2");
  for (const char* key : {"newest", "used"}) {
    const std::string isa = doctor.at("processor").at(key);
    CHECK((isa == "baseline" || isa == "avx2" || isa == "avx512"));
  }
  CHECK(doctor.at("folder").at("figures").size() == 7);
  CHECK(fs::exists(box.folder()));
}
