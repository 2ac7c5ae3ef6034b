# The workflow is workflow/Snakefile. An include brings its rules but not its default target.
include: "workflow/Snakefile"


rule default:
    default_target: True
    input:
        rules.all.input,
    localrule: True
