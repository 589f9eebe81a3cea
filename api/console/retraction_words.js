// Retractions in words: sources, states, and what happens to values and items. Pure.

import { isRaw } from "./exact.js";

const several = (names) => (names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : names[0]);
const plural = (number, one, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;

/**
 * The kinds of sources with the members that name each: [member, label, whether it is needed, hint].
 */
export const SOURCES = {
  conversation: {
    title: "A conversation",
    fields: [
      ["conversation_id", "Conversation", true],
      ["message_ids", "Messages (optional)", false, "One id a line. Without ids the whole conversation is taken back."],
    ],
  },
  snapshot: {
    title: "A snapshot or a turn",
    fields: [
      ["conversation_id", "Conversation", true],
      ["snapshot_id", "Snapshot", true],
    ],
  },
  replay: { title: "A replay", fields: [["replay_id", "Replay", true]] },
  event: { title: "An event", fields: [["event_id", "Event", true]] },
  actor: {
    title: "A principal",
    fields: [
      ["actor", "Principal", true],
      ["since", "From (optional)", false, "Such as 2026-02-14T20:00:00Z."],
      ["until", "Until (optional)", false, "Such as 2026-02-15T20:00:00Z."],
    ],
  },
  model: {
    title: "A model or a prompt",
    fields: [
      ["model", "Model", false],
      ["prompt_sha256", "SHA-256 of the prompt", false, "Enter the model, the hash, or both."],
    ],
  },
};

/** The fates of values: a heading, and what it means. */
export const FATES = {
  removed: ["Removed", "These values rest on the source alone."],
  put_back: ["Put back", "These values rest on the source alone. The value before each of them returns."],
  stripped: ["Evidence withdrawn", "Another change has stated these values, too. They stay without the evidence of the source."],
  reopened: ["Reopened", "The source had closed or split these statements. They hold again."],
  unresolved: ["Unresolved", "These values stay although they rest on the source."],
};

const WHYS = {
  older_than_history: "The change that put it is no longer kept.",
  schema: "Without it the document would violate its schema.",
  limit: "Without it the document would violate a limit.",
  denied: "Without it the document would have a field that the profile denies.",
  read_only: "No profile may write the document.",
  not_proven: "The service could not prove that nothing else would change.",
};

const ITEM_FATES = { close: "is closed", remove: "is removed", strip: "loses what rests on the source" };

/** Why a value stays. */
export const whyStays = (why) => WHYS[why] ?? String(why);

/** What happens to an item. */
export const itemFate = (fate) => ITEM_FATES[fate] ?? String(fate);

/** A source: "conversation c1, messages m1 and m2". */
export function sourceWords(source) {
  const { conversation_id: conversation, message_ids: messages, since, until } = source;
  switch (source.kind) {
    case "conversation":
      if (!messages?.length) return `conversation ${conversation}`;
      return `conversation ${conversation}, ${messages.length > 1 ? "messages" : "message"} ${several(messages)}`;
    case "snapshot":
      return `snapshot ${source.snapshot_id} of conversation ${conversation}`;
    case "replay":
      return `replay ${source.replay_id}`;
    case "event":
      return `event ${source.event_id}`;
    case "actor":
      return [`principal ${source.actor}`, since && `from ${since}`, until && `until ${until}`].filter(Boolean).join(" ");
    case "model":
      return [source.model && `model ${source.model}`, source.prompt_sha256 && `prompt ${source.prompt_sha256}`]
        .filter(Boolean)
        .join(", ");
  }
  return String(source.kind);
}

/** The counts of a retraction: "2 removed, 1 evidence withdrawn, 3 items". */
export function countWords({ items, ...fates }) {
  const values = Object.keys(FATES)
    .filter((fate) => fates[fate])
    .map((fate) => `${fates[fate]} ${FATES[fate][0].toLowerCase()}`);
  const all = items ? [...values, plural(items, "item")] : values;
  return all.length ? all.join(", ") : "nothing";
}

/** The source that an evidence names: the messages, the conversation or the event; null if it names none. */
export function sourceOf(evidence) {
  const { conversation_id: conversation, message_ids: messages, event_id: event } = evidence ?? {};
  const ids = Array.isArray(messages) ? messages.filter((id) => typeof id === "string") : [];
  if (typeof conversation === "string")
    return { kind: "conversation", conversation_id: conversation, ...(ids.length ? { message_ids: ids } : {}) };
  return typeof event === "string" ? { kind: "event", event_id: event } : null;
}

/** What a person may do with a retraction now; `principal` is that person. */
export function choices({ status, undone_by: undoneBy, needs_another: needsAnother, planned_by: plannedBy }, principal) {
  const waits = status === "planned" || status === "failed";
  return {
    apply: waits && !undoneBy,
    needsAnother: waits && !undoneBy && needsAnother && plannedBy === principal,
    undo: waits || status === "applied" || status === "partial",
  };
}

/** Whether a value is there; JSON's null in a plan means that there is none. */
export const isThere = (value) => isRaw(value) || (value !== null && value !== undefined);
