# What a reader gets: the page, the PDF, the crate.
import shutil

# Paths as the rules gave them: a module's prefix is added to what is composed anew.
FIGURES = [path for path in rules.figures.input if path.endswith(".png")]
VECTORS = [path for path in rules.figures.input if path.endswith(".pdf")]
TABLES = [path for path in rules.tables.input if path.endswith(".tex")]
OWN_TABLES = [path for path in rules.tables.input if path.endswith(".json")]
TEMPLATES = "src/leakmeter/reporting/templates"
HAS_LATEX = shutil.which("pdflatex") is not None

if workflow.is_main_process and not HAS_LATEX:
    print(
        "No pdflatex here: replication.pdf is left out, replication.tex is written. "
        "Debian: apt-get install texlive-latex-recommended",
        file=sys.stderr,
    )


rule page:
    """The page that says what was replicated."""
    input:
        claims=rules.claims.output.claims,
        errata=rules.claims.output.errata,
        measurements=MEASUREMENTS,
        provenance=rules.provenance.output.provenance,
        figures=FIGURES,
        tables=TABLES,
        own_tables=OWN_TABLES,
        captions=repo("resources/captions.yaml"),
        templates=[repo(f"{TEMPLATES}/page.{kind}") for kind in ("html", "css", "js")],
    output:
        page=f"results/{SCALE}/report/index.html",
    log:
        f"results/{SCALE}/logs/page.log",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("report/page"),
    message:
        "what was replicated: {output.page}"
    script:
        "../scripts/report/page.py"


rule replication_tex:
    input:
        claims=rules.claims.output.claims,
        provenance=rules.provenance.output.provenance,
        figures=VECTORS,
        tables=TABLES,
        captions=repo("resources/captions.yaml"),
        template=repo(f"{TEMPLATES}/replication.tex"),
    output:
        tex=f"results/{SCALE}/replication.tex",
        claims=f"results/{SCALE}/claims.tex",
    log:
        f"results/{SCALE}/logs/replication_tex.log",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("report/replication_tex"),
    message:
        "tables, figures and claims as one LaTeX document"
    script:
        "../scripts/report/replication_tex.py"


rule replication_pdf:
    input:
        tex=rules.replication_tex.output.tex,
        figures=VECTORS,
    output:
        pdf=f"results/{SCALE}/replication.pdf",
    log:
        f"results/{SCALE}/logs/replication_pdf.log",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("report/replication_pdf"),
    message:
        "compile {output.pdf}"
    script:
        "../scripts/report/replication_pdf.py"


REPORTED = [
    rules.page.output.page,
    *rules.replication_tex.output,
    *(rules.replication_pdf.output if HAS_LATEX else []),
]


rule crate:
    """The run as an RO-Crate."""
    input:
        files=[
            *rules.claims.output,
            *MEASUREMENTS,
            *FIGURES,
            *TABLES,
            *OWN_TABLES,
            *REPORTED,
        ],
        provenance=rules.provenance.output.provenance,
    output:
        crate=f"results/{SCALE}/ro-crate-metadata.json",
    log:
        f"results/{SCALE}/logs/crate.log",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("report/crate"),
    message:
        "RO-Crate of the run"
    script:
        "../scripts/report/crate.py"


rule report:
    """The page, the LaTeX document, its PDF where LaTeX is there, and the RO-Crate."""
    input:
        REPORTED,
        rules.crate.output,
    localrule: True
