# Raw data: found, downloaded or generated, once for all scales.
CRITEO = conf("dpauc.criteo.dataset")
CRITEO_RAW = f"results/prepared/criteo/{CRITEO}-{conf('dpauc.criteo.standin_rows')}"

if workflow.is_main_process:
    warn_of_forgotten_folders()


rule criteo_source:
    input:
        user=own_file("dpauc.criteo.file") or user_files(CRITEO),
    output:
        raw=f"{CRITEO_RAW}/raw",
        resolution=f"{CRITEO_RAW}/source.json",
    log:
        f"{CRITEO_RAW}/criteo_source.log",
    benchmark:
        f"{CRITEO_RAW}/criteo_source.jsonl"
    conda:
        "../../environment.yml"
    threads: conf("threads")
    resources:
        mem_mb=grow(3000),
        runtime=grow(240),
    params:
        code=code("data/criteo_source"),
        threads_fixed=conf("threads"),
        dataset=CRITEO,
        file=own_file("dpauc.criteo.file"),
        mode=conf("data.mode"),
        cache=conf("data.cache"),
        timeout=conf("data.timeout"),
        data_dirs=data_dirs(),
        rows=conf("dpauc.criteo.standin_rows"),
        seed=conf("seed"),
    message:
        "raw click logs: {params.dataset}, data mode {params.mode}"
    script:
        "../scripts/data/criteo_source.py"


# The audit's sets, found or downloaded; a stand-in is generated where its features are made.
rule audit_source:
    input:
        user=lambda wildcards: user_files(wildcards.dataset),
    output:
        resolution="results/prepared/audit/{dataset}/source.json",
    log:
        "results/prepared/audit/{dataset}/audit_source.log",
    benchmark:
        "results/prepared/audit/{dataset}/audit_source.jsonl"
    wildcard_constraints:
        dataset="cifar10|sst2",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(2000),
        runtime=grow(120),
    params:
        code=code("data/audit_source"),
        mode=conf("data.mode"),
        cache=conf("data.cache"),
        timeout=conf("data.timeout"),
        data_dirs=data_dirs(),
    message:
        "{wildcards.dataset}: data mode {params.mode}"
    script:
        "../scripts/data/audit_source.py"
