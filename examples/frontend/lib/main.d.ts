/**
 * The life of one form, against `inkube serve --offline`:
 *
 *   node lib/main.js http://127.0.0.1:8001
 *
 * Prints what the page would show at every step.
 */
export {};
