// The plan of a retraction: its values by fate, and the other items.

import { el, notice, table } from "./dom.js";
import { isObject } from "./exact.js";
import { path, plural } from "./format.js";
import { differences, inline } from "./json_view.js";
import { FATES, isThere, itemFate, whyStays } from "./retraction_words.js";
import { period, quote } from "./sentences.js";
import { nameOf } from "./subject.js";

const COMPARED = ["stripped", "reopened"];

/** What an entry says: its text, and when it holds; null for a value that is no entry. */
function words(row) {
  const entry = isThere(row.before) ? row.before : row.after;
  if (!isObject(entry) || typeof entry.text !== "string") return null;
  const held = period(isThere(row.after) ? row.after : entry);
  return el("p", {}, el("strong", {}, quote(entry.text)), held ? el("span", { class: "muted" }, ` ${held}`) : null);
}

/** What happens to one value: what changes in it, or the value before and after. */
function change(row, label) {
  const { before, after, fate } = row;
  if (COMPARED.includes(fate) && isThere(before) && isThere(after)) return differences(before, after, label);
  return el(
    "div",
    { class: "pair" },
    isThere(before) ? el(fate === "unresolved" ? "div" : "del", {}, inline(before)) : null,
    isThere(after) && fate !== "unresolved" ? el("ins", {}, inline(after)) : null,
  );
}

function value(document, row) {
  const place = `${nameOf(document)} ${row.pointer}`;
  return el(
    "li",
    {},
    el("p", {}, path(nameOf(document)), " ", path(row.pointer)),
    words(row),
    change(row, `Changes of ${place}`),
    row.fate === "unresolved" ? el("p", { class: "muted" }, whyStays(row.why)) : null,
  );
}

function fate(name, documents) {
  const [title, meaning] = FATES[name];
  const rows = documents.flatMap((document) =>
    document.values.filter((row) => row.fate === name).map((row) => value(document, row)),
  );
  if (!rows.length) return null;
  return el(
    "section",
    { "aria-label": title },
    el("h3", {}, title, " ", el("span", { class: "muted" }, String(rows.length))),
    el("p", { class: "muted" }, meaning),
    el("ul", { class: "rows", role: "list" }, rows),
  );
}

function items(found) {
  if (!found.length) return null;
  const rows = found.map(({ kind, name, fate: fateOf }) => [kind, path(name), itemFate(fateOf)]);
  return el("section", { "aria-label": "Items" }, el("h3", {}, "Items"), table(plural(found.length, "item"), ["Kind", "Name", "What happens"], rows));
}

function notUndone(documents) {
  const left = documents.flatMap((document) => document.not_undone.map((pointer) => [nameOf(document), pointer]));
  if (!left.length) return null;
  return notice(
    "warn",
    el("p", {}, "The undo could not bring these values back: another write has changed them, or the profile does not allow them any more."),
    el("ul", { class: "plain" }, left.map(([name, pointer]) => el("li", {}, path(name), " ", path(pointer)))),
  );
}

/** The plan, or what was done by it. */
export function planParts({ documents, items: other }) {
  const parts = [notUndone(documents), ...Object.keys(FATES).map((name) => fate(name, documents)), items(other)];
  const shown = parts.filter(Boolean);
  return shown.length ? shown : [el("p", { class: "notice" }, "Nothing rests on this source.")];
}
