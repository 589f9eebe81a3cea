// Views of JSON: a tree, the operations of a patch, the differences between two versions.

import { breakable, el, hidden, ordered } from "./dom.js";
import { difference } from "./difference.js";
import { isBranch, isRaw } from "./exact.js";
import { json, plural, scalar } from "./format.js";

const OPEN_BELOW = 12; // branches with more members begin closed, but for the outermost
const SHORT = 200;
const OUTER = 3; // a value in a line opens its outermost level alone

const kindOf = (value) => (value === null ? "null" : isRaw(value) ? "number" : typeof value);

/** A scalar; text is quoted, which distinguishes an empty text, the number 1 and the text "1". */
function leaf(value) {
  return el(
    "span",
    { class: `leaf ${kindOf(value)}` },
    typeof value === "string" ? JSON.stringify(value) : scalar(value),
  );
}

const size = (value) =>
  Array.isArray(value) ? plural(value.length, "element") : plural(Object.keys(value).length, "member");

/**
 * A value as a tree; a branch is rendered when it is opened. `more` returns what follows a scalar, by the names that
 * lead to it.
 */
export function tree(value, name = null, depth = 0, more = () => null, names = []) {
  const label = name === null ? null : el("span", { class: "name" }, String(name));
  if (!isBranch(value)) return el("div", { class: "row" }, label, label && ": ", leaf(value), more(names));
  const entries = Object.entries(value);
  if (!entries.length)
    return el(
      "div",
      { class: "row" },
      label,
      label && ": ",
      el("span", { class: "leaf null" }, Array.isArray(value) ? "[ ] empty" : "{ } empty"),
    );
  const list = el("ul", { role: "list" });
  const fillOnce = () => {
    if (!list.hasChildNodes()) list.append(...entries.map(([key, child]) => el("li", {}, tree(child, key, depth + 1, more, [...names, key]))));
  };
  const open = depth === 0 || (depth <= OUTER && entries.length <= OPEN_BELOW);
  if (open) fillOnce();
  const summary = el(
    "summary",
    {},
    label ?? el("span", { class: "name" }, Array.isArray(value) ? "array" : "object"),
    " ",
    el("span", { class: "muted" }, size(value)),
  );
  return el("details", { class: "branch", open, on: { toggle: fillOnce } }, summary, list);
}

/** A tree, and the same value as plain JSON. */
export function treeAndText(value, label, more) {
  const text = el("pre", { tabindex: "0", "aria-label": `${label} as JSON` });
  const raw = el(
    "details",
    { class: "raw", on: { toggle: () => raw.open && (text.textContent = ordered(json(value, 2))) } },
    el("summary", {}, "As JSON"),
    text,
  );
  return el("div", { class: "tree" }, tree(value, null, 0, more), raw);
}

/** A value on one line if it is short, else as a tree. */
export function inline(value) {
  if (value === undefined) return el("span", { class: "muted" }, "nothing");
  if (!isBranch(value)) return leaf(value);
  const text = json(value);
  return text.length <= SHORT
    ? el("code", { class: "value" }, text)
    : el("div", { class: "tree" }, tree(value, null, OUTER));
}

const sign = (mark) => el("span", { class: "sign", "aria-hidden": "true" }, mark);
const SIGNS = { added: "+", removed: "−", changed: "~" };
const KINDS = { add: "added", remove: "removed", replace: "changed", move: "changed", copy: "added", test: "" };

function line(kind, verb, path, ...rest) {
  return el(
    "li",
    { class: `change ${kind}` },
    sign(SIGNS[kind] ?? "="),
    el(
      "div",
      {},
      el("span", { class: "verb" }, `${verb} `),
      el("code", { class: "path" }, path === "" ? "(whole)" : breakable(path)),
      ...rest,
    ),
  );
}

/** The operations of a JSON Patch, one a line. */
export function operations(ops, label) {
  if (!ops.length) return el("p", { class: "muted" }, "No operations.");
  const rows = ops.map((op) => {
    const from = op.from === undefined ? null : [" from ", el("code", { class: "path" }, breakable(op.from))];
    const value = "value" in op ? el("div", { class: "new" }, inline(op.value)) : null;
    return line(KINDS[op.op] ?? "", op.op, op.path, from, value);
  });
  return el("ol", { class: "changes", "aria-label": label }, rows);
}

/** The differences between two versions of a content, one a line. */
export function differences(before, after, label) {
  const found = difference(before, after);
  if (!found.length) return el("p", { class: "muted" }, "No differences.");
  const rows = found.map((one) => {
    // An addition or a removal has its sign at the start of the line.
    const both = one.kind === "changed";
    const side = (tag, mark, word, value) =>
      el(tag, { class: both ? "signed" : null }, both && sign(mark), hidden(`${word}: `), el("div", {}, inline(value)));
    const old = one.kind === "added" ? null : side("del", "−", "before", one.before);
    const young = one.kind === "removed" ? null : side("ins", "+", "after", one.after);
    return line(one.kind, one.kind, one.path, el("div", { class: "pair" }, old, young));
  });
  return el("ol", { class: "changes", "aria-label": label }, rows);
}
