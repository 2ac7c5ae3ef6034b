from leakmeter.runtime import provenance, read_json, script, write_json

with script(snakemake):
    record = provenance(
        config=snakemake.params.config,
        configured=snakemake.params.configured,
        data={path: read_json(path) for path in snakemake.input.data},
        threads=snakemake.params.config["threads"],
    )
    write_json(snakemake.output.provenance, record)
