// A cue where a table is wider than its box: a line above it, and a fading edge, until its end is reached.

function cue(box) {
  const hint = element("p", "There are more columns to the right: scroll this table sideways →", { className: "quiet hint", hidden: true });
  box.before(hint);
  const show = () => {
    const hidden = box.scrollWidth - box.clientWidth;
    hint.hidden = hidden <= 1;
    box.classList.toggle("more", box.scrollLeft < hidden - 1);
  };
  box.addEventListener("scroll", show, { passive: true });
  const watch = new ResizeObserver(show);
  for (const each of [box, ...box.children]) watch.observe(each);
  show();
}
