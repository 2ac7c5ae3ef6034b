# Functions for the rule files; no rules here.
import json
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

REPO = Path(str(workflow.current_basedir)).resolve().parent.parent
SOURCE = REPO / "src"

# The library of this checkout, in whichever environment and folder the workflow runs.
sys.path.insert(0, str(SOURCE))

import yaml

from leakmeter.datasets.resolve import candidates, user_data_dirs
from leakmeter.dpauc.published import TABLE_SOURCES
from leakmeter.runtime import UserError
from leakmeter.workflow import (
    code_digest,
    complete_config,
    config_options,
    export_source,
    forgotten_folders,
    refuse_duplicate_keys,
    release_stale_lock,
)

export_source(SOURCE)

if Path("results").exists() and not Path("results").is_dir():
    raise WorkflowError(
        f"{Path('results').resolve()} is a file; results are written to a folder of that name"
    )

try:
    if workflow.is_main_process and release_stale_lock(Path.cwd()):
        print(
            "The last run here was killed; its lock is released and its jobs continue.",
            file=sys.stderr,
        )
except UserError as error:
    raise WorkflowError(str(error))


def repo(path):
    """Absolute path of a file of the repository, from whichever folder the workflow is run."""
    return str(REPO / path)


def published(name):
    """A file of published numbers."""
    return repo(f"resources/published/{name}")


def published_of(chain):
    """All files of published numbers of a chain."""
    folder = REPO / "resources" / "published"
    return sorted(str(path) for path in folder.glob(f"{chain}_*.csv"))


def claims_of(chain):
    """What is decided on the claims of a chain: claims, errata, counts of verdicts."""
    folder = f"results/{SCALE}/{chain}"
    return [f"{folder}/{name}.csv" for name in ("claims", "errata", "verdicts")]


def checked_config(config):
    """The configuration, checked and completed from the schema's defaults."""
    with open(repo("workflow/schemas/config.schema.yaml")) as handle:
        schema = yaml.safe_load(handle)
    try:
        for path in workflow.configfiles:
            refuse_duplicate_keys(path)
        return complete_config(config, schema)
    except UserError as error:
        raise WorkflowError(str(error))


def conf(path):
    """A value of the configuration by its dotted path, e.g. conf("dpauc.model")."""
    value = CONFIG
    for key in path.split("."):
        value = value[key]
    return value


def grow(amount):
    """A resource that doubles with every attempt: what ran out of memory or time comes back with more."""
    return lambda wildcards, attempt: amount * 2 ** (attempt - 1)


def code(script):
    """Digest of the library code behind workflow/scripts/<script>.py, for params (a helper's edit reruns the rule)."""
    return code_digest(REPO / "workflow" / "scripts" / f"{script}.py", SOURCE)


def data_dirs():
    """The user's data folders that are named: data.dir, then LEAKMETER_DATA."""
    folders = user_data_dirs(conf("data.dir"))
    for folder in folders:
        if not folder.is_dir():
            raise WorkflowError(
                f"{folder} is not a folder; data.dir or LEAKMETER_DATA names it"
            )
    return [str(folder) for folder in folders]


def own_file(path):
    """A file that the configuration names, checked now: Snakemake would go on with older results."""
    name = conf(path)
    if name and not Path(name).expanduser().is_file():
        raise WorkflowError(f"{path}: {name} is not a file")
    if name and set(name) & set("{}"):
        raise WorkflowError(
            f"{path}: {name} has braces, which Snakemake takes for wildcards; expected a name without"
        )
    return name and str(Path(name).expanduser())


def own_input(path):
    """The file of a key as a rule's input; without it the rule cannot run, so say what to set."""
    if not conf(path):
        raise WorkflowError(
            f"{path} is not set; name a file of yours (docs/bring-your-own.md)"
        )
    return own_file(path)


def own_kinds(keys):
    """The kinds of reports on the user's files that the configuration asks for."""
    for given, needed in (
        ("labelings.guesses", "labelings.auc"),
        ("labelings.auc", "labelings.guesses"),
        ("shapr.outputs", "shapr.features"),
    ):
        if conf(given) and not conf(needed):
            raise WorkflowError(f"{given} is set and {needed} is not; expected both")
    return [kind for kind, names in keys.items() if any(map(own_file, names))]


def own_asked(keys):
    """Refuse to do nothing when the user's files are asked for and none is named."""
    if not own_kinds(keys):
        named = ", ".join(name for names in keys.values() for name in names)
        raise WorkflowError(
            f"none of {named} is set; name a file of yours (docs/bring-your-own.md)"
        )
    return []


def user_files(dataset):
    """Files of a data set in the user's folders; as inputs, so that a new file reruns what depends on it."""
    return [
        str(path) for path in candidates(dataset, data_dirs(), mode=conf("data.mode"))
    ]


def warn_of_forgotten_folders():
    """Say before the run that genuine results are about to be replaced."""
    named = [
        *data_dirs(),
        *([conf("dpauc.criteo.file")] if conf("dpauc.criteo.file") else []),
    ]
    folders = forgotten_folders("results", named) if conf("data.mode") == "auto" else []
    if folders:
        print(
            f"WARNING: results here were made from your files in {', '.join(folders)}, which neither data.dir nor "
            "LEAKMETER_DATA names now: what depends on them will be made anew from downloads or stand-ins. "
            "To keep them, stop and set LEAKMETER_DATA again.",
            file=sys.stderr,
        )


def name_standins():
    """Say at the end of a run, where it is read, which data sets were stood in for."""
    record = Path(f"results/{SCALE}/provenance/provenance.json")
    data = json.loads(record.read_text())["data"] if record.is_file() else {}
    names = sorted(
        {
            entry.get("name", path)
            for path, entry in data.items()
            if entry.get("label") == "standin"
        }
    )
    if names:
        print(
            f"Generated STAND-INS were used for: {', '.join(names)}. The page says how to replace them.",
            file=sys.stderr,
        )


def refuse_scale(wildcards):
    """Results of another scale are asked for: say with which configuration they are made."""
    files = {"laptop": "config/config.yaml"}
    known = files.get(wildcards.other, f"config/{wildcards.other}.yaml")
    if not Path(repo(known)).is_file():
        raise WorkflowError(
            f"no configuration has scale {wildcards.other}; this run has scale {SCALE} and writes "
            f"results/{SCALE}/..."
        )
    raise WorkflowError(
        f"results/{wildcards.other}/... belongs to scale {wildcards.other}, this run has scale {SCALE}. "
        f"Add --configfile {known}"
    )


# --- inputs of the DPAUC chain


def dpauc_scores(wildcards):
    """What the measurements of an origin are made from."""
    if wildcards.origin == "authors":
        return [published("dpauc_roc_epoch0_reconstruction.csv")]
    return expand(f"{DPAUC}/predictions/model0_epoch{{epoch}}.parquet", epoch=EPOCHS)


def dpauc_meta(wildcards):
    """Preprocessing's record, which carries the label of the data."""
    return [] if wildcards.origin == "authors" else f"{DPAUC}/prepared/meta.json"


def dpauc_predictions(wildcards):
    """Predictions of every model, model by model."""
    if wildcards.origin == "authors":
        return []
    return [
        f"{DPAUC}/predictions/model{m}_epoch{e}.parquet" for m in MODELS for e in EPOCHS
    ]


def dpauc_published(wildcards):
    """Published numbers that an experiment compares with or takes its settings from."""
    files = {
        "ablation": ["dpauc_table4_iid_vs_noniid.csv", "dpauc_author_repo_outputs.csv"],
        "author_outputs": ["dpauc_author_repo_outputs.csv"],
    }
    return [published(name) for name in files.get(wildcards.experiment, [])]


def dpauc_printed(wildcards):
    """The published numbers that a table shows beside ours."""
    return [published(name) for name in TABLE_SOURCES[wildcards.table]]


def dpauc_settings(wildcards):
    """The part of the configuration that an experiment reads, of dpauc.sweeps and beside it."""
    sweeps = conf("dpauc.sweeps")
    own = {"ablation": {"level": conf("claims.level")}}
    return {key: sweeps[key] for key in EXPERIMENTS[wildcards.experiment]} | own.get(
        wildcards.experiment, {}
    )


# --- inputs of the chain beyond the papers


def beyond_scores(wildcards):
    """Scores of epoch 0, on which mechanisms are compared."""
    return dpauc_scores(wildcards)[:1]


# --- inputs of the SHAPr chain


def shapr_some(experiment):
    """The sets of an experiment that are among those of the run; with none of them it is not run."""
    return [n for n in conf(f"shapr.{experiment}.sets") if n in conf("shapr.sets")]


def shapr_pool(wildcards):
    """What decides which records of a set are used and how they are split."""
    many = wildcards.set in conf("shapr.many_shadow_sets")
    shadows = conf("shapr.many_shadow_models" if many else "shapr.shadow_models")
    return {
        "records": conf("shapr.records"),
        # the target and its complement; the complement is one more shadow model
        "models": shadows + 2,
        "flower_side": conf("shapr.flower_side"),
    }


def shapr_predictions(wildcards):
    """What the training jobs of a set wrote."""
    stem = f"{SHAPR}/predictions/{wildcards.set}"
    return [f"{stem}/{chunk}.npz" for chunk in range(conf("shapr.chunks"))]


# --- inputs of the audit chain


def audit_pool(wildcards):
    """Features of a setting's data set: cifar10_dp -> cifar10."""
    return f"{AUDIT}/pools/{wildcards.setting.split('_')[0]}.npz"


def audit_games(wildcards, step):
    """The part of audit.games that training for one setting reads."""
    dataset = wildcards.setting.split("_")[0]
    shared = ["models", "batch", "microbatch", "epsilon", "adjacency"]
    own = {
        "ranking": ["ranking_models", "ranking_size", "ranking_chunks"],
        "play": ["trials", "m", "worst_pairs", "replicates", "references", "chunks"],
    }
    games = conf("audit.games")
    return {key: games[key] for key in [*shared, *own[step]]} | {
        dataset: games[dataset],
        "training": {wildcards.setting: games["training"][wildcards.setting]},
    }


def audit_rankings(wildcards):
    """Losses of a setting's ranking models, part by part."""
    stem = f"{AUDIT}/rankings/{wildcards.setting}"
    return [
        f"{stem}/{chunk}.npz" for chunk in range(conf("audit.games.ranking_chunks"))
    ]


def audit_parts(wildcards):
    """What the jobs of a setting wrote, by kind."""
    stem = f"{AUDIT}/played/{wildcards.setting}"
    chunks = range(conf("audit.games.chunks"))
    return {
        kind: [f"{stem}/{chunk}.{kind}.parquet" for chunk in chunks]
        for kind in ("trials", "references", "accuracy")
    }


# --- inputs of the chain beyond the papers


def many_models(wildcards):
    """The many models of a set, if it is among those on which they are trained."""
    if wildcards.set not in BEYOND_RECORD_SETS:
        return {}
    return {"models": f"{BEYOND}/models/{wildcards.set}.npz"}
