"""The defects that fuzzers, faults, attacks and walks of new users have found, and what was done about each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Found:
    """A defect: what found it, what was wrong, and what was done."""

    by: str
    what: str
    done: str


FOUND = [
    Found(
        "tables",
        "Treatments that are integers from 2**53 on were read as floats: two treatments became one arm, silently. A "
        "treatment 1e300 became -2**63.",
        "refused, with the remedy: declare the treatment a category, and labels are compared as text",
    ),
    Found(
        "tables",
        "Timestamps in seconds that are too far away for microseconds wrapped around, silently.",
        "refused by name",
    ),
    Found(
        "tables",
        "A new row's typed booleans were taken for numbers 0 and 1 in a column fitted on numbers; as text they were "
        "refused.",
        "refused in every format",
    ),
    Found(
        "tables",
        "Numbers around 1e300 overflowed in squares: the user saw scikit-learn's text on missing values, or a "
        "warning on an overflow.",
        "numbers beyond 1e100 are refused, in covariates and outcomes",
    ),
    Found("tables", "Unsigned integers from 2**63 on were an error of pyarrow.", "read as numbers"),
    Found(
        "tables",
        "Two columns of one name in a frame were an error of narwhals, of two lines.",
        "one line that names the column",
    ),
    Found(
        "tables",
        "A NUL character in a column's name ended the process inside polars.",
        "refused before polars is asked for its rows",
    ),
    Found(
        "tables",
        "Views of text (polars writes them) and half-precision floats in a Parquet table that is read by batches were "
        "errors of pyarrow.",
        "read like text and numbers",
    ),
    Found(
        "tables",
        "Messages repeated cells, labels and lists of columns of any length.",
        "values are cut at 80 characters, lists at 20 names",
    ),
    Found(
        "commands",
        "`--encoding rot13`, which Python knows but not as an encoding of text, was a traceback.",
        "refused, with encodings to try",
    ),
    Found(
        "commands",
        "A word of 5,000 characters came back whole in the message.",
        "words of messages are cut at 300 characters",
    ),
    Found(
        "tables",
        "Outcomes of the size 1e-301 were learnt from with a wrong penalty, since squares of errors were 0: intervals "
        "were up to nine times as wide as in another unit, silently. Ranks, and so the promise, were not touched.",
        "outcomes that are all smaller than 1e-100 are refused, with the remedy: change the unit",
    ),
    Found(
        "tables",
        "A column whose name has a line break made a refusal of two lines.",
        "one line: the name is quoted where it is part of the remedy too",
    ),
    Found(
        "tables",
        "Predictions around 1e200, from a column that has almost no spread in the observational table, gave a warning "
        "of numpy on an overflow.",
        "the share that they explain is -inf, without a warning",
    ),
    Found(
        "faults",
        "Ctrl-C in the first half second, while commands are imported or made, was a traceback.",
        "one line, from the first line of confide's own code on",
    ),
    Found(
        "faults",
        "Ctrl-C at the moment at which a library makes a class was a traceback with Python 3.11, which raises another "
        "error there.",
        "one line",
    ),
    Found(
        "faults",
        "Where no byte can be written, commands showed warnings of joblib, with lines of its code, above the message.",
        "one line; in `reproduce` warnings are notes too, as in the other commands",
    ),
    Found(
        "models",
        "A forged model with lost parts was loaded, and `confide predict` ended in a traceback.",
        "one line that names the file; likewise `select` and `report`",
    ),
    Found("models", "A refusal quoted the address of an object in memory.", "left out"),
    Found(
        "models",
        "Six of 10,000 forged models were refused in Python's words on None and its attributes.",
        "a sentence of our own: one of its values is missing",
    ),
    Found(
        "attack: designs",
        "Probabilities of treatments as a pandas Series, given to `predict_effect_interval`, were an error of pandas.",
        "read like any other vector",
    ),
    Found(
        "attack: designs",
        "A covariate that is the same for everybody changed the answers of `prognostic`: it counted in the penalty of "
        "ridge on the trial's covariates.",
        "it counts no more",
    ),
    Found(
        "attack: designs",
        "A bound with one end was said to be nearer than that of an interval with two. With the default, which chooses "
        "its candidate anew for one side, it is farther for some people (316 of 2,400), though nearer on average.",
        "the documentation says for whom it holds; the promise of coverage was never touched",
    ),
    Found(
        "attack: designs",
        "`LargeTable` with a path in place of a dataset ended in an AttributeError when the table was stacked.",
        "refused, with the call that is meant",
    ),
    Found(
        "attack: tables",
        "Lines that end with a carriage return alone, as old spreadsheets write them, were all taken for the header: a "
        "file of new rows gave an output without a row, silently.",
        "read like other line ends",
    ),
    Found(
        "attack: tables",
        "A file named `X.CSV.GZ`, in capitals, was read as if it were not compressed.",
        "unpacked, whatever the case of its name",
    ),
    Found(
        "attack: tables",
        "é written as one sign in one file and as two in another made two categories or two treatments without a word; "
        "in new rows it was a category that was never seen.",
        "text is read in one form of Unicode; names of columns that differ so are pointed out",
    ),
    Found(
        "attack: tables",
        "A column of numbers in which more than a tenth of the cells are a dash became categories, one per number, "
        "without a word.",
        "pointed out, with the remedy",
    ),
    Found(
        "attack: tables",
        "A treatment called `none` was read as missing, and the message did not say so.",
        "the message names the word and the remedy",
    ),
    Found(
        "attack: tables",
        "Column names with spaces around them: the message was that there are no covariates.",
        "the table without the treatment's column is named, and the columns it has",
    ),
    Found(
        "attack: tables",
        "One file as both tables: an error about treatments under one name, and an answer, without a word, by another "
        "path.",
        "refused by name",
    ),
    Found(
        "attack: tables",
        "A frame of pandas with numbers among its names of columns gave a warning of pandas, on a way back that nobody "
        "takes; an error about a column's type was a list of two texts.",
        "names are made text before; one sentence",
    ),
    Found(
        "attack: tables",
        "A trial that was written twice into one file, or with several rows of a person, was calibrated with as if its "
        "rows were independent, although --id names the people.",
        "pointed out, with the remedy: one row of each, or --cluster",
    ),
    Found(
        "attack: tables",
        "Categories of new rows in another case than those of the study were categories that were never seen, without "
        "a word.",
        "pointed out for files; in the tables of a study they were already",
    ),
    Found(
        "attack: people",
        "Masked arrays of numpy were read without their mask: hidden outcomes and covariates were learnt from, "
        "silently.",
        "masked covariates are missing; masked outcomes, treatments and marks of the trial are refused",
    ),
    Found(
        "attack: people",
        "A base model that predicts infinity gave intervals of NaN, silently; one that predicts columns, text or "
        "too few rows ended in errors of numpy.",
        "refused, with what it must predict",
    ),
    Found(
        "attack: people",
        "`average_effect` with a study of other treatments answered NaN, silently.",
        "refused, with the treatments that the study has",
    ),
    Found(
        "attack: people",
        "Probabilities of treatments that are more than 1 together, or of an unknown label, were taken for new rows.",
        "refused",
    ),
    Found(
        "attack: people",
        "Treatments `a` and `a_lower` give two columns of one name: a traceback in `confide run`.",
        "one line that names the column",
    ),
    Found(
        "attack: people",
        '`["a", 1]` as treatments became text, and bytes became labels that no file holds.',
        "refused, as other mixed labels are",
    ),
    Found(
        "attack: people",
        "Sequences, frames and mappings where one label is meant, seeds that are none, sets of outcome values, "
        "one-dimensional arrays: errors of numpy, polars or scikit-learn, of many lines or without the value.",
        "one line each",
    ),
    Found(
        "attack: people",
        "The page showed the seed that `set_params` had set after the fit, or the name of a generator.",
        "the seed that the fit used, which repeats it",
    ),
    Found(
        "attack: people",
        "`write_report` and two more questions ended in an AttributeError for a model that is not fitted, has one"
        " arm, or names that are no text.",
        "NotFittedError, or one line",
    ),
    Found(
        "attack: people",
        "`with_alpha` ended in a KeyError after `set_params(method=...)`.",
        "it moves what was fitted",
    ),
    Found(
        "attack: people",
        "`Intervals.clip` with swapped bounds or NaN emptied every interval, silently, and == of two results was "
        "an error.",
        "refused; == compares the ends",
    ),
    Found(
        "attack: people",
        "Warnings on groups, outcomes of 0 and 1, and new rows of a page named a line above or below the caller's.",
        "the caller's own line",
    ),
    Found(
        "attack: people",
        "A model of a declared analysis had other bytes than that of the same options on the command line, by "
        "accidents of memory.",
        "equal texts and numbers have one number in the file",
    ),
    Found(
        "attack: people",
        "A parameter of pandas made a model that cannot be saved, in words of C.",
        "the message names the parameter",
    ),
    Found(
        "walk: a statistician",
        "`naive` with clusters in both arms: an encoder of one's own learnt from rows whose cluster calibrates in the "
        "other arm. With one that counts, .865 ± .009 were covered of .9.",
        "rows of a cluster that calibrates in any arm teach no encoder; .900 ± .008",
    ),
    Found(
        "walk: a statistician",
        "After a refusal in `compare`, whoever asked a model between two results was answered from its cache: for a "
        "table that was changed in place, the answers of before.",
        "results are handed over outside the cache",
    ),
    Found(
        "walk: a statistician",
        "The screen and the page said of average effects that the large table cannot bias them. The slope is learnt "
        "from the same rows: with skewed outcomes and 20 rows .838 were covered of .95 (trial alone .909).",
        "they say that there is a bias of order 1/n; the page on averages has the figures, a test shows it",
    ),
    Found(
        "walk: a statistician",
        "Two-stage methods gave an empty set, silently, where a base model predicts infinity for a new row, and an "
        "interval where a ratio of one's own is below zero there.",
        "refused, as in the other methods",
    ),
    Found(
        "walk: a statistician",
        "An encoder of one's own got whole numbers of 8 bits from a study and of 64 from new rows, and squares wrapped "
        "in one of them: .45 were covered of .9.",
        "it gets 64 bits from both; .889",
    ),
    Found(
        "walk: a shop",
        "`average_effect`, and so the page of `confide report`, took a study without the probabilities or the clusters "
        "that the model was fitted with, and averaged without them, silently.",
        "refused",
    ),
    Found(
        "walk: a shop",
        "With three treatments and stated probabilities the page gave a wrong reason for not testing the lot.",
        "the reason is told, in the summary too",
    ),
    Found(
        "walk: a clinic",
        "The two files exchanged: 5,000 rows that nobody randomised were taken for the trial, without a word.",
        "pointed out where the trial has more than twice the rows of the other table",
    ),
    Found(
        "walk: a clinic",
        "With a target, the note on rows that are unlike spoke of the trial's people, not of the target's.",
        "it names those that the rows were compared with",
    ),
    Found(
        "walk: a clinic, again",
        "In a column with gaps in the trial no new value was ever counted as too high: with the wrong unit in 47 of 50 "
        "rows the note said 0, and fewer such rows were not noticed. One absurd value of 50, and categories that the "
        "model does not know, were answered without a word.",
        "known values are compared with known ones, and missing ones are counted apart; numbers far beyond every "
        "fitted row, and unknown categories in a twentieth of the rows or more, are named",
    ),
    Found(
        "walk: a clinic, again",
        "`confide effects` said that its answer rests on the trial's lot alone, also where the test of randomisation "
        "refutes that lot.",
        "it says so, and that two intervals with no value in common hardly happen by chance",
    ),
    Found(
        "walk: a shop, again",
        "A notebook that shows a model, and `dir(model)`, ended in an error where nothing is proved for participants.",
        "the promise is then no attribute, for the same reason in the same words",
    ),
    Found(
        "walk: a shop, again",
        "A folder as `--predict` was refused after the fit, and the model that was to be saved was lost.",
        "whatever needs no data is refused before a fit",
    ),
    Found(
        "review",
        "An encoder of one's own still got arrays of 8 bits, and unsigned numbers of 64: squares and differences "
        "wrapped, in the study, in new rows or in both. As few as .24 were covered of .9.",
        "both get 64 bits with a sign, from arrays too",
    ),
    Found(
        "review",
        "Parquet files of several widths were refused in Arrow's words if the first was the narrowest.",
        "read, whichever is first",
    ),
    Found(
        "review",
        "On a cluster a worker that was lost after its last task and before its results were fetched was waited for "
        "for ever; and tasks that another user had cancelled were told as a lost scheduler.",
        "fetching is watched as tasks are; each has its own error",
    ),
    Found(
        "review",
        "With narwhals before 2.23 nothing could be imported: a type that those lack was named.",
        "it is looked for",
    ),
    Found(
        "review",
        "An array of covariates with a target in a frame ended in a KeyError; and of rows in an array a report did not "
        "tell unknown categories.",
        "columns go by position in both",
    ),
    Found(
        "review",
        "Ordinary extremes of skewed columns were called far beyond all others, in up to 76 % of calls with 100 rows.",
        "far is told by the column's own tail; in at most 2 % of calls with 300 rows",
    ),
    Found(
        "review",
        "One category in another case hid all other unknown ones of its column; identifiers like 101.2 were taken for "
        "fractions, so that people in both tables were not pointed out.",
        "both are told",
    ),
    Found(
        "a statistician's attack",
        "Nested effects of three treatments with stated probabilities promised .9 where a stratum had no row of the "
        "control, and covered .83, also if the new people's probabilities were given.",
        "refused",
    ),
    Found(
        "a statistician's attack",
        "With one infinite end of `outcome_range`, `wtcp-dr` and `pooled-dr` did not tell that the search may cost up "
        "to 2/(m+1): .81 were covered of .9 with four rows.",
        "the promise tells it",
    ),
    Found(
        "a statistician's attack",
        "What estimated weights to a target lose was told for everybody, and within a group it can be more: .54 were "
        "covered of .9 in one of a tenth of the people, where the weights were blind.",
        "the promise says that the loss is that within the group",
    ),
    Found(
        "a statistician's attack",
        "Average effects with stated probabilities covered .89 of .95 where four rows stood for a tenth of the people, "
        "without a word.",
        "pointed out with fewer than ten such rows, and measured (docs/averages.md)",
    ),
    Found(
        "a statistician's attack",
        "That parts of a searched set between two candidates can be missed stood in a docstring only.",
        "docs/promises.md says when, and what helps",
    ),
    Found(
        "walk: a clinic, a third time",
        "A small group was not told as such; too few clusters were told as too few rows; with a target a remedy was "
        "the method in use.",
        "each is told in its own words",
    ),
    Found(
        "walk: a clinic, a fourth time",
        "`--encoding latin-1` read UTF-8 files as Latin-1 too, silently: with tables in two encodings the categories "
        "of one were garbled, and predictions changed.",
        "a file that is UTF-8 is read as UTF-8",
    ),
    Found(
        "walk: a clinic, a fourth time",
        "A category that no table has was answered without a word if fewer than a twentieth of the rows had it, and a "
        "missing value was told as a group that the trial does not have.",
        "each is told, however few rows have it",
    ),
    Found(
        "walk: a clinic, a fourth time",
        "`--save-config` wrote options of the page without `--report`, which the run then refused.",
        "refused when saving",
    ),
    Found(
        "walk: a clinic, a fourth time",
        "Where the test of randomisation refutes the lot, a note said so and `confide effects` still said on standard "
        "output that its answer rests on the lot.",
        "it says that the data refute the lot",
    ),
]
