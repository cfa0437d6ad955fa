// A number as it is typed, in every language with a point or a comma before its decimals; null if
// nothing is typed.
function parseNumber(text) {
  const typed = text.trim(), plain = typed.replace(",", ".");
  if (!typed) return null;
  if (/^[+-]?[1-9]\d{0,2},\d{3}$/.test(typed))
    throw new Error(`\u201c${typed}\u201d may mean ${typed.replace(",", "")} or ${Number(plain)}: type one of them.`);
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) || !Number.isFinite(Number(plain)))
    throw new Error(`\u201c${typed}\u201d is not a number: type it as 1234.5 or 1234,5.`);
  return Number(plain);
}
