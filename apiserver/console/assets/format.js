// Formats times and sizes for display.
const UNITS = [
  [86400 * 365, "y"],
  [86400, "d"],
  [3600, "h"],
  [60, "m"],
  [1, "s"],
];

/** `5m`, `3h`, `12d`: the time since an RFC 3339 time. */
export function age(time, now = Date.now()) {
  const seconds = Math.max(0, Math.floor((now - Date.parse(time)) / 1000));
  if (Number.isNaN(seconds)) return "";
  const [size, unit] = UNITS.find(([each]) => seconds >= each) || [1, "s"];
  return `${Math.floor(seconds / size)}${unit}`;
}

/** `14:03:21`, in the user's time zone. */
export const clockTime = (time) =>
  new Date(time).toLocaleTimeString([], { hour12: false, timeStyle: "medium" });

/** The full date and time, for tooltips. */
export const moment = (time) => new Date(time).toLocaleString([], { hour12: false });

export const plural = (count, word) => `${count.toLocaleString()} ${word}${count === 1 ? "" : "s"}`;
