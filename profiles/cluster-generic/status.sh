#!/bin/sh
# status.sh JOB: prints running, success or failed, as Snakemake's cluster-generic executor wants it.
# A job that the scheduler does not know (yet, or any more) is running; after 30 such answers failed.
state=$(scontrol --oneliner show job "$1" 2>/dev/null | sed -n 's/.*JobState=\([A-Z_]*\).*/\1/p')
[ -n "$state" ] || state=$(sacct -n -X -P -j "$1" -o State 2>/dev/null | sed -n '1s/ .*//p')
case "$state" in
    COMPLETED) echo success ;;
    PENDING | CONFIGURING | RUNNING | COMPLETING | SUSPENDED | REQUEUED | STAGE_OUT) echo running ;;
    "")
        unknown=.snakemake/cluster_unknown
        mkdir -p "$unknown"
        echo unknown >>"$unknown/$1"
        if [ "$(wc -l <"$unknown/$1")" -gt 30 ]; then echo failed; else echo running; fi
        ;;
    *) echo failed ;;
esac
