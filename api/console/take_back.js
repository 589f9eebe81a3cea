// The link from a source to its retraction, for those who may plan one.

import { may } from "./access.js";
import { button } from "./dom.js";
import { sourceWords } from "./retraction_words.js";
import { claims } from "./session.js";

/** The roles that plan, apply and undo retractions. */
export const TAKES_BACK = ["Admin"];

/** A button that opens the retractions with this source filled in; null without a source or the role. */
export function takeBack(source, open) {
  if (!source || !may(claims().roles, TAKES_BACK)) return null;
  const label = "Take this source back";
  const named = `${label}: ${sourceWords(source)}`;
  return button(label, () => open("retractions", { source }), { kind: "link", "aria-label": named });
}
