// Downloads: the columns of `confide run`, the rows as they are shown.

function quoted(value) {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function written(value) {
  if (Number.isNaN(value)) return "";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  return Object.is(value, -0) ? "-0.0" : String(value);
}

function table() {
  const effects = data.contrasts.map((_, number) => effect(number));
  const numbers = [...now.answered, ...effects].flatMap((each) => [each.point, each.lower, each.upper]);
  const lines = [[...columns.map((column) => column.name), ...data.answers].map(quoted).join(",")];
  for (const row of shown) {
    lines.push([...columns.map((column) => quoted(column.at(row))), ...numbers.map((values) => written(values[row]))].join(","));
  }
  return `${lines.join("\n")}\n`;
}

// The columns of `confide select`: everybody who is chosen at the rate, in the order of the table.
function chosenTable() {
  const lines = [[...columns.map((column) => column.name), "p_value"].map(quoted).join(",")];
  for (let row = 0; row < n; row++) {
    if (isChosen(row)) lines.push([...columns.map((column) => quoted(column.at(row))), written(chosen.pValue(row))].join(","));
  }
  return `${lines.join("\n")}\n`;
}

function download(text, name) {
  const link = element("a", undefined, { download: name });
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
