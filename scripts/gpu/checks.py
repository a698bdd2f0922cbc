"""What is run on the GPU once it is built: tests, benchmarks, epochs, compute-sanitizer. Figures go into the report."""

import html
import json
import os
import re
import shutil
import subprocess
import threading

from gpu import machine

GRAPH = {"--nodes": "2000000", "--edges": "16000000", "--features": "128", "--classes": "16", "--signal": "1.5",
         "--train": "0.1", "--valid": "0.005", "--test": "0.005"}
EPOCHS = """dataset.path = "{graph}"
storage.features = "disk"
memory.host = "1GiB"
sampler.fanout = [15, 10]
eval.fanout = [15, 10]
run.dir = "{run}"
model = {{ type = "graphsage", layers = 2, hidden = 256 }}
[train]
device = "cuda"
epochs = 3
batch_size = 1024
"""
UMLS_MRR = 0.9  # of the test links, filtered
# What is trained for a few epochs, twice on the GPU and once on the CPU: data, graph, the beginning of the configs' names, models, the
# metric that is compared and by how much it may differ, and keys. Of UCI an epoch, and its test by one random destination an event:
# ranks take minutes on a CPU.
BESIDE_CPU = {
    "temporal": ("uci", "uci-graph.toml", "uci", ("tftgn", "tgn", "tpnet"), "test.ap", 0.02,
                 {"train.epochs": 1, "task.ranked": 0, "task.eval_negatives": '["random"]'}),
    "types": ("acm", "acm-graph.toml", "acm", ("rgcn", "hgt", "bghgnn"), "test.f1_micro", 0.05, {"train.epochs": 20}),
    "labelless": ("cora", "cora-graph.toml", "cora", ("gcmae",), "test.accuracy", 0.05, {"train.epochs": 20}),
}
ROWS, TABLE = 25_600_000, 256_000_000  # floats of a mini-batch, and of the table that it is gathered from
SANITIZERS = ("memcheck", "racecheck", "initcheck", "synccheck")
SKIPPED = 77  # exit code of a test program that has no GPU


def as_json(line):
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def last_json(output):
    return next((value for value in map(as_json, reversed(output.splitlines())) if value), None)


def doctest_cases(output):
    """{case: passed, failed or unfinished, with its seconds} of doctest's XML, also of one that breaks off."""
    cases = {}
    for part in re.split(r"<TestCase (?=name=)", output)[1:]:
        name = re.match(r'name="([^"]*)"', part)
        verdict = re.search(r'<OverallResultsAsserts [^>]*?test_case_success="(\w+)"(?: duration="([-+.e\d]+)")?', part)
        passed = verdict and {"true": "passed"}.get(verdict[1], "failed")
        cases[html.unescape(name[1])] = {"result": passed or "unfinished",
                                         "seconds": float(verdict[2]) if verdict and verdict[2] else None}
    return cases


class Load:
    """nvidia-smi's utilisation, sampled while something else runs."""

    def __init__(self):
        self.samples, self.done = [], threading.Event()
        self.thread = threading.Thread(target=self.sample)

    def __enter__(self):
        if shutil.which("nvidia-smi"):
            self.thread.start()
        return self

    def sample(self):
        while not self.done.wait(0.2):
            said = machine.said_by("nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", limit=5)
            if said.strip().isdigit():
                self.samples.append(int(said))

    def __exit__(self, *_):
        self.done.set()
        if self.thread.ident is not None:
            self.thread.join()

    def mean(self):
        """Over the time the GPU had anything to do at all: start-up is left out."""
        active = [share for share in self.samples if share > 0]
        return round(sum(active) / len(active), 1) if active else None


class Checks:
    def __init__(self, build, runner, has_gpu):
        self.build, self.runner, self.report, self.has_gpu = build, runner, runner.report, has_gpu

    def run(self, name, program, arguments, limit, more=None):
        """One of our programs. With a GPU, a test that would skip itself fails."""
        environment = self.build.environment() | (more or {})
        if self.has_gpu:
            environment["SLUICE_REQUIRE_GPU"] = "1"
        return self.runner.run(name, [self.build.program(program), *arguments], limit, environment)

    def judge(self, name, outcome):
        """Whether it passed; says what else."""
        if outcome.late:
            self.report.unfinished(f"{name}: out of time")
        elif outcome.code != 0:
            self.report.fail(f"{name}: exit code {outcome.code}")
        return outcome.code == 0

    def no_gpu(self, name):
        if not self.has_gpu:
            self.report.skip(f"{name}: no GPU")
        return not self.has_gpu

    def tests(self, name, program, cases, limit):
        """A doctest program, case by case as its XML says while it runs."""
        only = [f"-tc={cases}"] if cases else []
        outcome = self.run(name, f"tests/{program}", ["--reporters=xml", "--duration=true", *only], limit)
        found = doctest_cases(outcome.output)
        self.report.fields.setdefault("tests", {})[program] = found
        if outcome.code == SKIPPED:
            why = re.search(r"^skipped: .*", outcome.output, re.MULTILINE)
            return self.report.skip(f"{name}: {why[0] if why else 'by itself'}")
        for case, row in found.items():
            if row["result"] == "failed":
                self.report.fail(f"{name}: {case}")
        if self.judge(name, outcome) and not found:
            self.report.fail(f"{name}: ran no test")
        return None

    def parity(self, cases, limit=240):
        self.tests("device test", "gpu_device_test", cases, limit)

    def training(self, cases, limit=400):
        self.tests("training test", "gpu_training_test", cases, limit)
        with open(f"{self.runner.logs}/training-test.log", encoding="utf-8", errors="replace") as file:
            said = file.read()
        cora = dict(re.findall(r"cora (\w+) on the GPU: test.accuracy ([\d.]+)", said))
        self.report.fields["cora"] = {model: float(accuracy) for model, accuracy in cora.items()}
        self.report.fields["umls"] = [float(mrr) for mrr in re.findall(r"umls complex on the GPU: test.mrr ([\d.]+)", said)]
        done = self.report.fields["tests"]["gpu_training_test"]
        case = next((row for name, row in done.items() if "Cora" in name), None)
        if not self.build.has_data("cora"):
            self.report.skip("Cora: the pack has no data/cora")
        elif case and case["result"] == "passed" and not cora:
            self.report.fail("Cora: the pack has it, and no model was trained on it")

    def imported(self, name, graph):
        """A graph of the pack as a dataset; its folder, or None where that did not go."""
        if self.no_gpu(name):
            return None
        if not self.build.has_data(name):
            return self.report.skip(f"{name}: the pack has no data/{name}")
        data = f"{self.build.folder}/{name}"
        made = self.run(f"import {name}", "sluice-prep", ["import", "--config", f"configs/{graph}", "--root",
                                                         f"{self.build.data()}/{name}", "--overwrite", "--out", data], 60)
        return data if self.judge(f"import {name}", made) else None

    def trained(self, name, config, sets, limit):
        """The report of a config's run; None where that did not go."""
        sets = {"run.dir": f"{self.runner.logs}/{name.replace(' ', '-')}", **sets}
        flags = [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]
        outcome = self.run(f"train {name}", "sluice-train", ["run", f"configs/{config}", "--overwrite", "--json", *flags], limit)
        if not self.judge(f"train {name}", outcome):
            return None
        report = last_json(outcome.output)
        return report if report is not None else self.report.fail(f"{name}: no report")

    def learned_rows(self, name, graph, config, more, limit):
        """Imports a graph of the pack and trains a config of it; its report, or None where that did not go."""
        data = self.imported(name, graph)
        if data is None:
            return None
        with Load() as load:
            report = self.trained(name, config, {"train.device": "cuda", "dataset.path": data, **more}, limit)
        if report is None:
            return None
        epochs, metrics = report["seconds"]["epochs"], report["metrics"]
        self.report.fields.setdefault("embeddings", {})[name] = {
            "config": config, "epochs": report["epochs"], "seconds_an_epoch": sorted(epochs)[len(epochs) // 2],
            "seconds": report["seconds"], "test.mrr": metrics.get("test.mrr"), "test.hits@10": metrics.get("test.hits@10"),
            "gpu_load_percent": load.mean(), "device": report["device"]}
        if not report["device"].get("learned_rows"):
            self.report.fail(f"{name}: its rows were not kept on the GPU")
        return report

    def umls(self, limit=150):
        report = self.learned_rows("umls", "umls-graph.toml", "umls-complex.toml", {}, limit)
        if report and not report["metrics"]["test.mrr"] >= UMLS_MRR:
            self.report.fail(f"umls: test.mrr {report['metrics']['test.mrr']} is below {UMLS_MRR}")

    def wn18rr(self, epochs, limit=420):
        """A measurement: so few epochs are not what the config reaches."""
        self.learned_rows("wn18rr", "wn18rr-typed-graph.toml", "wn18rr-complex.toml", {"train.epochs": epochs}, limit)

    def beside_cpu(self, step, limit=150):
        """Models of a row of BESIDE_CPU: the same bits twice on the GPU, and about the CPU's metric."""
        name, graph, prefix, models, metric, tolerance, sets = BESIDE_CPU[step]
        data = self.imported(name, graph)
        if data is None:
            return
        for model in models:
            if self.runner.left() < 20:
                self.report.unfinished(f"{name} {model}: no time")
                continue
            self.model_beside_cpu(step, (f"{name} {model}", f"{prefix}-{model}.toml", metric, tolerance), {"dataset.path": data, **sets}, limit)

    def model_beside_cpu(self, step, what, sets, limit):
        name, config, metric, tolerance = what
        runs = {}
        for side, device in (("once", "cuda"), ("again", "cuda"), ("cpu", "cpu")):
            runs[side] = self.trained(f"{name} {side}", config, {**sets, "train.device": device}, limit)
            if runs[side] is None:
                return
        reached = {side: report["metrics"].get(metric) for side, report in runs.items()}
        self.report.fields.setdefault(step, {})[name.split()[1]] = {
            metric: reached["once"], f"{metric} on the CPU": reached["cpu"],
            "seconds_an_epoch": {side: report["seconds"]["epochs"][-1] for side, report in runs.items()},
            "device": runs["once"]["device"]}
        if runs["once"]["device"].get("kind") != "cuda":
            self.report.fail(f"{name}: ran on {runs['once']['device'].get('kind')}")
        if runs["once"]["weights_xxh3"] != runs["again"]["weights_xxh3"] or reached["once"] != reached["again"]:
            self.report.fail(f"{name}: not the same bits twice")
        if None in reached.values() or abs(reached["once"] - reached["cpu"]) > tolerance:
            self.report.fail(f"{name}: {metric} {reached['once']} on the GPU, {reached['cpu']} on the CPU")

    def doctor(self):
        """What sluice-train itself says of io_uring and the GPU; and which CUDA runtimes the process loads for it."""
        trace = f"{self.runner.logs}/loaded"
        outcome = self.run("doctor", "sluice-train", ["doctor", "--json", "--dir", self.build.folder], 60,
                           {"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": trace})
        said = last_json(outcome.output)
        if not self.judge("doctor", outcome) or said is None:
            return
        inits = set()
        for name in os.listdir(self.runner.logs):
            if name.startswith("loaded."):
                with open(f"{self.runner.logs}/{name}", encoding="utf-8", errors="replace") as file:
                    inits |= set(re.findall(r"calling init: (\S*(?:libcudart|libtorch_cuda\.so)\S*)", file.read()))
        self.report.fields["doctor"] = said | {"loaded": sorted(inits)}
        runtimes = [path for path in inits if "libcudart" in path]
        if len(runtimes) > 1:
            self.report.fail(f"doctor: two CUDA runtimes in one process: {' '.join(sorted(runtimes))}")

    def gpu(self, dims, limit=150):
        """What a GPU does with mini-batches on their way to it, for rows of each width."""
        if self.no_gpu("bench"):
            return
        for dim in dims:
            sizes = ["--dim", str(dim), "--rows", str(ROWS // dim), "--table", str(TABLE // dim)]
            outcome = self.run(f"bench {dim}", "bench/gpu", sizes, limit)
            lines = [line for line in map(as_json, outcome.output.splitlines()) if line]
            self.report.fields.setdefault("bench", {})[str(dim)] = lines
            if self.judge(f"bench {dim}", outcome) and not lines:
                self.report.fail(f"bench {dim}: printed no figures")

    def epochs(self):
        """Epochs over a generated graph whose features are on disk, with the GPU's load sampled from outside."""
        if self.no_gpu("epochs"):
            return
        graph, run_dir = f"{self.build.folder}/graph", f"{self.runner.logs}/run"
        flags = [word for pair in GRAPH.items() for word in pair]
        made = self.run("graph", "sluice-prep", ["generate", "sbm", *flags, "--overwrite", "--out", graph], 150)
        if not self.judge("graph", made):
            return
        config = f"{self.runner.logs}/epochs.toml"
        with open(config, "w", encoding="utf-8") as file:
            file.write(EPOCHS.format(graph=graph, run=run_dir))
        for name, hashing in (("hashed", "true"), ("gathered", "false")):
            with Load() as load:
                outcome = self.run(f"epochs {name}", "sluice-train",
                                   ["run", config, "--overwrite", "--json", "--set", f"train.hash_batches={hashing}"], 150)
            report = last_json(outcome.output)
            if not self.judge(f"epochs {name}", outcome):
                continue
            with open(f"{run_dir}/metrics.jsonl", encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
            self.report.fields.setdefault("epochs", {})[name] = {
                "seeds_per_second": [line["seeds_per_second"] for line in lines], "bound": lines[-1]["bound"],
                "gpu_load_percent": load.mean(), "report": report}
        shutil.rmtree(graph, ignore_errors=True)

    def sanitize(self, limit=100):
        if self.no_gpu("sanitizer"):
            return
        tool = machine.cuda_tool("compute-sanitizer")
        if tool is None:
            self.report.skip("sanitizer: compute-sanitizer is not installed")
            return
        # Asking for too much memory, as a test does on purpose, is no error; nor is what LibTorch asks of a GPU to begin with.
        test = [self.build.program("tests/gpu_device_test"), "-tce=more memory*"]
        said = self.report.fields["sanitizer"] = {}
        for kind in SANITIZERS:
            if self.runner.left() < 20:
                self.report.unfinished(f"sanitizer {kind}: no time")
                continue
            api = ["--report-api-errors", "no"] if kind == "memcheck" else []
            outcome = self.runner.run(f"sanitizer {kind}", [tool, "--tool", kind, *api, "--error-exitcode", "86", *test], limit,
                                      self.build.environment() | {"SLUICE_REQUIRE_GPU": "1"})
            refused = re.search(r"Device not supported|LibraryNotLoaded|not supported", outcome.output)
            summary = re.search(r"(?:ERROR|RACECHECK) SUMMARY: .*", outcome.output)
            said[kind] = summary[0] if summary else None
            if refused:
                said[kind] = f"refused by this machine: {refused[0]}"
                self.report.skip(f"sanitizer {kind}: {said[kind]}")
            elif self.judge(f"sanitizer {kind}", outcome) and not summary:
                self.report.fail(f"sanitizer {kind}: gave no summary")
