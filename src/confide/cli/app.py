"""The application that commands register with, and the options that several of them have."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Intervals for individual outcomes and effects, with the coverage each promises under hidden confounding.",
)
# Named, and not left to the model, so that a declared analysis names it.
DEFAULT_METHOD = "prognostic"
Observational = Annotated[
    str,
    typer.Option(
        help="The large observational table: CSV, Parquet or Arrow; - is stdin. Of Parquet, also a folder or "
        "a pattern like 'table/*.parquet'."
    ),
]
TrainRows = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Most rows of a Parquet table that models learn from, drawn at random; by default as many as --memory "
        "allows.",
    ),
]
AllRows = Annotated[
    bool,
    typer.Option(
        "--all-rows", help="Learn from every row of a Parquet table, by batches, however many: with --base lightgbm."
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        help="Memory to keep to: it bounds the rows of a Parquet table that models learn from; by default 8GB."
    ),
]
Trial = Annotated[str, typer.Option(help="The randomised trial, with the same columns.")]
Treatment = Annotated[str, typer.Option(help="Column of the treatment.")]
Outcome = Annotated[str, typer.Option(help="Column of the outcome.")]
Identifiers = Annotated[
    list[str] | None, typer.Option("--id", help="Identifier: copied to the output and never a covariate; repeatable.")
]
Categories = Annotated[
    list[str] | None,
    typer.Option("--category", help="Column that is a category although its values look like numbers; repeatable."),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--sep", help="Separator of CSV files, read and written; by default recognised from their first line."
    ),
]
Decimal = Annotated[str, typer.Option(help="Decimal point of CSV files, read and written: . or ,")]
Encoding = Annotated[
    str | None,
    typer.Option(help="Encoding of CSV files that are not UTF-8, such as latin-1; those that are, are read as such."),
]
Covariates = Annotated[
    str | None, typer.Option(help="Columns that are covariates, such as age,sex; by default all that both tables have.")
]
Method = Annotated[str | None, typer.Option(help="One of `confide methods`; the default is confide's own.")]
Base = Annotated[
    str | None,
    typer.Option(help="Base model: auto, constant, linear, ridge, boosting, lightgbm or forest; by default auto."),
]
ConformityScore = Annotated[
    str | None,
    typer.Option(
        help="absolute, normalised or cqr; with the last two, widths follow how hard outcomes are to predict. "
        "prognostic and transfer-centred take absolute only."
    ),
]
Control = Annotated[
    str | None, typer.Option(help="Treatment that the others are compared with; by default the first in order.")
]
OtherControl = Annotated[
    str | None, typer.Option(help="Treatment that the others are compared with; by default that of the saved model.")
]
Alpha = Annotated[float, typer.Option(help="Miscoverage level: 0.1 for 90 % intervals.")]
Assignment = Annotated[
    str | None,
    typer.Option(help="Column of the trial: the probability of the treatment received, if it was not one for all."),
]
Cluster = Annotated[
    str | None, typer.Option(help="Column of the trial: what its people share, such as a school or a site.")
]
Target = Annotated[
    str | None,
    typer.Option(help="Whom you ask about: a file with their covariates, or observational; by default the trial's."),
]
Group = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        help="Covariate, or comparison such as 'age > 70', in each of whose groups the promise holds; repeatable.",
    ),
]
Gamma = Annotated[
    float, typer.Option(help="How many times as frequent as in the trial people may be, for unknown reasons.")
]
Side = Annotated[str, typer.Option(help="Ends of intervals: both, or lower or upper for a bound on one side.")]
LowerIsBetter = Annotated[
    bool | None,
    typer.Option(
        "--lower-is-better/--higher-is-better",
        help="Which outcome the report calls the better one; by default neither.",
    ),
]
OutcomeLabel = Annotated[
    str | None, typer.Option(help="What the report calls the outcome; by default as its column is called.")
]
Unit = Annotated[str | None, typer.Option(help="Unit of the outcome in the report, such as days.")]
TreatmentLabel = Annotated[
    list[str] | None,
    typer.Option(help="What the report calls a treatment, such as 1=coupon; repeatable."),
]
By = Annotated[
    list[str] | None,
    typer.Option(
        help="In the report average effects also by this covariate, or by a comparison such as 'age > 70'; "
        "repeatable, each by itself; sex,'age > 70' in one crosses them."
    ),
]
Above = Annotated[
    float | None, typer.Option(help="In the report choose people whose outcome is above this value (confide select).")
]
Below = Annotated[
    float | None, typer.Option(help="In the report choose people whose outcome is below this value (confide select).")
]
Fdr = Annotated[float | None, typer.Option(help="False discovery rate of that choice; by default 0.1.")]
Under = Annotated[
    str | None,
    typer.Option(help="Treatment under which that outcome is meant; by default the first that is not the control."),
]
OtherAlpha = Annotated[float | None, typer.Option(help="Another level than the model's.")]
Trust = Annotated[
    list[str] | None, typer.Option(help="Full name of a type that the model's file may hold; repeatable.")
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Decides everything random.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
