#!/usr/bin/env python3
"""Compares the options that zbench reads from public Megatron scripts with the commands that bash runs.

Usage: trainer-scripts.py FOLDER...   (checkouts of NVIDIA/Megatron-LM, ROCm/Megatron-LM, alibaba/Pai-Megatron-Patch)

The reference is bash itself in a chroot without a network, where every program is a function that records its
arguments. argparse then parses these arguments with the options that Megatron's arguments.py declares. A script gets
the arguments with which a README in its folder, or in a folder above, first calls it.
"""
import argparse
import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

# The options that zbench reads, with their types. Both sides must have equal values. Newer versions of Megatron
# generate these options from dataclasses, so arguments.py does not declare them.
KEYS = {
    "ddp_bucket_size": int, "ddp_num_buckets": int, "overlap_grad_reduce": bool, "overlap_param_gather": bool, "use_distributed_optimizer": bool,
    "ddp_pad_buckets_for_high_nccl_busbw": bool, "num_distributed_optimizer_instances": int, "expert_model_parallel_size": int,
    "pipeline_model_parallel_size": int, "bf16": bool, "fp16": bool, "grad_reduce_in_bf16": bool, "accumulate_allreduce_grads_in_fp32": bool,
    "fp8_param_gather": bool, "use_megatron_fsdp": bool, "use_custom_fsdp": bool, "use_torch_fsdp2": bool, "tensor_model_parallel_size": int,
    "expert_tensor_parallel_size": int, "make_vocab_size_divisible_by": int, "micro_batch_size": int, "global_batch_size": int, "seq_length": int,
    "context_parallel_size": int, "recompute_granularity": str, "optimizer": str, "num_layers_per_virtual_pipeline_stage": int,
    "decoder_first_pipeline_num_layers": int, "decoder_last_pipeline_num_layers": int,
}

ENV = r"""
command_not_found_handle() {
  printf '%s\0' "$#" "$@" >> /calls
  case $1 in srun|mpirun|docker|sudo|nohup|timeout)
    while [ $# -gt 0 ]; do case $1 in bash|sh|/bin/bash|/bin/sh) shift; bash "$@"; return;; esac; shift; done;;
    sh) shift; bash "$@";;
    sbatch) bash;;
    tee) while read -r; do :; done;;
  esac
  return 0
}
cd() { :; }
"""


def declared(folders):
    """Returns the options of all versions of arguments.py: (names, kind)."""
    found = {}
    for folder in folders:
        for base, _, files in os.walk(folder):
            for name in files:
                if name != "arguments.py":
                    continue
                try:
                    tree = ast.parse(open(os.path.join(base, name), encoding="utf8").read())
                except SyntaxError:
                    continue
                for node in ast.walk(tree):
                    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
                        names = [a.value for a in node.args if isinstance(a, ast.Constant) and str(a.value).startswith("-")]
                        words = {k.arg: k.value for k in node.keywords}
                        action = getattr(words.get("action"), "value", None)
                        nargs = getattr(words.get("nargs"), "value", None)
                        dest = getattr(words.get("dest"), "value", None)
                        for n in names:
                            found.setdefault(n, (action, nargs, dest))
    return found


def parser(folders):
    p = argparse.ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=True)
    for key, kind in KEYS.items():
        if kind is bool:
            p.add_argument("--" + key.replace("_", "-"), dest=key, action="store_true", default=None)
        else:
            p.add_argument("--" + key.replace("_", "-"), dest=key, type=kind, default=None)
    for name, (action, nargs, dest) in declared(folders).items():
        try:
            if action in ("store_true", "store_false"):
                p.add_argument(name, dest=dest or "_" + name, action=action, default=None)
            else:
                p.add_argument(name, dest=dest or "_" + name, nargs=nargs, default=None)
        except argparse.ArgumentError:
            pass  # the option is one of KEYS, or another version has declared it
    return p


def root():
    """Makes a folder that contains bash and nothing else."""
    top = tempfile.mkdtemp(prefix="oracle")
    for program in ["/bin/bash"]:
        libraries = re.findall(r"(/\S+)", subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout)
        for one in [program, *libraries]:
            to = top + one
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copy(one, to)
    open(top + "/env", "w").write(ENV)
    os.makedirs(top + "/work", exist_ok=True)
    os.makedirs(top + "/dev", exist_ok=True)
    open(top + "/dev/null", "w").close()
    for name in ["path", "some"]:  # scripts with <path to …> and <some …> where a name belongs
        open(top + "/work/" + name, "w").close()
    return top


def oracle(top, text, args, variables):
    """Returns the commands that bash runs."""
    open(top + "/work/script.sh", "w").write(text)
    open(top + "/calls", "w").close()
    env = {"PATH": "/bin", "BASH_ENV": "/env", **variables}
    run = ["/usr/bin/unshare", "-r", "-n", "/usr/sbin/chroot", top, "/bin/bash", "-c", 'builtin cd /work; exec bash script.sh "$@"', "x", *args]
    subprocess.run(run, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    words = open(top + "/calls", encoding="utf8").read().split("\0")
    calls, i = [], 0
    while i < len(words) - 1:
        n = int(words[i])
        calls.append(words[i + 1 : i + 1 + n])
        i += 1 + n
    return calls


def told(script, top):
    """Returns the arguments and the variables of the first call in a README."""
    name, folder = os.path.basename(script), os.path.dirname(script)
    while len(folder) >= len(top):
        for file in sorted(os.listdir(folder)):
            if not file.lower().endswith(".md"):
                continue
            text = open(os.path.join(folder, file), encoding="utf8").read().replace("\r", "")
            for m in re.finditer(r"^([^\n`]*?)\b(?:sh|bash)\s+(?:\S*/)?" + re.escape(name) + r"((?:[^\n]*\\[ \t]*\n)*[^\n]*)", text, re.M):
                try:
                    words = shlex.split(re.sub(r"\\[ \t]*\n", " ", m.group(2)), comments=True)
                except ValueError:
                    continue
                variables = dict(w.split("=", 1) for w in m.group(1).split() if re.match(r"^[A-Z_]+=", w))
                if words and not words[0].startswith("`"):
                    return [w for w in words if w not in ("&", "|")], variables
        folder = os.path.dirname(folder)
    return invented(script), {"WORKSPACE": "/w", "LOAD_NAME": "x", "LOAD_ITER": "1", "TOKENIZER_MODEL": "x"} if "clip" in name else {}


# VALUES are the arguments of scripts without a README, by the variable to which a script assigns them.
VALUES = {
    "ENV": "dsw", "TP": "2", "PP": "2", "CP": "1", "EP": "2", "ETP": "1", "PR": "bf16", "AC": "sel", "DO": "true", "FL": "true", "SP": "true", "TE": "true", "MOE": "false",
    "SFT": "false", "BATCH_SIZE": "1", "BS": "1", "GLOBAL_BATCH_SIZE": "16", "GBS": "16", "SEQ_LEN": "2048", "PAD_LEN": "2048", "LR": "1e-5", "MIN_LR": "1e-6",
    "SAVE_INTERVAL": "100", "TRAIN_TOKENS": "100000000", "WARMUP_TOKENS": "1000000", "TRAIN_ITERS": "1000", "LR_WARMUP_ITERS": "10", "EXTRA_VOCAB_SIZE": "0", "EPOCH": "1",
    "OPTIMIZER_OFFLOAD": "false", "PRETRAIN_CHECKPOINT_PATH": "none", "GA": "1", "NUM_LAYERS": "8", "TOP_K": "1", "TOP_P": "0.9", "NUM_EXPERTS": "8",
}


def invented(script):
    text = open(script, encoding="utf8").read()
    found = {int(n): name for name, n in re.findall(r"^\s*(?:export\s+)?(\w+)=[\"']?\$\{?(\d+)\}?", text, re.M)}
    args = []
    for n in range(1, max(found, default=0) + 1):
        name = found.get(n, "")
        tested = re.search(r"\[ *\$\{?" + name + r"\}? *==? *['\"]?([\w.-]+)", text) if name else None
        args.append(VALUES.get(name) or (tested.group(1) if tested else "x"))
    return args


def main():
    folders = [os.path.abspath(f) for f in sys.argv[1:]]
    jobs = []
    for folder in folders:
        for base, _, files in sorted(os.walk(folder)):
            for name in sorted(files):
                path = os.path.join(base, name)
                if name.endswith(".sh") and "--use-distributed-optimizer" in open(path, encoding="utf8", errors="replace").read():
                    args, variables = told(path, folder)
                    jobs.append({"file": path, "args": args, "set": variables, "text": open(path, encoding="utf8").read()})
    work = tempfile.mkdtemp()
    json.dump(jobs, open(work + "/jobs.json", "w"))
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    subprocess.run(["go", "test", "-vet=off", "-count=1", "./bench/job/trainer", "-run", "TestReadsGivenScripts", "-args", "-scripts", work + "/jobs.json"], cwd=here, check=True, stdout=subprocess.DEVNULL)
    readings = json.load(open(work + "/jobs.json.read"))
    options, top = parser(folders), root()
    tally = {}
    for job, reading in zip(jobs, readings):
        name = os.path.relpath(job["file"], os.path.commonpath(folders))
        calls = [c for c in oracle(top, job["text"], job["args"], job["set"]) if any(w.startswith("--use-d") or w == "--micro-batch-size" for w in c)]
        verdict, why = compare(options, calls, reading)
        tally[verdict] = tally.get(verdict, 0) + 1
        if verdict != "read" or "-v" in os.environ.get("VERBOSE", ""):
            print(verdict, name, why, "; args", job["args"])
    print(tally)
    sys.exit("different" in tally)


def compare(options, calls, reading):
    unset = {s["key"]: s["unset"] for s in reading.get("settings") or [] if s.get("unset")}
    notes = reading.get("notes") or []
    if reading.get("error"):
        return "refused", reading["error"]
    if not calls:
        return ("none in both", notes) if not reading.get("settings") else ("named" if any("not read" in n for n in notes) else "only in zbench", notes)
    argv = calls[-1]
    at = next((i for i, w in enumerate(argv) if w.endswith(".py") or w == "-m"), 0)
    rest, short = list(argv[at + 1 :]), []
    while True:
        try:
            want = vars(options.parse_known_args(rest)[0])
            break
        except argparse.ArgumentError as err:  # the script passes no value, because it got none
            if "invalid int value" in str(err):
                return "refused", [str(err), "by both: zbench says that it is not a number"]
            name = err.argument_name.split("/")[0]
            if name not in rest:
                return "argparse refuses", [str(err), notes]
            short.append(name)
            rest.remove(name)
    said = {}
    for s in reading.get("settings") or []:
        said[s["key"]] = s["value"]
    wrong = []
    for key, kind in KEYS.items():
        a, b = want.get(key), said.get(key)
        if key in unset and kind is not bool:
            b = None
            if "--" + key.replace("_", "-") not in short:
                wrong.append((key, "named without need", unset[key]))
        elif kind is bool and b is not None:
            b = b.lower() != "false"
        elif kind is int and b is not None:
            b = int(b) if b.isdigit() else b
        if a != b:
            wrong.append((key, "bash", a, "zbench", b, unset.get(key)))
    if wrong:
        return "different", wrong
    missing = {k: v for k, v in unset.items() if KEYS.get(k) in (int, str)}
    return ("read", notes) if not missing else ("read but for", missing)


if __name__ == "__main__":
    main()
