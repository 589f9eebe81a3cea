// A user's documents with the rules of the profiles, for several views.

import { all, call, documentUrl, each, now, userUrl } from "./api.js";
import { el, notice } from "./dom.js";
import { count } from "./format.js";
import { freshness, loadProfiles, pendingIn, rulesFor } from "./profiles.js";

const MOST = 500;

/** Read every document of the list: [{listed, etag, document, rules, fresh, pending}], and the failures. */
export async function loadDocuments(subject, signal) {
  const [{ rows, complete }, profiles] = await Promise.all([
    all(`${userUrl(subject)}/documents`, "documents", { signal, most: MOST }),
    loadProfiles(signal),
  ]);
  const documents = await each(rows, (listed) => readDocument(subject, listed, profiles, signal));
  return { documents: documents.filter(Boolean), profiles, complete };
}

/** The current version of a document; null if it was deleted since it was listed. */
async function readDocument(subject, listed, profiles, signal) {
  try {
    const { body, etag } = await call("GET", documentUrl(subject, listed.namespace, listed.path), {
      signal,
      exact: true,
    });
    const rules = rulesFor(profiles, listed.namespace, listed.path);
    const { content } = body.document;
    return {
      listed,
      etag,
      document: body.document,
      rules,
      fresh: freshness(content, rules, now()),
      pending: pendingIn(content, rules),
    };
  } catch (error) {
    if (error.code === "DOCUMENT_NOT_FOUND") return null;
    throw error;
  }
}

/** The display name of a document. */
export const nameOf = ({ namespace, path }) => `${namespace}/${path}`;

/** The note below a list that was cut. */
export const incomplete = (complete, rows) =>
  complete
    ? null
    : notice("warn", `Only the first ${count(rows)} are shown.`, el("span", { class: "muted" }, " The API has more."));
