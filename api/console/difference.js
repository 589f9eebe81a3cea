// The differences between two JSON values, by JSON Pointer. Pure.

import { isRaw } from "./api.js";

const MOST_ELEMENTS = 400; // longer arrays are compared place by place: what follows is quadratic
const isBranch = (value) => value !== null && typeof value === "object" && !isRaw(value);
const step = (name) => String(name).replaceAll("~", "~0").replaceAll("/", "~1");
const same = (one, other) => sorted(one) === sorted(other);

/** JSON with sorted names: equal values have equal texts. */
function sorted(value) {
  if (Array.isArray(value)) return `[${value.map(sorted).join()}]`;
  if (!isBranch(value)) return JSON.stringify(value);
  return `{${Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${sorted(value[name])}`)
    .join()}}`;
}

/**
 * The differences as [{kind: "added" | "removed" | "changed", path, before, after}]; undefined: absent.
 * Paths are JSON Pointers: of a removal into the old value, of everything else into the new one.
 */
export function difference(before, after, path = "") {
  if (before === undefined && after === undefined) return [];
  if (before === undefined) return [{ kind: "added", path, after }];
  if (after === undefined) return [{ kind: "removed", path, before }];
  if (Array.isArray(before) && Array.isArray(after)) return ofArrays(before, after, path);
  if (isBranch(before) && isBranch(after) && !Array.isArray(before) && !Array.isArray(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return names.flatMap((name) => difference(own(before, name), own(after, name), `${path}/${step(name)}`));
  }
  return same(before, after) ? [] : [{ kind: "changed", path, before, after }];
}

const own = (value, name) => (Object.hasOwn(value, name) ? value[name] : undefined);

function ofArrays(before, after, path) {
  const old = before.map(sorted);
  const young = after.map(sorted);
  if (old.length > MOST_ELEMENTS || young.length > MOST_ELEMENTS) {
    return Array.from({ length: Math.max(old.length, young.length) }, (_, index) =>
      old[index] === young[index] ? [] : difference(before[index], after[index], `${path}/${index}`),
    ).flat();
  }
  const found = [];
  let removed = [];
  let added = [];
  // Between two common elements, removals and additions are paired in order as changes.
  const settle = () => {
    for (let index = 0; index < Math.max(removed.length, added.length); index++) {
      const [gone, come] = [removed[index], added[index]];
      if (gone === undefined) found.push({ kind: "added", path: `${path}/${come}`, after: after[come] });
      else if (come === undefined) found.push({ kind: "removed", path: `${path}/${gone}`, before: before[gone] });
      else found.push(...difference(before[gone], after[come], `${path}/${come}`));
    }
    [removed, added] = [[], []];
  };
  const longest = lengths(old, young);
  let [at, to] = [0, 0];
  while (at < old.length || to < young.length) {
    if (at < old.length && to < young.length && old[at] === young[to]) {
      settle();
      at++;
      to++;
    } else if (to >= young.length || (at < old.length && longest[at + 1][to] >= longest[at][to + 1])) {
      removed.push(at++);
    } else {
      added.push(to++);
    }
  }
  settle();
  return found;
}

/** The length of the longest common subsequence of every pair of suffixes. */
function lengths(old, young) {
  const table = Array.from({ length: old.length + 1 }, () => new Uint16Array(young.length + 1));
  for (let at = old.length - 1; at >= 0; at--) {
    for (let to = young.length - 1; to >= 0; to--) {
      table[at][to] =
        old[at] === young[to] ? table[at + 1][to + 1] + 1 : Math.max(table[at + 1][to], table[at][to + 1]);
    }
  }
  return table;
}
