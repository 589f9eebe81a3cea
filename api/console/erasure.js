// The erasure of a user: the dialog that asks for it, and an erasure followed to its end.

import { call, idempotencyKeys, userUrl } from "./api.js";
import { announce, badge, el, facts, notice } from "./dom.js";
import { ask, typed } from "./dialog.js";
import { follow } from "./following.js";
import { code, count, time } from "./format.js";
import { tree } from "./json_view.js";
import { isStored } from "./subject.js";

const TONES = { complete: "good", partial: "warn", running: "info" };

/**
 * Ask for a confirmation and request the erasure. Returns the erasure, only its id if one runs already, or undefined if
 * it is cancelled or nothing is stored about the user. Raises Refusal.
 */
export async function askToErase(subject) {
  if (!(await isStored(subject))) {
    announce(`No memory is stored for ${subject.user}: there is nothing to erase.`, true);
    return undefined;
  }
  const url = userUrl(subject);
  // One key while the dialog is open: pressing twice requests one erasure.
  const headers = { "Idempotency-Key": idempotencyKeys()(url) };
  const answer = await ask("Erase the memory of this user", {
    body: [
      el(
        "p",
        {},
        "Every document, conversation, event, job and audit record of the user is deleted permanently. This cannot be undone.",
      ),
    ],
    fields: [typed(subject.user, `Type the user's id, ${subject.user}`)],
    verb: "Erase everything",
    tone: "danger",
    act: () => call("DELETE", `${url}/memory`, { headers }).catch(already),
  });
  if (answer?.runs) announce("An erasure is already running; showing its status.", true);
  return answer && (answer.runs ? { erasure_id: answer.runs } : answer.body);
}

/** The running erasure of the user, if a request is refused because of it. */
function already(error) {
  const runs = error.code === "ERASURE_RUNNING" ? error.details.erasure_id : null;
  if (!runs) throw error;
  return { runs };
}

/** A function that shows an erasure and follows it; only the last one is followed. */
export function follower(subject, result, signal) {
  let following = new AbortController();
  signal.addEventListener("abort", () => following.abort(), { once: true });
  return (erasureId, known = null) => {
    following.abort();
    following = new AbortController();
    const url = `${userUrl(subject)}/erasures/${encodeURIComponent(erasureId)}`;
    follow(url, result, following.signal, {
      known,
      parts: erasureParts,
      running: ["running"],
      says: ({ status }) => `The erasure is ${status}.`,
    });
  };
}

/** An erasure as facts, with its receipt. */
export function erasureParts(told) {
  return [
    facts([
      ["Erasure", code(told.erasure_id)],
      ["Status", badge(told.status, TONES[told.status] ?? "")],
      ["Accepted", time(told.accepted_at)],
      ["Earliest completion", told.settled_at ? time(told.settled_at) : null],
      ["Removed", count(Object.values(told.removed).reduce((sum, number) => sum + number, 0))],
      ["Failing", Object.entries(told.failing).map(([store, why]) => `${store}: ${why}`).join(", ") || null],
    ]),
    told.status === "partial"
      ? notice("warn", "Some data remains: the receipt lists it with the reason. Erase again when no hold covers it.")
      : null,
    told.receipt ? el("div", { class: "tree" }, tree(told.receipt, "receipt")) : null,
  ];
}
