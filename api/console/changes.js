// Audit records in words: each change of a document as a sentence. Pure; the contents follow from the operations.

import { canonical, isObject } from "./exact.js";
import { edits, memberChanges, placeName, textOf } from "./edits.js";
import { at, patched, segments } from "./patch.js";
import { citation, day, enumerate } from "./sentences.js";

const UNKNOWN = Symbol("a content that the records do not give");
const WHOLE = "/content";
const ERASED = "Its content was erased with its key.";
const UNREAD = "The version before is not stored.";
const UPKEEP = new Set(["compaction", "freshness"]);
const CAUSES = {
  expired: "because it had expired",
  merged: "because an equal entry says the same",
  trimmed: "because the section was full",
};
const quoted = (value) => ({ quote: textOf(value) });
const named = (name) => ({ name: String(name) });

/**
 * The records of one document, oldest first, as sentences: [{kind, who, lead, clauses, tail, more}]. A clause is a list
 * of parts: a text, {quote} or {name}; `lead` is what was done to the document as a whole, `more` are whole sentences.
 * `first`: the content after the first record, where earlier records are not stored. `needed(item, reason)`: the
 * confidence that a proposal needed, 0 if unknown.
 */
export function narrate(records, { first = UNKNOWN, needed = () => 0 } = {}) {
  let content = records[0]?.pre_etag ? UNKNOWN : undefined;
  let sequence = records[0]?.sequence;
  return records.map((record, index) => {
    const before = record.sequence === sequence ? content : UNKNOWN;
    content = contentAfter(record, before);
    if (index === 0 && content === UNKNOWN && record.ops) content = first;
    sequence = record.sequence + 1;
    return sentence(record, before, content, needed);
  });
}

function contentAfter(record, before) {
  const whole = record.ops?.[0]?.path === WHOLE;
  if (!record.ops || (before === UNKNOWN && !whole)) return UNKNOWN;
  const document = before === UNKNOWN || before === undefined ? {} : { content: before };
  // A removal of the whole needs no content before it.
  if (before === UNKNOWN && record.ops[0].op === "remove") return undefined;
  try {
    return patched(document, record.ops).content;
  } catch {
    return UNKNOWN; // the records were altered, which the verification of the history reports
  }
}

function sentence(record, before, after, needed) {
  const who = UPKEEP.has(record.reason) ? "Upkeep" : record.actor;
  const tail = [citationOf(record.evidence), retractionOf(record), record.note ? `note: “${record.note}”` : null].filter(Boolean);
  const told = (kind, lead, clauses = [], more = []) => ({ kind, who, lead, clauses, tail, more: [...new Set(more)] });
  if (!record.ops) return { ...told("erased", unread(record), [], [ERASED]), tail: [] };
  if (after === undefined) return { ...told("deleted", `deleted the document${whyDeleted(record)}`), tail: [] };
  const isWhole = record.ops[0]?.path === WHOLE;
  if (before === UNKNOWN || after === UNKNOWN) {
    if (isWhole) return told(wholeKind(record), whole(record));
    return told(kindOf(record), `${unread(record)} in ${touched(record.ops)}`, [], [UNREAD]);
  }
  const change = { record, found: edits(before, after) };
  if (record.reason === "rejection") return told("rejected", null, rejection(change));
  if (UPKEEP.has(record.reason)) return told("upkeep", null, maintenance(change));
  const settled = confirmation(change);
  if (settled) return told("confirmed", null, settled);
  const clauses = statementClauses(change);
  if (isWhole) return told(wholeKind(record), whole(record), clauses);
  if (!clauses.length) return told("changed", "changed nothing");
  const proposals = change.found.filter(isProposed).map((edit) => whyItWaits(edit.after, record, needed));
  return told(proposals.length ? "proposed" : "changed", null, clauses, proposals);
}

/** The sentence as plain text. */
export function plainText({ who, lead, clauses, tail, more }) {
  const text = (part) => (typeof part === "string" ? part : "quote" in part ? `“${part.quote}”` : part.name);
  const told = enumerate([...(lead ? [lead] : []), ...clauses.map((parts) => parts.map(text).join(""))]);
  return [`${[`${who} ${told}`, ...tail].join(", ")}.`, ...more].join(" ");
}

const isProposal = (value) => isObject(value) && isObject(value.target) && "proposed_by" in value;
const isProposed = ({ before, after }) => before === undefined && isProposal(after);
const citationOf = (evidence) => (isObject(evidence) ? citation(evidence) : null);

/** The retraction that a change belongs to; the evidence of an undo says what it restores. */
function retractionOf({ reason, evidence }) {
  if (reason !== "retraction" || typeof evidence?.retraction_id !== "string") return null;
  return `in ${"restores" in evidence ? "the undo of " : ""}retraction ${evidence.retraction_id}`;
}

const noteOf = (record) => (typeof record.note === "string" ? record.note : "");

/** What a change did, where its content or the one before it is not known. */
function unread(record) {
  if (!record.pre_etag) return "created the document";
  if (record.reason === "confirmation") return "confirmed a proposal";
  return record.reason === "rejection" ? "rejected a proposal" : "changed the document";
}

const touched = (ops) =>
  enumerate([
    ...new Set(ops.filter(({ op }) => op !== "test").map(({ path }) => segments(path)[1].replaceAll("_", " "))),
  ]);

function kindOf({ reason }) {
  if (reason === "confirmation") return "confirmed";
  if (reason === "rejection") return "rejected";
  return UPKEEP.has(reason) ? "upkeep" : "changed";
}

function wholeKind(record) {
  if (isObject(record.evidence) && "import" in record.evidence) return "imported";
  if (/migration /.test(noteOf(record))) return "migrated";
  return record.pre_etag ? "replaced" : "created";
}

function whole(record) {
  const kind = wholeKind(record);
  const schema = `${record.schema_id} ${record.schema_version}`;
  if (kind === "imported") return "imported the document";
  if (kind === "created") return "created the document";
  if (kind === "replaced") return "replaced the whole document";
  return noteOf(record).startsWith("rollback")
    ? `rolled the document back to ${schema}`
    : `migrated the document to ${schema}`;
}

function whyDeleted(record) {
  const note = noteOf(record);
  if (/migration /.test(note)) return `, as ${note}`;
  return note ? `, note: “${note}”` : "";
}

/** One edit in words. */
function clause({ path, before, after, entry }) {
  if (before === undefined && isProposal(after)) return proposal(after);
  if (isProposal(before) && isProposal(after)) return sameProposal(before, after);
  if (after === undefined && isProposal(before)) return ["removed the proposal ", { quote: proposalText(before) }];
  const place = placeName(path);
  if (before === undefined) return [entry ? `added ${place} ` : `set ${place} to `, quoted(after)];
  if (after === undefined) return [entry ? `removed ${place} ` : `removed ${place}, `, quoted(before)];
  if (!entry || !isObject(before) || !isObject(after))
    return [`replaced ${place} `, quoted(before), " with ", quoted(after)];
  if (textOf(before) !== textOf(after) && typeof after.text === "string")
    return [`replaced ${place} `, quoted(before), " with ", quoted(after)];
  return sameEntry(place, before, after);
}

function sameEntry(place, before, after) {
  const [open, closed] = [before, after].map(({ valid_until: until }) => !until);
  const members = memberChanges(before, after);
  if (!open && closed) return [`opened ${place} `, quoted(after), " again"];
  if (open && !closed) return [`closed ${place} `, quoted(after), `, which held until ${day(after.valid_until)}`];
  if (members.every((name) => name === "evidence")) return [`added a source to ${place} `, quoted(after)];
  return [`changed ${place} `, quoted(after), `: ${enumerate(members)}`];
}

/** The clauses of a change that may state something: a statement and the one that it replaced are one clause. */
function statementClauses({ record, found }) {
  const entries = found.filter(({ entry }) => entry);
  const added = (id) => entries.find(({ before, after }) => before === undefined && isObject(after) && after.id === id);
  const linked = (id) => entries.find(({ before, after }) => isObject(before) && isObject(after) && after.id === id);
  const links = new Set();
  const told = new Map();
  for (const { verdict, entry_id: id, replaces, replaced_by: successor } of record.settled ?? []) {
    const own = added(id);
    if (!own) continue;
    const old = linked(replaces);
    for (const edit of [old, linked(successor)]) if (edit) links.add(edit);
    const place = placeName(own.path);
    if (verdict === "late") told.set(own, [`added ${place} `, quoted(own.after), ", which held earlier"]);
    else if (old) told.set(own, [`replaced ${place} `, quoted(old.after), " with ", quoted(own.after)]);
  }
  return found.filter((edit) => !links.has(edit)).map((edit) => told.get(edit) ?? clause(edit));
}

const proposalText = (item) => (typeof item.text === "string" ? item.text : textOf(item.target.value ?? item));
const targetName = (item) => placeName(segments(String(item.target.path ?? "")).slice(1));

const alternatives = (item) => (Array.isArray(item.alternatives) ? item.alternatives.filter(isProposal) : []);

/** A proposal that waits already: another one joined its question, or the same was said again. */
function sameProposal(before, after) {
  const known = alternatives(before).length;
  const joined = alternatives(after).slice(known);
  if (joined.length && typeof after.question === "string")
    return [...joined.flatMap((item, index) => [index ? " and " : "", ...proposal(item)]), " as one more answer to ", { quote: after.question }];
  const text = { quote: proposalText(after) };
  const sources = memberChanges(before, after).every((name) => ["evidence", "stated", "target", "also proposed by"].includes(name));
  return sources ? ["added a source to the proposal ", text] : ["changed the proposal ", text];
}

/** What a proposal wants, in words. */
export function proposal(item) {
  const [name, text] = [targetName(item), { quote: proposalText(item) }];
  if (item.target.op === "remove") return [`proposed to remove ${name} `, text];
  if (item.target.op === "replace") return [`proposed to change ${name} to `, text];
  if (item.target.op === "move") return [`proposed to move ${name} `, text];
  return [`proposed ${name} `, text];
}

/** What a proposal aims at, as the beginning of a sentence: "New durable fact", "Change of the summary". */
export function aim(item) {
  const name = targetName(item);
  if (item.target.op === "add" || item.target.op === "copy") return `New ${name.replace(/^the /, "")}`;
  return `${{ remove: "Removal", move: "Move" }[item.target.op] ?? "Change"} of ${name}`;
}

function whyItWaits(item, record, needed) {
  const least = needed(item, record.reason);
  if (item.confidence === null || item.confidence === undefined) {
    return `The proposal has no confidence${least ? ` (${least} is needed)` : ""}: it waits for confirmation.`;
  }
  if (Number(item.confidence) >= least) return "The proposal waits for confirmation.";
  return `The proposal was not sure enough (${item.confidence} of ${least}): it waits for confirmation.`;
}

const proposer = (item) =>
  item.on_behalf_of && item.on_behalf_of !== item.proposed_by
    ? [named(item.proposed_by), " for ", named(item.on_behalf_of)]
    : [named(item.proposed_by)];

const proposedBy = (item) => [
  ", which ",
  ...proposer(item),
  " proposed",
  ...(typeof item.proposed_at === "string" ? [` on ${day(item.proposed_at)}`] : []),
];

const isQuestion = (item) => item.contradicts !== undefined;
const proposalsOf = (item) => [item, ...alternatives(item)];
const questionOf = (item) => ({ quote: typeof item.question === "string" ? item.question : "Which is right?" });

/** The answer to a question; the last statement that the record settled is the proposal that was taken. */
function answer(item, record, rest) {
  const settled = (record.settled ?? []).at(-1);
  const entry = rest.find(({ after }) => isObject(after) && after.id === settled?.entry_id)?.after;
  const there = { quote: Array.isArray(item.choices) ? String(item.choices[0]) : "" };
  const name = targetName(item);
  const begin = ["answered ", questionOf(item)];
  if (record.evidence?.take === "existing") return [...begin, ` with ${name} `, there, ", which stays"];
  const text = entry ? textOf(entry) : proposalText(item);
  const source = proposalsOf(item).find((one) => proposalText(one) === text);
  const taken = [`${name} `, { quote: text }, ...(source ? proposedBy(source) : [])];
  if (record.evidence?.take === "both") return [...begin, ` with both: ${name} `, there, " stays, beside ", ...taken];
  return [...begin, " with ", ...taken, ...(settled?.replaces ? [", in place of ", there] : [])];
}

/** The clauses of a confirmation, also of one that a product wrote as a patch; null if the change is none. */
function confirmation({ record, found }) {
  const items = found.filter(({ before: old, after }) => isProposal(old) && after === undefined);
  const rest = found.filter((edit) => !items.includes(edit));
  if (!items.length || (record.reason !== "confirmation" && !rest.length)) {
    return record.reason === "confirmation" ? [["confirmed a proposal"]] : null;
  }
  const confirmed = items.map(({ before: item }) => {
    if (isQuestion(item)) return answer(item, record, rest);
    const text = proposalText(item);
    const written = rest.find(({ path, after }) => after !== undefined && isTarget(path, item));
    const now = written ? textOf(written.after) : text;
    return [
      `confirmed ${targetName(item)} `,
      { quote: text },
      ...(now === text || item.target.op === "remove" ? [] : [" as ", { quote: now }]),
      ...proposedBy(item),
      ...(rest.length ? [] : ["; the document said so already"]),
    ];
  });
  const others = rest.filter(({ path }) => !items.some(({ before: item }) => isTarget(path, item)));
  return [...confirmed, ...statementClauses({ record, found: others })];
}

/** Whether a place is in the section that a proposal is about. */
function isTarget(path, item) {
  const names = segments(String(item.target.path ?? "")).slice(1);
  const section = names.slice(0, Math.max(1, names.findIndex((name) => /^(-|\d+)$/.test(name))));
  return section.every((name, index) => path[index] === name);
}

function rejection({ record, found }) {
  return found.map((edit) => {
    const item = edit.before;
    if (!isProposal(item)) return clause(edit);
    const several = proposalsOf(item).map((one) => ({ quote: proposalText(one) }));
    if (several.length > 1) return ["rejected the proposals ", ...several.flatMap((text, index) => (index ? [" and ", text] : [text]))];
    if (item.proposed_by === record.actor) return ["withdrew the proposal ", { quote: proposalText(item) }];
    return ["rejected the proposal ", { quote: proposalText(item) }, " of ", ...proposer(item)];
  });
}

/** The clauses of upkeep: what it removed, and why; what it wants to have confirmed again. */
function maintenance({ record, found }) {
  const returned = found.map(({ after }) => after).filter((item) => isProposal(item));
  const moved = new Set(returned.map(({ target }) => canonical(target.value)));
  return found
    .filter(({ before: old, after }) => after !== undefined || !moved.has(canonical(old)))
    .map((edit) => {
      if (isProposed(edit)) return reconfirmation(edit.after);
      if (edit.after !== undefined) return clause(edit);
      const what = isProposal(edit.before)
        ? ["removed the proposal ", { quote: proposalText(edit.before) }]
        : [`removed ${placeName(edit.path)} `, quoted(edit.before)];
      return [...what, ` ${cause(edit.before, record)}`];
    });
}

function reconfirmation(item) {
  const verified = at(item.target.value, ["last_verified_at"]);
  const since = typeof verified === "string" ? `; it was last verified on ${day(verified)}` : "";
  return [`asked for a new confirmation of ${targetName(item)} `, { quote: proposalText(item) }, since];
}

function cause(entry, record) {
  const counts = isObject(record.evidence) && isObject(record.evidence.entries) ? record.evidence.entries : {};
  const causes = Object.keys(CAUSES).filter((name) => name in counts);
  const ends = isObject(entry) && typeof entry.expires_at === "string" ? Date.parse(entry.expires_at) : NaN;
  const likely = ends <= Date.parse(record.timestamp) ? ["expired"] : causes.filter((name) => name !== "expired");
  const told = causes.length === 1 ? causes : causes.length ? likely : [];
  return told.length ? told.map((name) => CAUSES[name]).join(" or ") : "by the rules of the profile";
}
