/**
 * The page of index.html: a form with live field errors, a list that follows a watch, and the detail of
 * one repository with its jobs. `?server=URL&namespace=NAME` say where the objects are.
 */
export {};
