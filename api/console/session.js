// The token and whose memory is looked at. In memory, and in the tab's sessionStorage if the operator says so; in no URL.

const TOKEN = "memnet.token";
const SUBJECT = "memnet.subject";
const listeners = new Set();
let held = sessionStorage.getItem(TOKEN);

export const token = () => held;

/** Take a token; `keep` has it outlive a reload of this tab. */
export function use(text, keep) {
  held = text;
  if (keep) sessionStorage.setItem(TOKEN, text);
  else sessionStorage.removeItem(TOKEN);
}

/** Drop the token and everything that was asked with it. `refusal`: why, if the API no longer takes it. */
export function forget(refusal = null) {
  held = null;
  sessionStorage.removeItem(TOKEN);
  for (const listener of listeners) listener(refusal);
}

/** Hear of a token that was dropped. */
export const onForgotten = (listener) => listeners.add(listener);

/** What the token says of itself, unchecked and for display alone: the API decides by its own reading. */
export function claims() {
  try {
    const [, payload] = held.split(".");
    const bytes = Uint8Array.from(atob(payload.replaceAll("-", "+").replaceAll("_", "/")), (char) =>
      char.charCodeAt(0),
    );
    const said = JSON.parse(new TextDecoder().decode(bytes));
    const tenants = [said.tid].flat().filter((tenant) => typeof tenant === "string");
    const roles = (Array.isArray(said.roles) ? said.roles : []).filter((role) => typeof role === "string");
    return {
      principal: String(said.oid ?? said.sub ?? "unknown"),
      roles,
      tenants,
      expires: Number(said.exp) * 1000 || null,
    };
  } catch {
    return { principal: "unknown", roles: [], tenants: [], expires: null };
  }
}

let subject = { tenant: "", user: "" };
try {
  subject = { ...subject, ...JSON.parse(sessionStorage.getItem(SUBJECT) ?? "{}") };
} catch {
  sessionStorage.removeItem(SUBJECT);
}

/** Whose memory is looked at: {tenant, user}. */
export const currentSubject = () => subject;

export function setSubject(tenant, user) {
  subject = { tenant, user };
  sessionStorage.setItem(SUBJECT, JSON.stringify(subject));
}
