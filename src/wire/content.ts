/**
 * Content between machines of one LCC, over HTTP: one request a connection, its answer with its length.
 *
 *     GET /ab/cd/00abcd12.3   a file of the store, as it is; 404: it is not there
 *     GET /                   a line, the machine id of the store
 *
 * Every answer bears the machine id, for the other side may have been set up again.
 */

/** Header of every answer. */
export const MACHINE_HEADER = 'lcc-machineid';
