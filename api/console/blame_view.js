// Where a value comes from: a button at each value of a document, and below it what the history knows of the value.

import { documentUrl, get } from "./api.js";
import { badge, button, el, facts, put } from "./dom.js";
import { refusal } from "./dialog.js";
import { code, time } from "./format.js";
import { inline } from "./json_view.js";
import { citedMessages } from "./messages.js";
import { sourceOf } from "./retraction_words.js";
import { confidence } from "./sentences.js";
import { takeBack } from "./take_back.js";

/** The roles that read where values come from. */
export const READS_BLAME = ["Audit", "Admin"];

const KINDS = {
  restated: "Stated again",
  proposed: "Proposed",
  merged: "Merged from an entry",
  returned: "Returned by upkeep, put",
  copied: "Copied here",
};

const step = (name) => String(name).replaceAll("~", "~0").replaceAll("/", "~1");

/** The pointer in a document of the value at these names below its content. */
export const pointerOf = (names) => ["/content", ...names.map(step)].join("/");

const blameUrl = (subject, { namespace, path }) => documentUrl(subject, namespace, path).replace("/documents/", "/blame/");

/** Who, when, why, by which rule and on which evidence, of one origin. */
function origin(row, { subject, signal, open }) {
  if (!row.change_id) return el("p", {}, "Recorded before ", time(row.recorded_before), ".");
  const rule = row.profile_id ? `${row.profile_id} ${row.profile_version} / ${row.binding_id}` : null;
  return [
    facts(
      [
        ["Written by", row.application ? `${row.recorded_by} through ${row.application}` : row.recorded_by],
        ["Time", time(row.recorded_at)],
        row.confirmed ? ["Confirmed", row.proposed_by ? `by ${row.recorded_by}, proposed by ${row.proposed_by}` : `by ${row.recorded_by}`] : null,
        ["Reason", row.reason],
        ["Rule", rule],
        ["Confidence", confidence(row.confidence)],
        ["Evidence", row.evidence ? inline(row.evidence) : null],
        ["Change", [code(row.change_id), ` operation ${row.op_index} (${row.op})`]],
      ].filter((pair) => pair && pair[1] !== null && pair[1] !== undefined),
    ),
    el("div", { class: "actions" }, takeBack(sourceOf(row.evidence), open)),
    citedMessages(subject, row.evidence, signal),
  ];
}

/** What the history knows of one value. */
export function blamed(row, context) {
  return el(
    "div",
    { class: "blame" },
    row.confirmed ? badge("confirmed", "good") : null,
    origin(row, context),
    row.further.length ? el("h4", {}, "Further changes") : null,
    row.further.map((one) => el("div", {}, el("p", {}, el("strong", {}, KINDS[one.kind])), origin(one, context))),
    row.before.length ? el("h4", {}, "Before") : null,
    row.before.map((one) => el("div", {}, el("p", {}, el("del", {}, inline(one.value))), origin(one, context))),
    row.before_known ? null : el("p", { class: "muted" }, "What was there before is no longer kept."),
  );
}

/** A function that returns, for the names of a value below the content, a button that shows where it comes from. */
export function whyOf(context, listed) {
  const { subject, signal } = context;
  return (names) => {
    const place = el("div", { class: "cited-place", "aria-live": "polite" });
    const pointer = pointerOf(names);
    const show = async () => {
      const open = place.hasChildNodes();
      opener.setAttribute("aria-expanded", String(!open));
      if (open) return put(place);
      try {
        const { values } = await get(blameUrl(subject, listed), { signal, query: { pointer, limit: 1 } });
        put(place, blamed(values[0], context));
      } catch (error) {
        if (error.name !== "AbortError") put(place, refusal(error));
      }
    };
    const opener = button("Why", show, { kind: "quiet", "aria-expanded": "false", "aria-label": `Why ${pointer}` });
    return [" ", opener, place];
  };
}
