// Copies texts to the clipboard, or downloads them as files.
import { tell } from "./notices.js";

/** Copy a text to the clipboard, and show a notice. */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    tell(`${what} is in the clipboard.`);
  } catch {
    tell("The browser does not let the page write to the clipboard.", "bad");
  }
}

/** Download a text as a file. */
export function download(text, name) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
