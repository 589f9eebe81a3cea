// What is known about a user, in sentences by section; each says since when, by whom and how sure it is.

import { all, userUrl } from "../../api.js";
import { may } from "../../access.js";
import { badge, button, el, notice } from "../../dom.js";
import { plural } from "../../format.js";
import { histories } from "../../chains.js";
import { statements } from "../../chain_view.js";
import { citedMessages, READING_IS_RECORDED, READS_CONVERSATIONS } from "../../messages.js";
import { bySection, capital, entryParts, moment, reasonWords, title } from "../../sentences.js";
import { claims } from "../../session.js";
import { sourceOf } from "../../retraction_words.js";
import { takeBack } from "../../take_back.js";
import { incomplete, nameOf } from "../../subject.js";

const MOST = 1000;

export async function known({ subject, signal, open }) {
  const { rows, complete } = await all(`${userUrl(subject)}/entries`, "entries", { signal, most: MOST, query: { state: "all" } });
  const pending = rows.filter(({ state }) => state === "waiting");
  const told = rows.filter(({ state }) => state !== "waiting");
  const cites = told.some(({ evidence }) => typeof evidence?.conversation_id === "string");
  return [
    pending.length ? waiting(pending.length, open) : null,
    told.length ? null : el("p", { class: "muted" }, "No document says anything about this user."),
    cites && may(claims().roles, READS_CONVERSATIONS) ? el("p", { class: "hint" }, READING_IS_RECORDED) : null,
    ...bySection(told).map(({ name, entries }) => section(name, entries, subject, signal, open)),
    incomplete(complete, rows.length),
  ].filter(Boolean);
}

const waiting = (number, open) =>
  notice(
    "warn bar-line",
    el("span", {}, `${plural(number, "proposal")} ${number === 1 ? "waits" : "wait"} for a confirmation and ${number === 1 ? "is" : "are"} not known yet.`),
    button("Confirmations", () => open("confirmations")),
  );

function section(name, entries, subject, signal, open) {
  const { held, past } = histories(entries);
  return el(
    "section",
    { class: "known", "aria-label": title(name) },
    el(
      "div",
      { class: "bar-line" },
      el("h3", {}, title(name), " ", el("span", { class: "muted" }, String(held.length))),
      el("div", { class: "actions" }, [...new Set(entries.map(nameOf))].map((document) => button(document, () => open("documents", { document }), { kind: "link" }))),
    ),
    el(
      "ul",
      { class: "entries", role: "list" },
      held.map(({ entry, earlier }) => line(entry, earlier, subject, signal, open)),
    ),
    past.length ? el("details", { class: "raw" }, el("summary", {}, `${plural(past.length, "entry", "entries")} no longer ${past.length === 1 ? "holds" : "hold"}`), statements(past)) : null,
  );
}

function line(entry, earlier, subject, signal, open) {
  const [opener, messages] = [citedMessages(subject, entry.evidence, signal) ?? []].flat();
  const { text, since, by, proposed, confidence, state, held, verified, cited, worth, used } = entryParts(entry);
  const origin = [since, by].filter(Boolean).join(" ") || "from before the recorded history";
  const learnt = entry.reason && !entry.confirmed ? reasonWords(entry.reason) : null;
  const rest = [learnt, held ? `holds ${held}` : null, proposed, cited, verified, worth, used, entry.confirmed ? null : state].filter(Boolean);
  return el(
    "li",
    { class: "entry" },
    el(
      "div",
      { class: "entry-head" },
      el("p", { class: "entry-text", title: entry.pointer }, text),
      entry.confirmed ? badge(state, "good") : null,
      confidence ? badge(confidence, tone(entry)) : null,
    ),
    el(
      "p",
      { class: "by" },
      el("span", { title: entry.recorded_at ? moment(entry.recorded_at) : null }, capital(origin)),
      rest.map((part) => [" · ", part]),
      ".",
    ),
    earlier.length ? statements(earlier) : null,
    el("div", { class: "actions" }, opener, takeBack(sourceOf(entry.evidence), open)),
    messages,
  );
}

const tone = ({ confidence }) => (Number(confidence) >= 0.8 ? "" : "warn");
