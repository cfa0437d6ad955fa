// What is wrong with the boxes of a notebook, by their measures.
const boxes = () => Array.from(document.querySelectorAll(".priorwise-box"));

function textRects(element) {
  const range = document.createRange();
  range.selectNodeContents(element);
  return Array.from(range.getClientRects()).filter((r) => r.width > 0 && r.height > 0);
}

const inside = (inner, outer, slack = 1) =>
  inner.left >= outer.left - slack && inner.right <= outer.right + slack
  && inner.top >= outer.top - slack && inner.bottom <= outer.bottom + slack;

const overlap = (a, b) =>
  Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
  && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;

function luminance(colour) {
  const [r, g, b] = colour.match(/[\d.]+/g).slice(0, 3).map((c) => {
    const s = c / 255;
    return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function paper(element) {
  for (let at = element; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor, parts = colour.match(/[\d.]+/g);
    if (parts.length < 4 || +parts[3] > 0.9) return colour;
  }
  return "rgb(255, 255, 255)";
}

function contrast(element) {
  const light = [luminance(getComputedStyle(element).color), luminance(paper(element))].sort();
  return (Math.max(...light) + 0.05) / (Math.min(...light) + 0.05);
}

// With `isWide` nothing may need to be scrolled sideways, but pictures.
function faults(isWide) {
  const found = [];
  for (const box of boxes()) {
    const title = box.querySelector("h3").textContent, frame = box.getBoundingClientRect();
    const say = (what, text) => found.push(`${title}: ${what}: ${text.trim().slice(0, 60)}`);
    if (frame.left < 0 || frame.right > innerWidth + 1) say("wider than the window", title);
    if (contrast(box) < 4.5) say("cannot be read", getComputedStyle(box).color);
    for (const cell of box.querySelectorAll("td, th")) {
      const own = cell.getBoundingClientRect();
      if (!own.width) continue;
      if (contrast(cell) < 4.5) say("cannot be read", cell.textContent);
      for (const rect of textRects(cell)) if (!inside(rect, own)) say("leaves its cell", cell.textContent);
      const next = cell.nextElementSibling;
      if (next && overlap(own, next.getBoundingClientRect())) say("cells overlap", cell.textContent);
    }
    for (const part of box.querySelectorAll("h3, h4, p"))
      for (const rect of textRects(part)) if (!inside(rect, frame)) say("leaves the box", part.textContent);
    for (const wide of box.querySelectorAll(".wide")) {
      if (isWide && wide.scrollWidth > wide.clientWidth + 1) say("must be scrolled", wide.textContent);
      if (!inside(wide.getBoundingClientRect(), frame)) say("leaves the box", wide.textContent);
    }
    for (const svg of box.querySelectorAll("svg")) {
      const own = svg.getBoundingClientRect();
      for (const text of svg.querySelectorAll("text"))
        if (!inside(text.getBoundingClientRect(), own, 2)) say("leaves the picture", text.textContent);
    }
  }
  return found;
}
