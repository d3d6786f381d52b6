// Whether this tab is visible. A browser has six connections to a server for all its tabs, so a
// hidden tab ends its watches, and resumes them when it is visible again.
const PATIENCE = 5000; // milliseconds: a tab that is hidden only shortly keeps them

/** `{signal, stop}`: the signal aborts when the tab has been hidden for this time. */
export function watchHidden() {
  const control = new AbortController();
  let timer = 0;
  const look = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(end, PATIENCE);
  };
  const stop = () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", look);
  };
  const end = () => {
    stop();
    control.abort();
  };
  document.addEventListener("visibilitychange", look);
  look();
  return { signal: control.signal, stop };
}

/** Wait until the tab is visible, or `signal` aborts. */
export function whenShown(signal) {
  if (!document.hidden) return Promise.resolve();
  return new Promise((done) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      done();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look, { once: true });
  });
}
