"""Prints every job of a scale with what it asks for at three attempts, as JSON.

Called in a process of its own by test_workflow_scales.py: jobs_of_scale.py SNAKEFILE CONFIGFILE FOLDER.
"""

import json
import sys
from pathlib import Path

from snakemake.api import SnakemakeApi
from snakemake.settings.types import ConfigSettings, OutputSettings, Quietness, ResourceSettings


def asked(job, attempt):
    job.attempt = attempt
    job.reset_params_and_resources()
    wanted = ("mem_mb", "runtime", "gpu")
    return {name: job.resources.get(name, 0) for name in wanted} | {"threads": job.threads}


def main(snakefile, configfile, folder):
    quiet = OutputSettings(quiet={Quietness.ALL}, stdout=False)
    with SnakemakeApi(quiet) as api:
        workflow = api.workflow(
            resource_settings=ResourceSettings(cores=64),
            config_settings=ConfigSettings(configfiles=[Path(configfile)]),
            snakefile=Path(snakefile),
            workdir=Path(folder),
        )
        workflow.dag().execute_workflow(executor="dryrun")
        jobs = [
            {
                "rule": job.rule.name,
                "wildcards": dict(job.wildcards_dict),
                "script": job.format_wildcards(job.rule.script or ""),
                "local": job.rule.name in workflow._workflow._localrules,
                "inputs": len(job.input),
                "attempts": [asked(job, attempt) for attempt in (1, 2, 3)],
            }
            for job in workflow._workflow.dag.jobs
            if not job.rule.norun
        ]
    print("JOBS", json.dumps(jobs))


main(*sys.argv[1:])
