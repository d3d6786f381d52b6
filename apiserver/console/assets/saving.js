// Texts that leave the page: into the clipboard, or as a file of the browser.
import { tell } from "./notices.js";

/** Put a text into the clipboard, and say so. */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    tell(`${what} is in the clipboard.`);
  } catch {
    tell("The browser does not let the page write to the clipboard.", "bad");
  }
}

/** Offer a text as a file. */
export function download(text, name) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
