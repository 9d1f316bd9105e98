/** What the index is made with; a program that loads it, such as a browser, needs the same. */
export const OPTIONS = {
  idField: 'id',
  fields: ['title', 'text'],
  storeFields: ['burl', 'title'],
  // Letters of all scripts, without their accents: déjà is found as deja.
  processTerm: term => term.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase(),
};
