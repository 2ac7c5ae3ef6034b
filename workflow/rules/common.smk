# Functions for the rule files; no rules here.
import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

REPO = Path(str(workflow.current_basedir)).resolve().parent.parent
SOURCE = REPO / "src"

# Jobs import leakmeter from this checkout, in whichever environment and folder they run.
sys.path.insert(0, str(SOURCE))
os.environ["PYTHONPATH"] = os.pathsep.join(
    dict.fromkeys([str(SOURCE), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))])
)

import yaml

from leakmeter.datasets.resolve import candidates, user_data_dirs
from leakmeter.runtime import UserError
from leakmeter.workflow import code_digest, complete_config, release_stale_lock

if workflow.is_main_process and release_stale_lock(Path.cwd()):
    print("The last run here was killed; its lock is released and its jobs continue.", file=sys.stderr)


def repo(path):
    """Absolute path of a file of the repository, from whichever folder the workflow is run."""
    return str(REPO / path)


def published(name):
    """A file of published numbers."""
    return repo(f"resources/published/{name}")


def checked_config(config):
    """The configuration, checked and completed from the schema's defaults."""
    with open(repo("workflow/schemas/config.schema.yaml")) as handle:
        schema = yaml.safe_load(handle)
    try:
        return complete_config(config, schema)
    except UserError as error:
        raise WorkflowError(str(error))


def conf(path):
    """A value of the configuration by its dotted path, e.g. conf("dpauc.model")."""
    value = CONFIG
    for key in path.split("."):
        value = value[key]
    return value


def code(script):
    """Digest of the library code behind workflow/scripts/<script>.py, for params (a helper's edit reruns the rule)."""
    return code_digest(REPO / "workflow" / "scripts" / f"{script}.py", SOURCE)


def data_dirs():
    """The user's data folders that are named: data.dir, then LEAKMETER_DATA."""
    return [str(folder) for folder in user_data_dirs(conf("data.dir"))]


def user_files(dataset):
    """Files of a data set in the user's folders; as inputs, so that a new file reruns what depends on it."""
    return [str(path) for path in candidates(dataset, data_dirs(), mode=conf("data.mode"))]


def refuse_scale(wildcards):
    """Results of another scale are asked for: say with which configuration they are made."""
    files = {"laptop": "config/config.yaml"}
    known = files.get(wildcards.other, f"config/{wildcards.other}.yaml")
    raise WorkflowError(
        f"results/{wildcards.other}/... belongs to scale {wildcards.other}, this run has scale {SCALE}. "
        f"Add --configfile {known}"
    )
