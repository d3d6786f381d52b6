/** The exports for front ends: `npm install PATH/examples/frontend`, then `import … from "inkube-client"`. */
export * from "./answers.js";
export * from "./client.js";
export * from "./forms.js";
export * from "./jobs.js";
export * from "./repositories.js";
export * from "./resource.js";
export * from "./stream.js";
