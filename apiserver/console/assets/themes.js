// Light, dark, or the system's theme.
const NAME = "inkube.theme";
const ORDER = ["", "light", "dark"];

/** Switch to the next theme; `theme.js` sets it before the first paint of the next visit. */
export function nextTheme() {
  const root = document.documentElement;
  const next = ORDER[(ORDER.indexOf(root.dataset.theme || "") + 1) % ORDER.length];
  if (next) {
    root.dataset.theme = next;
    localStorage.setItem(NAME, next);
  } else {
    delete root.dataset.theme;
    localStorage.removeItem(NAME);
  }
}
