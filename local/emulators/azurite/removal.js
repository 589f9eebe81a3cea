"use strict";
// Azurite removes a blob by account, container and name, in this order. LokiJS uses the index of the first property
// only, so it compares every blob of the account, and then sorts all indexes again. Here the property that is almost
// unique comes first, and the matches are removed one by one, which keeps the indexes in order.
const { Collection } = require("lokijs");
const removeByScan = Collection.prototype.findAndRemove;

Collection.prototype.findAndRemove = function (query) {
  const key = ["name", "blobName", "id"].find((property) => property in query); // a blob, its blocks, stored bytes
  if (key === undefined) return removeByScan.call(this, query); // all blobs of a container
  for (const found of this.find({ [key]: query[key], ...query })) this.remove(found);
};
