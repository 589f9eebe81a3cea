"use strict";
// What Azurite does for each request with all blobs or all operations, done for those that matter. The results are the
// same. LokiJS uses the index of the first property of a query only, and no index for a regular expression.
const { Collection, Resultset } = require("lokijs");

// Removal. Azurite asks by account, container and name: LokiJS compares every blob of the account, and then sorts all
// indexes again. Here the property that is almost unique comes first, and the matches are removed one by one, which
// keeps the indexes in order.
const removeByScan = Collection.prototype.findAndRemove;
Collection.prototype.findAndRemove = function (query) {
  const key = ["name", "blobName", "id"].find((property) => property in query); // a blob, its blocks, stored bytes
  if (key === undefined) return removeByScan.call(this, query); // all blobs of a container
  for (const found of this.find({ [key]: query[key], ...query })) this.remove(found);
};

// Listing. The prefix is a regular expression; here the index of names is used first. LokiJS orders names that look
// like numbers as numbers, so the prefix has to begin with a letter.
const find = Resultset.prototype.find;
Resultset.prototype.find = function (query, firstOnly) {
  const pattern = this.filterInitialized ? undefined : query?.name?.$regex;
  if (typeof pattern === "string" && /^\^[a-z]/i.test(pattern)) {
    const prefix = pattern.slice(1).replace(/\\(.)/g, "$1");
    find.call(this, { name: { $between: [prefix, prefix + "\uffff"] } });
    this.filteredrows.sort((one, other) => one - other); // the order of a scan, which is that of snapshots
  }
  return find.call(this, query, firstOnly);
};

// Routing. Azurite parses the templates of some seventy operations for every request.
const parse = require("uri-templates");
const parsed = new Map();
require.cache[require.resolve("uri-templates")].exports = function (template) {
  if (!parsed.has(template)) parsed.set(template, parse(template));
  return parsed.get(template);
};
