# Raw data: found, downloaded or generated, once for all scales.
CRITEO = conf("dpauc.criteo.dataset")
CRITEO_RAW = f"results/prepared/criteo/{CRITEO}-{conf('dpauc.criteo.standin_rows')}"


rule criteo_source:
    input:
        user=conf("dpauc.criteo.file") or user_files(CRITEO),
    output:
        raw=f"{CRITEO_RAW}/raw",
        resolution=f"{CRITEO_RAW}/source.json",
    log:
        f"{CRITEO_RAW}/criteo_source.log",
    benchmark:
        f"{CRITEO_RAW}/criteo_source.jsonl"
    conda:
        "../../environment.yml"
    threads: 2
    resources:
        mem_mb=3000,
        runtime=240,
    params:
        code=code("data/criteo_source"),
        threads_fixed=conf("threads"),
        dataset=CRITEO,
        file=conf("dpauc.criteo.file"),
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
