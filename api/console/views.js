// The views in the order of the menu, and the roles that each one needs: those of the API for its first request.

import { catalog } from "./views/catalog.js";
import { confirmations } from "./views/confirmations.js";
import { conflicts } from "./views/conflicts.js";
import { decisions } from "./views/decisions.js";
import { documents } from "./views/documents.js";
import { governance } from "./views/governance.js";
import { history } from "./views/history.js";
import { overview } from "./views/overview.js";
import { prompt } from "./views/prompt.js";
import { recall } from "./views/recall.js";
import { replays } from "./views/replays.js";
import { retractions } from "./views/retractions.js";
import { service } from "./views/service.js";
import { user } from "./views/user.js";

export const GROUPS = [
  { title: "All users", views: [overview, decisions, service, catalog] },
  { title: "This user", views: [user, documents, history, confirmations, conflicts, replays, recall, prompt, retractions, governance] },
];
export const VIEWS = GROUPS.flatMap(({ views }) => views);
/** The first of these that the token may see opens after the sign-in, and when a user is chosen. */
export const HOME = [overview, user, ...VIEWS];
export const USER_HOME = [user, ...VIEWS.filter(({ needsSubject }) => needsSubject)];

const READERS = ["Read", "Admin"];
const AUDITORS = ["Audit", "Admin"];
const NEEDS = {
  overview: AUDITORS,
  decisions: AUDITORS,
  service: ["Admin"],
  catalog: ["Read", "Audit", "Admin"],
  user: ["Read", "Audit", "Admin"],
  documents: READERS,
  history: AUDITORS,
  confirmations: READERS,
  conflicts: ["Replay", "Admin"],
  replays: ["Read", "Replay", "Admin"],
  recall: READERS,
  prompt: READERS,
  retractions: AUDITORS,
  governance: ["Admin"],
};

/** The roles of which a view needs one, without "Memory.". */
export const needs = ({ id }) => NEEDS[id];
