// Sentences about an entry: when it was recorded, by which product, and from which source.

import { now } from "/console/assets/api.js";
import { el } from "/console/assets/dom.js";

const DAY = new Intl.DateTimeFormat("en-GB", { dateStyle: "long" });
const BY = {
  live_update: "Recorded by ",
  replay_update: "Learnt from a conversation by ",
  admin_migration: "Entered by the administrator ",
  compaction: "Kept in order by ",
  freshness: "Kept in order by ",
  retraction: "Put back by ",
};

/** A day, with the exact time for a program. */
export function day(text) {
  const moment = Date.parse(text ?? "");
  return Number.isNaN(moment) ? String(text) : el("time", { datetime: text, title: text }, DAY.format(moment));
}

const name = (principal, me) => (principal === me ? "you" : el("strong", {}, principal));

/** Who recorded an entry, when and under which product: nodes of one or two sentences. */
export function origin(row, me) {
  if (row.recorded_before) return ["Recorded before ", day(row.recorded_before), "."];
  const product = row.recorded_under ? [" for ", el("strong", {}, row.recorded_under)] : [];
  if (row.confirmed) {
    return [
      ...["Confirmed by ", name(row.recorded_by, me), " on ", day(row.recorded_at), product, ". "],
      ...["Proposed by ", name(row.proposed_by, me), " on ", day(row.proposed_at), "."],
    ];
  }
  const by = row.state === "waiting" ? "Proposed by " : (BY[row.reason] ?? BY.live_update);
  const through = row.recorded_by === me && row.application ? [" through ", el("strong", {}, row.application)] : [];
  return [by, name(row.recorded_by, me), through, " on ", day(row.recorded_at), product, "."];
}

/** Where the words come from; null: the entry has no evidence. */
export function source({ evidence, recorded_by: by }, me) {
  if (!evidence) return null;
  if (evidence.stated_by === me && by === me) return "You stated this yourself.";
  if (typeof evidence.conversation_id !== "string") return null;
  const ids = Array.isArray(evidence.message_ids) ? evidence.message_ids.filter((id) => typeof id === "string") : [];
  const messages = ids.length ? [ids.length > 1 ? ", messages " : ", message ", el("code", {}, ids.join(", "))] : [];
  return ["Said in the conversation ", el("code", {}, evidence.conversation_id), messages, "."];
}

/** Whether products no longer get the entry, because it has expired. */
export const isExpired = ({ expires_at: ends }) => Date.parse(ends ?? "") <= now();

/** Since when the entry holds, and when it expires or has expired; null: it does not say. */
export function lifetime(row) {
  const since = row.valid_from ? [" It holds since ", day(row.valid_from), "."] : null;
  if (!row.expires_at) return since;
  return isExpired(row)
    ? [since, " Products no longer get it: it expired on ", day(row.expires_at), "."]
    : [since, " It expires on ", day(row.expires_at), "."];
}

/** Until when a closed statement held, as the beginning of a sentence. */
export const until = ({ valid_until: ends }) => (ends ? ["Until ", day(ends), ": "] : ["Earlier: "]);

/** A failure in words, without the API's details. */
export function failure(error) {
  const known = {
    UNAUTHENTICATED: "You are signed out. Open this page from the product again, or paste a new token.",
    USER_FORBIDDEN: "This token is not that of a signed-in person. Open this page from a product that you use.",
    ROLE_REQUIRED: "Your sign-in allows you to read, not to change. Sign in with the right to write.",
    PROPOSER_CANNOT_CONFIRM: "This was proposed in your own name, so someone else must confirm it. You can reject it.",
    PENDING_TARGET_CHANGED: "What this proposal would change has changed meanwhile. You can reject it.",
    QUOTA_EXCEEDED: "Too many requests. Wait a minute and try again.",
    UNREACHABLE: "The service does not answer. Check your connection and try again.",
  };
  return known[error.code] ?? error.message ?? "The page failed.";
}

/** Whether the service refused because a newer version exists. */
export const isStale = ({ code }) =>
  ["ETAG_MISMATCH", "PATCH_TEST_FAILED", "PATCH_NOT_APPLICABLE", "PENDING_ITEM_NOT_FOUND"].includes(code);
