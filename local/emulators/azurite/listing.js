"use strict";
// Azurite lists blobs by comparing the name of every blob with a regular expression. LokiJS keeps an index of the names,
// in which the names with a prefix are one range.
const { Resultset } = require("lokijs");
const findByScan = Resultset.prototype.find;

Resultset.prototype.find = function (query, firstOnly) {
  const { $regex: pattern } = query?.name ?? {};
  if (typeof pattern !== "string" || !pattern.startsWith("^")) return findByScan.call(this, query, firstOnly);
  const prefix = pattern.slice(1).replace(/\\(.)/g, "$1"); // Azurite escapes every special character
  return findByScan.call(this, { ...query, name: { $between: [prefix, `${prefix}\uffff`] } }, firstOnly);
};
