// Filters by columns: comparisons such as age > 70, joined by "and" or by commas.

const COMPARISON = /^\s*("[^"]*"|.+?)\s*(<=|>=|!=|≤|≥|≠|=|<|>)\s*("[^"]*"|.*?)\s*$/;
const COMPARE = {
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "=": (a, b) => a === b,
  "!=": (a, b) => a !== b,
};
const SAME = { "≤": "<=", "≥": ">=", "≠": "!=" };
const unquoted = (text) => (/^".*"$/.test(text) ? text.slice(1, -1) : text);

// A column by its name, whatever the case; one that is spelt exactly so comes first.
function columnNamed(name) {
  const folded = name.toLowerCase();
  return columns.find((column) => column.name === name) ?? columns.find((column) => column.name.toLowerCase() === folded);
}

// What a filter asks of a row; an error says what is not understood.
function parsedFilter(text) {
  const parts = (text.match(/(?:"[^"]*"|[^",])+/g) ?? []).flatMap((part) => part.split(/\s+and\s+(?=(?:[^"]*"[^"]*")*[^"]*$)/i));
  const tests = [];
  for (const part of parts.filter((each) => each.trim())) {
    const found = COMPARISON.exec(part);
    if (!found) return { error: `“${part.trim()}” is not a comparison such as age > 70` };
    const column = columnNamed(unquoted(found[1]));
    if (!column) return { error: `there is no column “${unquoted(found[1])}”` };
    const test = comparison(column, SAME[found[2]] ?? found[2], unquoted(found[3]));
    if (test.error) return test;
    tests.push(test);
  }
  return { passes: tests.length ? (row) => tests.every((test) => test(row)) : null };
}

// Missing values match "missing" alone.
function comparison(column, sign, value) {
  const holds = COMPARE[sign];
  const isMissing = (row) => (column.at(row) ?? "") === "";
  if (value === "missing" && (sign === "=" || sign === "!=")) return (row) => isMissing(row) === (sign === "=");
  if (value === "") return { error: `${column.name} ${sign} what?` };
  if (column.numeric) {
    const number = Number(value);
    if (Number.isNaN(number)) return { error: `${column.name} holds numbers, and “${value}” is none` };
    return (row) => !isMissing(row) && holds(Number(column.at(row)), number);
  }
  const folded = value.toLowerCase();
  return (row) => !isMissing(row) && holds(column.at(row).toLowerCase(), folded);
}

// Two comparisons that this table understands: the middle of a column of numbers, and a frequent value of another one.
function filterExamples() {
  const quote = (text) => (/[,"<>=]|\sand\s/i.test(text) ? `"${text}"` : text);
  const covariates = columns.filter((column) => column.covariate);
  const found = [];
  const numeric = covariates.find((column) => column.numeric && new Set(sample(column)).size > 2);
  if (numeric) {
    const sorted = sample(numeric).map(Number).sort((a, b) => a - b);
    found.push(`${quote(numeric.name)} > ${Number(sorted[sorted.length >> 1].toPrecision(2))}`);
  }
  const other = covariates.find((column) => !column.numeric && column.different && sample(column).length);
  if (other) found.push(`${quote(other.name)} = ${quote(sample(other)[0])}`);
  return found;
}
const sample = (column) => Array.from({ length: Math.min(n, 400) }, (_, row) => column.at(row)).filter((value) => value !== null && value !== "");

function showFilterHelp() {
  const help = $("filter-help");
  const { error } = state.filter;
  $("filter").setAttribute("aria-invalid", String(Boolean(error)));
  help.classList.toggle("wrong", Boolean(error));
  if (error) {
    help.textContent = `Not applied: ${error}.`;
    return;
  }
  const examples = filterExamples();
  if (examples.length > 1) examples.push(examples.join(" and "));
  help.replaceChildren(examples.length ? "For instance " : "Comparisons such as age > 70 and sex = f.");
  examples.forEach((text, place) => {
    const button = element("button", text, { type: "button", className: "suggest" });
    button.addEventListener("click", () => {
      $("filter").value = text;
      applyFilter();
    });
    help.append(place ? ", " : "", button);
  });
}

function applyFilter() {
  const text = $("filter").value.trim();
  state.filter = { passes: null, error: null, ...parsedFilter(text), text };
  state.page = 0;
  showFilterHelp();
  soon(showRows);
}
