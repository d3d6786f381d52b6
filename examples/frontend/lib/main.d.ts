/**
* The life of one form, with `inkube serve --offline`:
 *
 *   node lib/main.js http://127.0.0.1:8001
 *
* Prints what a page would show at every step.
 */
export {};
