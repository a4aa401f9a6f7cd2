// The table: its columns, its rows, and the picker of columns beside the person.

// At the start the table shows so many of the rows' own columns beside the one that names the row.
const FIRST_IDENTIFIERS = 2;
const FIRST_COVARIATES = 3;
const own = columns.map((column, number) => ({ column, key: `own:${number}`, text: column.name }));
const identifiers = own.filter((each) => !each.column.covariate);
const covariates = own.filter((each) => each.column.covariate);
// The first identifier names the row; without one its number does.
const naming = identifiers[0] ?? null;
for (const each of [...identifiers.slice(1, FIRST_IDENTIFIERS), ...covariates.slice(0, FIRST_COVARIATES)]) state.columns.add(each.key);

function headings() {
  const itsEnds = oneEnd ? `its ${oneEnd} bound` : "its interval";
  const answers = data.labels.flatMap((label, number) => [
    { key: `point:${number}`, text: `under ${label}`, number: true },
    { key: `ends:${number}`, text: itsEnds, number: true, name: `${itsEnds}, under ${label}` },
  ]);
  const row = { key: "row", text: "row", number: true, names: naming === null };
  return [
    ...(naming ? [{ ...naming, names: true }, row] : [row]),
    ...own.filter((each) => state.columns.has(each.key)),
    ...(oneEnd ? answers : []), // who asks for one end asks about outcomes
    { key: "effect:", text: `effect${unit}`, number: true },
    { key: "interval:", text: itsEnds, number: true, name: `${itsEnds}, of the effect` },
    { key: null, text: "around 0", bar: true },
    { key: "group:", text: "says" },
    ...(oneEnd ? [] : answers),
  ];
}
let heads = headings();

function drawPicker() {
  const box = $("columns").querySelector("fieldset");
  for (const each of own) {
    if (each === naming) continue;
    const label = element("label");
    const input = element("input", undefined, { type: "checkbox", checked: state.columns.has(each.key) });
    input.addEventListener("change", () => {
      if (input.checked) state.columns.add(each.key);
      else state.columns.delete(each.key);
      heads = headings();
      drawHead();
      drawBody();
    });
    label.append(input, element("span", short(each.text, 40), { title: each.text }));
    box.append(label);
  }
  $("columns").hidden = !box.querySelector("input");
}

function drawHead() {
  const row = element("tr");
  for (const head of heads) {
    const cell = element("th", undefined, { scope: "col", className: classOf(head) });
    if (head.key === null) cell.textContent = head.text;
    else {
      const sorted = state.sort.key === head.key;
      const button = element("button", short(head.text, 40), { type: "button", title: head.name ?? head.text });
      button.dataset.key = head.key;
      if (head.name) button.setAttribute("aria-label", head.name);
      if (sorted) {
        cell.setAttribute("aria-sort", state.sort.down ? "descending" : "ascending");
        button.append(element("span", state.sort.down ? " ↓" : " ↑", { ariaHidden: "true" }));
      }
      cell.append(button);
    }
    row.append(cell);
  }
  $("rows").tHead.replaceChildren(row);
}

const classOf = (head) => (head.number || head.column?.numeric ? "n" : "");

function drawBody() {
  const first = state.page * PAGE_ROWS;
  const rows = shown.slice(first, first + PAGE_ROWS);
  const scale = barScale(rows);
  $("rows").tBodies[0].replaceChildren(
    ...rows.map((row) => {
      const line = element("tr");
      for (const head of heads) line.append(cellOf(head, row, scale));
      return line;
    }),
  );
  const pages = Math.max(1, Math.ceil(shown.length / PAGE_ROWS));
  $("page").textContent = `page ${whole.format(state.page + 1)} of ${whole.format(pages)}`;
  const needle = state.search.trim();
  const { passes, text, error } = state.filter;
  const filtered = passes ? ` where ${text}` : error ? " (the filter is not understood and not applied)" : "";
  const whose = `${state.group === "all" ? "" : ` ${called(state.group)}`}${filtered}${needle ? ` with “${needle}”` : ""}`;
  const held = shown.length > rows.length ? ` The table shows rows ${whole.format(first + 1)} to ${whole.format(first + rows.length)} of ${whole.format(shown.length)}, page ${whole.format(state.page + 1)}; the download has all of them.` : "";
  const said = `${whole.format(shown.length)} of ${counted(n, "row")}${whose} selected; ${levelsText()}`;
  $("status").replaceChildren(said, element("span", held, { className: "paging" }));
  for (const id of ["first", "previous"]) $(id).disabled = state.page === 0;
  for (const id of ["next", "last"]) $(id).disabled = state.page >= pages - 1;
}

function cellOf(head, row, scale) {
  const cell = element(head.names ? "th" : "td", undefined, { className: classOf(head) });
  if (head.names) cell.scope = "row";
  const [kind, number] = (head.key ?? ":").split(":");
  const answered = now.answered[number];
  if (head.bar) cell.append(bar(row, scale));
  else if (kind === "row") cell.textContent = rowNumber(row);
  else if (kind === "effect") cell.textContent = formattedEffect(now.effects.point[row]);
  else if (kind === "interval") cell.textContent = formattedInterval(now.effects.lower[row], now.effects.upper[row], data.discrete.effects);
  else if (kind === "point") cell.textContent = formattedMean(answered.point[row]);
  else if (kind === "ends") cell.textContent = formattedInterval(answered.lower[row], answered.upper[row], data.discrete.outcomes);
  else if (kind === "group") {
    const group = GROUPS[now.group[row]];
    cell.append(element("span", `${group.sign} `, { ariaHidden: "true" }), group.says());
    cell.title = group.says();
    cell.classList.add(now.group[row]);
  } else {
    const value = head.column.at(row);
    cell.textContent = value === null ? NO_VALUE : value;
    if (value !== null && value.length > 24) cell.title = value;
  }
  return cell;
}

function barScale(rows) {
  const { point } = now.effects;
  const ends = rows.flatMap((row) => [now.drawn.lower[row], now.drawn.upper[row], point[row]]).filter(Number.isFinite);
  const reach = Math.max(...ends.map(Math.abs), 0) || 1;
  return (value) => 50 + 48 * Math.max(-1, Math.min(1, value / reach));
}

function bar(row, scale) {
  const made = (name, attributes) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    return node;
  };
  const picture = made("svg", { class: "bar", viewBox: "0 0 100 16", preserveAspectRatio: "none", "aria-hidden": "true" });
  picture.append(made("line", { x1: 50, x2: 50, y1: 0, y2: 16, stroke: "currentColor", "stroke-width": 1 }));
  const { lower, upper } = now.drawn;
  if (!Number.isNaN(now.effects.lower[row])) {
    const { colour } = GROUPS[now.group[row]];
    const [from, to] = [scale(lower[row]), scale(upper[row])];
    picture.append(made("rect", { x: from, width: Math.max(1, to - from), y: 6, height: 4, rx: 1, fill: colour }));
    picture.append(made("rect", { x: scale(now.effects.point[row]) - 1, width: 2, y: 2, height: 12, fill: colour }));
  }
  return picture;
}
