"""Which published files stand beside which table. No heavy import: the workflow reads it at parse time."""

#: Table -> files of resources/published it compares with.
TABLE_SOURCES: dict[str, tuple[str, ...]] = {
    "table1": ("dpauc_table1_rr.csv",),
    "table2": ("dpauc_table2_topk.csv",),
    "table3": ("dpauc_table3_score_noise.csv",),
    "table4": ("dpauc_table4_iid_vs_noniid.csv",),
    "table5": ("dpauc_table5_thresholds.csv",),
    "noisy": (),
    "training": ("dpauc_table1_rr.csv", "dpauc_table3_score_noise.csv"),
    "noise_free": ("dpauc_author_repo_outputs.csv",),
    "ablation": ("dpauc_table4_iid_vs_noniid.csv",),
    "gaussian": (),
    "budget": (),
    "leaks": (),
}
