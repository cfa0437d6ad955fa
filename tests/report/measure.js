// Returns what is cut off, outside or overlaps in the open page; the argument says whether it is printed.
const problems = [], name = (one) => one.tagName + "." + one.className + " " + one.textContent.trim().slice(0, 40);
const isShown = (one) => one.checkVisibility({ checkVisibilityCSS: true });
const root = document.documentElement;
if (root.scrollWidth > root.clientWidth) problems.push(`the page is ${root.scrollWidth} wide, not ${root.clientWidth}`);
// Pictures of trees and networks scroll in a frame with buttons, but for paper.
const skipped = arguments[0] ? "svg *, option, datalist" : "svg *, option, datalist, .zoom, .zoom *";
for (const one of document.querySelectorAll("body *")) {
  if (one.matches(skipped + ", .hidden, script, style, template, title") || !isShown(one)) continue;
  const style = getComputedStyle(one), box = one.getBoundingClientRect();
  if (!box.width) continue;
  const isCut = one.scrollWidth > one.clientWidth + 1 && one.clientWidth && style.display !== "inline";
  if (isCut && !one.matches("svg, input, select")) problems.push(`cut off: ${name(one)} ${one.scrollWidth} > ${one.clientWidth}`);
  if (box.right > root.clientWidth + 1 || box.left < -1) problems.push(`outside: ${name(one)}`);
}
// Fields of dates have room for a whole date.
for (const field of document.querySelectorAll("input[type^=date]")) {
  if (!isShown(field)) continue;
  const whole = field.cloneNode();
  whole.style.cssText = "width: max-content; max-width: none; position: absolute";
  field.parentNode.append(whole);
  if (field.offsetWidth < whole.offsetWidth - 1) problems.push(`cut off: ${field.type} ${field.offsetWidth} < ${whole.offsetWidth}`);
  whole.remove();
}
// Texts of a picture stay in it and do not lie on each other.
for (const picture of document.querySelectorAll("svg")) {
  if (!isShown(picture)) continue;
  const frame = picture.getBoundingClientRect(), texts = [...picture.querySelectorAll("text")].map((one) => [one, one.getBoundingClientRect()]);
  texts.forEach(([one, a], i) => {
    if (a.left < frame.left - 2 || a.right > frame.right + 2) problems.push(`text outside its picture: ${name(one)}`);
    if (a.top < frame.top - 2 || a.bottom > frame.bottom + 2) problems.push(`text outside its picture: ${name(one)}`);
    for (const [other, b] of texts.slice(0, i)) {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left), tall = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 2 && tall > 0.4 * Math.min(a.height, b.height)) problems.push(`texts overlap: ${name(one)} / ${name(other)}`);
    }
  });
}
// Words of tables are not broken in two.
for (const cell of document.querySelectorAll("td, th")) {
  if (!isShown(cell)) continue;
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), range = document.createRange();
  while (texts.nextNode()) {
    for (const word of texts.currentNode.data.matchAll(/[\p{L}\p{N}.,]{2,14}(?![\p{L}\p{N}.,])/gu)) {
      range.setStart(texts.currentNode, word.index);
      range.setEnd(texts.currentNode, word.index + word[0].length);
      const tops = new Set([...range.getClientRects()].filter((one) => one.width).map((one) => Math.round(one.top)));
      if (tops.size > 1) problems.push(`broken word: ${word[0]} of ${name(cell)} in ${name(cell.closest('table'))}`);
    }
  }
}
// Neighbours in a row or a grid do not lie on each other.
for (const whole of document.querySelectorAll("main, section, .grid, .tools, .bar, .step, #axis, tr, dl, nav, figure")) {
  const parts = [...whole.children].filter((one) => isShown(one) && getComputedStyle(one).position !== "sticky");
  const boxes = parts.map((one) => one.getBoundingClientRect());
  boxes.forEach((a, i) => boxes.slice(0, i).forEach((b, k) => {
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left), tall = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (wide > 2 && tall > 2) problems.push(`overlap: ${name(parts[i])} / ${name(parts[k])}`);
  }));
}
return [...new Set(problems)];
