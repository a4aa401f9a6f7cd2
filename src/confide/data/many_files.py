"""A table in Parquet files, one or many: a path, a pattern such as table/*.parquet, or a folder."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds

from confide.base.validation import examples
from confide.data.formats import STANDARD, format_of, naming_the_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def is_of_batches(path: str) -> bool:
    """Return whether a table is read by batches: Parquet files, patterns and folders."""
    return path != STANDARD and (_is_pattern(path) or Path(path).is_dir() or path.lower().endswith(".parquet"))


def open_dataset(path: str) -> ds.Dataset:
    """Return the table in the files of a path; no row is read.

    In a folder all files count but those whose names begin with a dot or an underscore, as in tables that Spark and
    Dask write, folders like year=2024 being columns.
    """
    paths = paths_of(path)
    for each in paths:
        if format_of(each) != "parquet":
            raise ValueError(
                f"{path}: a table of several files must be Parquet, got {each}. Convert the files, or give one file."
            )
    for each in paths:  # a folder is not a file, and a file that does not exist has Python's own error
        with Path(each).open("rb"):
            pass
    with naming_the_file(paths[0], "read"):
        return ds.dataset(paths, format="parquet", partitioning="hive")


def names_in(dataset: ds.Dataset) -> list[str]:
    """Return the names of all columns that a file of the dataset has; raise if one cannot be read."""
    names = dict.fromkeys(dataset.schema.names)
    for _, fields, _ in _parts(dataset):
        names.update(dict.fromkeys(fields))
    return list(names)


def unified(dataset: ds.Dataset, columns: Sequence[str]) -> ds.Dataset:
    """Return the dataset with some columns, each in one type that holds the values of all files.

    Numbers may be of several widths, and a column may have no value in some files. Raises if a file lacks a column, or
    has it in a type that does not go with the others'.
    """
    found: dict[str, pa.Field] = {}
    first: dict[str, str] = {}
    for where, fields, keys in _parts(dataset):
        missing = [name for name in columns if name not in fields and name not in keys]
        if missing:
            raise ValueError(
                f"{where} has no column {examples(missing)}, which other files of the table have. Add it, or name the "
                "covariates without it."
            )
        for name in columns:
            if name in fields:
                known = found.setdefault(name, fields[name])
                found[name] = promoted(known, fields[name], first.setdefault(name, where), where)
    schema = pa.schema([found[name] if name in found else dataset.schema.field(name) for name in columns])
    if isinstance(dataset, ds.FileSystemDataset):  # whose other form takes no type wider than the first file's
        return ds.FileSystemDataset(list(dataset.get_fragments()), schema, dataset.format, dataset.filesystem)
    return dataset.replace_schema(schema)


def _parts(dataset: ds.Dataset) -> Iterator[tuple[str, dict[str, pa.Field], dict[str, Any]]]:
    """Yield what messages call each part of a dataset, its fields, and the columns that its folders give."""
    for place, fragment in enumerate(dataset.get_fragments()):
        where = name_of(fragment, place)
        with naming_the_file(where, "read"):
            schema = fragment.physical_schema
        check_names(where, schema.names)
        yield where, {each.name: each for each in schema}, ds.get_partition_keys(fragment.partition_expression)


def check_names(path: str, names: list[str]) -> None:
    """Raise if two columns have one name."""
    if len(set(names)) < len(names):
        twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        raise ValueError(f"{path} has two columns named {examples(twice)}; rename one of them.")


def name_of(fragment: Any, place: int) -> str:
    """Return what messages call a part of a dataset: its file, or its number if it has none."""
    return str(getattr(fragment, "path", f"part {place + 1} of the table"))


def _is_pattern(path: str) -> bool:
    return glob.has_magic(path) and not Path(path).exists()


def paths_of(path: str) -> list[str]:
    """Return the files of a path, pattern or folder in order; raise if there are none."""
    if _is_pattern(path):
        found = sorted(each for each in glob.iglob(path, recursive=True) if Path(each).is_file())  # noqa: PTH207  (a path)
        if not found:
            raise ValueError(f"no file matches {path}. Quote the pattern, and check the folder and the extension.")
        return found
    if not Path(path).is_dir():
        return [path]
    found = sorted(map(str, _visible(Path(path))))
    if not found:
        raise ValueError(f"{path} is a folder without files.")
    return found


def _visible(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder and its folders, without those that are not for readers."""
    for each in folder.iterdir():
        if each.name.startswith((".", "_")):
            continue
        if each.is_dir():
            yield from _visible(each)
        else:
            yield each


def promoted(known: pa.Field, other: pa.Field, first: str, where: str) -> pa.Field:
    """Return the field that holds both; raise if there is none."""
    schemas = [pa.schema([each.remove_metadata().with_nullable(True)]) for each in (known, other)]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(0)
    except pa.ArrowException as error:
        raise ValueError(
            f"column {known.name!r} is {known.type} in {first} and {other.type} in {where}. Write it alike in all "
            "files."
        ) from error
