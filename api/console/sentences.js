// Words for what the API returns: pure functions without a document or a clock. Times are in UTC.

const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
/** The least confidence of each word. */
const SURE = [
  [1, "certain"],
  [0.8, "confident"],
  [0.6, "likely"],
  [0.3, "unsure"],
  [0, "a guess"],
];
const REASONS = {
  live_update: "written by a product",
  replay_update: "learnt from a conversation",
  confirmation: "confirmed",
  admin_migration: "written by an administrator",
  compaction: "shortened by upkeep",
  freshness: "refreshed by upkeep",
  retraction: "put back by a retraction",
};

const parsed = (text) => {
  const found = new Date(typeof text === "string" ? text : NaN);
  return Number.isNaN(found.getTime()) ? null : found;
};

const AROUND = 1; // messages shown before and after a cited one

/** The text with a capital at its beginning. */
export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** A quoted text. */
export const quote = (text) => `“${text}”`;

/** "14 February 2026"; a text that is no time is returned as it is. */
export function day(text) {
  const found = parsed(text);
  return found ? DAY.format(found) : String(text);
}

/** "14 February 2026 at 20:00 UTC". */
export function moment(text) {
  const found = parsed(text);
  return found ? `${day(text)} at ${found.toISOString().slice(11, 16)} UTC` : String(text);
}

/** "a, b and c". */
export const enumerate = (words) =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;

/** A confidence in a word and its number: "likely (0.7)"; null without one. */
export function confidence(value) {
  const number = value === null || value === undefined ? NaN : Number(value);
  if (Number.isNaN(number)) return null;
  const [, word] = SURE.find(([least]) => number >= least) ?? SURE.at(-1);
  return `${word} (${number})`;
}

const texts = (value) => (Array.isArray(value) ? value.filter((one) => typeof one === "string") : []);

/** Where something was said: "said in conversation c1, messages m3 and m4"; null if the evidence names no place. */
export function citation(evidence) {
  const conversation = evidence?.conversation_id;
  if (typeof conversation !== "string" || !conversation) return null;
  const ids = texts(evidence.message_ids);
  const messages = ids.length ? `, message${ids.length === 1 ? "" : "s"} ${enumerate(ids)}` : "";
  return `said in conversation ${conversation}${messages}`;
}

/** The reason of a change in words; a new reason is shown as its name. */
export const reasonWords = (reason) => REASONS[reason] ?? String(reason).replaceAll("_", " ");

/** A name of the API as words: "work_notes" is "Work notes". */
export function title(name) {
  const words = String(name).replaceAll(/[_-]+/g, " ").trim();
  return capital(words);
}

/** When a statement holds or held: "from 10 January 2026 to 3 May 2026", "since 3 May 2026"; null if it does not say. */
export function period({ valid_from: since, valid_until: until }) {
  if (since && until) return `from ${day(since)} to ${day(until)}`;
  if (until) return `until ${day(until)}`;
  return since ? `since ${day(since)}` : null;
}

const STATES = { waiting: "waits for confirmation", closed: "no longer holds" };

/** "used 3 times, last on 14 February 2026"; null for an entry that is not counted or was never used. */
export function used({ uses, last_used_at: last }) {
  return uses ? `used ${uses === 1 ? "once" : `${uses} times`}, last on ${day(last)}` : null;
}

/** "importance 0.7, now 0.52"; null for an entry without one. */
export function worth({ importance, live_importance: live }) {
  if (typeof importance !== "number") return null;
  const [before, now] = [importance, live].map((share) => Math.round(share * 100) / 100);
  return now === before ? `importance ${before}` : `importance ${before}, now ${now}`;
}

/**
 * The parts of the sentence about an entry of `GET …/entries`: {text, since, by, proposed, confidence, state, held,
 * verified, cited, worth, used}. Parts that the history does not know are null.
 */
export function entryParts(entry) {
  const { recorded_at: at, recorded_before: before, recorded_by: by, application } = entry;
  return {
    text: entry.text,
    since: at ? `since ${day(at)}` : before ? `since before ${day(before)}` : null,
    by: by ? `by ${by}${application ? ` through ${application}` : ""}` : null,
    proposed: entry.proposed_by && entry.proposed_by !== by ? `proposed by ${entry.proposed_by}` : null,
    confidence: confidence(entry.confidence),
    state: STATES[entry.state] ?? (entry.confirmed ? "confirmed" : null),
    held: period(entry),
    verified: entry.last_verified_at ? `verified on ${day(entry.last_verified_at)}` : null,
    cited: citation(entry.evidence),
    worth: worth(entry),
    used: used(entry),
  };
}

/** The sections of entries in their first order: [{name, entries}]. */
export function bySection(entries) {
  const found = new Map();
  for (const entry of entries) {
    const name = entry.section ?? `${entry.namespace}/${entry.path}`;
    if (!found.has(name)) found.set(name, []);
    found.get(name).push(entry);
  }
  return [...found].map(([name, rows]) => ({ name, entries: rows }));
}

/** The cited messages of a conversation with their neighbours: [{message, cited}]; all of them if none is cited. */
export function inContext(messages, ids) {
  const cited = messages.map(({ message_id: id }) => ids.includes(id));
  if (!cited.includes(true)) return messages.map((message) => ({ message, cited: false }));
  return messages
    .map((message, index) => ({ message, index, cited: cited[index] }))
    .filter(({ index }) => cited.slice(Math.max(0, index - AROUND), index + AROUND + 1).includes(true));
}
