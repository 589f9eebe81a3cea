// Formats of numbers, times and texts. Times are in UTC, as in every record.

import { now } from "./api.js";
import { breakable, el } from "./dom.js";

const NUMBER = new Intl.NumberFormat("en");
const SHORT = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const SHARE = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const KEPT = 24; // shorter ids stay in one line
const UNITS = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
];
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

export const count = (value) => NUMBER.format(value);
export const percent = (share) => `${SHARE.format(share * 100)} %`;
export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

/** Milliseconds; null: not measured. */
export const milliseconds = (value) => (value === null ? "–" : `${SHORT.format(value)}\u00a0ms`);

/** A duration in seconds, in its `most` largest units. */
export function duration(seconds, most = 2) {
  const parts = [];
  let left = Math.max(0, Math.round(seconds));
  for (const [unit, size] of UNITS) {
    const whole = Math.floor(left / size);
    if (whole && parts.length < most) parts.push(plural(whole, unit));
    if (parts.length) left -= whole * size;
  }
  return parts.join(" ") || "0 seconds";
}

/** The same in short form: "90 s" is "1.5 min". */
export function shortDuration(seconds) {
  const [unit, size] = [
    ["d", 86_400],
    ["h", 3_600],
    ["min", 60],
    ["s", 1],
  ].find(([, least]) => seconds >= least) ?? ["s", 1];
  return `${SHARE.format(seconds / size)} ${unit}`;
}

/** "3 days ago", by the service's clock, which the page knows to a few seconds: a time just ahead is "now". */
export function relative(moment) {
  const ahead = (moment - now()) / 1000;
  const seconds = ahead > 0 && ahead < 4 ? 0 : ahead;
  const [unit, size] = UNITS.find(([, least]) => Math.abs(seconds) >= least) ?? UNITS.at(-1);
  return RELATIVE.format(Math.round(seconds / size), unit);
}

/** 2026-02-14 20:00:00 UTC. */
export function utc(text) {
  const moment = new Date(text);
  return Number.isNaN(moment.getTime()) ? String(text) : `${moment.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** A point in time with how long ago it was. */
export function time(text) {
  if (!text) return "–";
  if (typeof text !== "string") return scalar(text);
  const moment = Date.parse(text);
  if (Number.isNaN(moment)) return text;
  return el(
    "time",
    { datetime: text, class: "time" },
    utc(text),
    " ",
    el("span", { class: "muted" }, relative(moment)),
  );
}

/** A value as JSON on one line; numbers unchanged. */
export function json(value, indent) {
  return JSON.stringify(value, null, indent);
}

/** A value as text; numbers unchanged. */
export const scalar = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/** A value that operators copy: an id, an ETag, a hash. */
export const code = (text) =>
  el("code", {}, scalar(text).length > KEPT ? breakable(text) : el("span", { class: "keep" }, text));

/** A pointer in a document, or a document's name. */
export const path = (text) => el("code", { class: "path" }, breakable(text));
