// A user's events and conversations, and who read the conversations.

import { all, get, userUrl } from "../../api.js";
import { badge, button, el } from "../../dom.js";
import { count, time } from "../../format.js";
import { takeBack } from "../../take_back.js";
import { incomplete } from "../../subject.js";

const SHOWN = 20;
const MOST = 500;
const STATUSES = {
  queued: ["waits for extraction", "info"],
  running: ["extraction runs", "info"],
  succeeded: ["extracted", "good"],
  partial: ["partly extracted", "warn"],
  failed: ["extraction failed", "bad"],
};

const none = (text) => el("p", { class: "muted" }, text);

/** A list that begins with the first rows and shows the next ones on request. */
function growing(rows, line, more) {
  const list = el("ul", { class: "rows", role: "list" }, rows.map(line));
  const grow = async () => {
    const { rows: next, more: rest } = await more();
    list.append(...next.map(line));
    if (!rest) button_.remove();
    more = rest;
  };
  const button_ = more ? button("Show more", grow) : null;
  return [list, button_].filter(Boolean);
}

/** What happened, the newest first. */
export async function events({ subject, signal }) {
  const page = async (cursor) => {
    const { events: rows, next_cursor: next } = await get(`${userUrl(subject)}/events`, { query: { limit: SHOWN, cursor }, signal });
    return { rows, more: next ? () => page(next) : null };
  };
  const { rows, more } = await page(null);
  if (!rows.length) return none("No event is stored.");
  return growing(
    rows,
    (event) =>
      el("li", {}, el("p", {}, event.digest), el("p", { class: "by muted" }, time(event.timestamp), event.service_id ? ` by ${event.service_id}` : null)),
    more,
  );
}

/** The stored conversations with what became of each. */
export async function conversations({ subject, signal, open }) {
  const { rows, complete } = await all(`${userUrl(subject)}/conversations`, "conversations", { signal, most: MOST });
  if (!rows.length) return none("No conversation is stored.");
  const line = (row) => {
    const [words, tone] = STATUSES[row.status] ?? [row.status, ""];
    return el(
      "li",
      {},
      el(
        "p",
        { class: "bar-line" },
        row.replay_id
          ? button(row.conversation_id, () => open("replays", { replay: row.replay_id }), { kind: "link" })
          : el("strong", {}, row.conversation_id),
        row.status ? badge(words, tone) : null,
      ),
      el(
        "p",
        { class: "by muted" },
        time(row.created_at),
        row.service_id ? ` by ${row.service_id}` : null,
        row.snapshots > 1 ? `, the newest of ${row.snapshots}` : null,
      ),
      takeBack({ kind: "conversation", conversation_id: row.conversation_id }, open),
    );
  };
  return [...inSteps(rows, line), incomplete(complete, rows.length)].filter(Boolean);
}

/** What an access record says. */
function accessed({ operation, conversation_id: conversation, include_conversations: whole, reason }) {
  if (operation !== "export_user") return ` read conversation ${conversation}`;
  return ` exported the memory ${whole ? "with" : "without"} the conversations${reason ? `: ${reason}` : ""}`;
}

/** Who read conversations or exported the memory, the newest first. */
export async function reads({ subject, signal }) {
  const { rows, complete } = await all(`${userUrl(subject)}/accesses`, "accesses", { signal, most: MOST });
  if (!rows.length) return none("No conversation was read and nothing was exported.");
  const line = (row) =>
    el(
      "li",
      {},
      el("p", {}, el("strong", {}, row.principal), row.application ? ` through ${row.application}` : null, accessed(row)),
      el("p", { class: "by muted" }, time(row.accessed_at)),
    );
  return [...inSteps(rows.toReversed(), line), incomplete(complete, rows.length)].filter(Boolean);
}

/** Rows that are here already, some at a time. */
function inSteps(rows, line) {
  const step = (from) => ({
    rows: rows.slice(from, from + SHOWN),
    more: from + SHOWN < rows.length ? async () => step(from + SHOWN) : null,
  });
  const { rows: first, more } = step(0);
  return [
    ...growing(first, line, more),
    more ? el("p", { class: "hint" }, `${count(rows.length)} in all.`) : null,
  ].filter(Boolean);
}
