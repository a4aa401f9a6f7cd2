// From the reader's choices to what is shown.

function showNames() {
  for (const box of document.querySelectorAll("[data-side]")) box.textContent = sideName(box.dataset.side);
}

// The slider changes only the intervals; everything else on the page is for the report's own level.
function showMoved() {
  for (const box of document.querySelectorAll(".moved")) {
    box.hidden = alpha() === data.alpha;
    box.textContent = `Shown at α = ${alpha()}; the promise, coverage and warnings on this page are for α = ${data.alpha}.`;
  }
}

function showCounts() {
  for (const box of document.querySelectorAll("[data-count]")) box.textContent = whole.format(now.counts[box.dataset.count]);
  const text = $("alpha-text");
  if (!text) return;
  const fixed = data.armAlpha === null ? "" : `; effects do not change, ${stepLevel()}`;
  text.textContent = `α = ${alpha()}${computedAt()}: ${outcomeLevel()}${fixed}`;
  $("alpha").setAttribute("aria-valuetext", text.textContent);
}

function showRate() {
  const box = $("rate-says");
  if (!box) return;
  const rate = data.chosen.rates[state.rate];
  box.textContent = `${rate.promise} ${rate.found}`;
  $("download-chosen").disabled = chosen.first.every((least) => least > state.rate);
}

function showRows() {
  select();
  drawHead();
  drawBody();
  drawEffects();
}

function showAll() {
  recompute();
  showNames();
  showMoved();
  showCounts();
  showRows();
}

let waiting = 0;
function soon(work) {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(work);
}

function listen() {
  $("controls").addEventListener("submit", (event) => event.preventDefault());
  $("contrast")?.addEventListener("change", (event) => {
    state.contrast = Number(event.target.value);
    showAll();
  });
  if (slides) {
    const slider = $("alpha");
    slider.max = data.levels.length - 1;
    slider.value = state.level;
    slider.addEventListener("input", () => {
      state.level = Number(slider.value);
      soon(showAll);
    });
  }
  for (const choice of document.querySelectorAll("[name=group]")) {
    choice.addEventListener("change", () => {
      state.group = choice.value;
      state.page = 0;
      showRows();
    });
  }
  $("search").addEventListener("input", (event) => {
    state.search = event.target.value;
    state.page = 0;
    soon(showRows);
  });
  $("filter").addEventListener("input", applyFilter);
  $("download").addEventListener("click", () => download(table(), `intervals-alpha-${alpha()}.csv`));
  $("rate")?.addEventListener("change", (event) => {
    state.rate = Number(event.target.value);
    showRate();
    showAll();
  });
  $("download-chosen")?.addEventListener("click", () => download(chosenTable(), `chosen-fdr-${data.chosen.rates[state.rate].rate}.csv`));
  $("methods")?.addEventListener("toggle", () => document.querySelectorAll("#methods[open] .coverage-chart").forEach(drawCoverage));
  $("rows").tHead.addEventListener("click", (event) => {
    const key = event.target.closest("button")?.dataset.key;
    if (key === undefined) return;
    state.sort = { key, down: state.sort.key === key && !state.sort.down };
    state.page = 0;
    showRows();
    $("rows").tHead.querySelector(`[data-key="${key}"]`).focus();
  });
  const turn = (to) => () => {
    state.page = to(Math.max(0, Math.ceil(shown.length / PAGE_ROWS) - 1));
    drawBody();
  };
  $("first").addEventListener("click", turn(() => 0));
  $("previous").addEventListener("click", turn(() => state.page - 1));
  $("next").addEventListener("click", turn(() => state.page + 1));
  $("last").addEventListener("click", turn((last) => last));
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    soon(drawCharts);
  });
  for (const [event, room] of [["beforeprint", PAPER], ["afterprint", null]]) {
    window.addEventListener(event, () => {
      paper = room;
      drawCharts();
    });
  }
}

chooseDecimals();
drawPicker();
showFilterHelp();
showRate();
listen();
showAll();
fixedCharts();
document.querySelectorAll(".scroll").forEach(cue);
document.documentElement.dataset.ready = String(Math.round(performance.now()));
